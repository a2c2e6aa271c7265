"""The page of a report: the finding in words, then one panel after the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from driftwise.analysis.leaders import ranked
from driftwise.analysis.page import Article, Legend, Page, Section, write_html
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.finding import details, details_over_all, finding, opening
from driftwise.analysis.report.panels import CLOSING, OPENING, PANELS
from driftwise.analysis.report.panels.common import manifest_text
from driftwise.analysis.statistics.wording import counted

MAX_COLOURED = 28  # agents in colour: as many as colours and dashes tell apart
FEW_COLOURED = 12  # where there are more agents than that; the others are faint


def html_page(report: Report) -> str:
    """The report as HTML."""
    report = _coloured(report)
    data = longest(report)
    experiment = str(data.manifest.get("experiment", "experiment"))
    environments = data.environment_label if len(report) == 1 else counted(len(report), "environment")
    sizes = counted(data.num_episodes, "episode"), counted(data.num_played, "run")
    lead = details(data) if len(report) == 1 else details_over_all(report)
    about = f" The experiment: {data.words}." if data.words != experiment else ""
    return write_html(
        Page(
            title=experiment,
            kicker=" · ".join((experiment, environments, *sizes)),
            heading=f"{opening(report)}.",
            lead=f"{lead}{about}",
            parts=_parts(report),
            legend=Legend(data.styles),
            version=manifest_text((data.manifest.get("versions") or {}).get("driftwise", "")),
        )
    )


def _parts(report: Report) -> list[Section | Article]:
    opening, closing = (_there(panel(report) for panel in panels) for panels in (OPENING, CLOSING))
    parts = []
    for number, (label, data) in enumerate(report.items(), 1):
        sections = _there(panel(data) for panel in PANELS)
        name = str(data.environment_config.get("name", ""))
        look = dict(kicker="" if name == label else name, place=f"environment-{number}")
        lead = f"{finding(data)}. {details(data)}"
        parts += sections if len(report) == 1 else [Article(label, sections, lead=lead, **look)]
    return [*opening, *parts, *closing]


def _there(sections: Iterable[Section | None]) -> list[Section]:
    return [section for section in sections if section is not None]


def _coloured(report: Report) -> Report:
    """The same report; of many agents those of lowest average rank, and the leaders, have colours."""
    environments = [data.results for data in report.values()]
    best = ranked(environments)
    if len(best) <= MAX_COLOURED:
        return report
    leaders = {*best[:FEW_COLOURED], *(data.leader for data in report.values())}
    return {label: replace(data, leaders=leaders) for label, data in report.items()}
