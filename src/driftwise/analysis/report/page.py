"""The page of a report: a finding in words, then one panel after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.report.data import Report, ReportData, longest
from driftwise.analysis.report.panels import CLOSING, OPENING, PANELS
from driftwise.analysis.report.panels.common import manifest_text
from driftwise.analysis.report.panels.comparisons import differences_to_best, ranking
from driftwise.analysis.statistics import difference, lowest, mean_interval
from driftwise.analysis.statistics.wording import counted, rounded, with_half_width, with_interval

MAX_NAMED = 4  # agents that share the lead, by name


def html_page(report: Report) -> str:
    """The report as HTML."""
    data = longest(report)
    experiment = str(data.manifest.get("experiment", "experiment"))
    environments = data.environment_label if len(report) == 1 else counted(len(report), "environment")
    sizes = counted(data.num_episodes, "episode"), counted(data.num_played, "run")
    return write_html(
        Page(
            title=experiment,
            kicker=" · ".join((experiment, environments, *sizes)),
            heading=_heading(data, experiment),
            lead=_finding(data) if len(report) == 1 else _finding_over_all(report),
            parts=_parts(report),
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
        parts += sections if len(report) == 1 else [Article(label, sections, lead=_finding(data), **look)]
    return [*opening, *parts, *closing]


def _there(sections: Iterable[Section | None]) -> list[Section]:
    return [section for section in sections if section is not None]


def _heading(data: ReportData, experiment: str) -> str:
    """The experiment's own finding, which holds at its own sizes only; else what it is about."""
    config = data.config
    full = data.num_episodes >= config.get("episodes", 0) and data.num_played >= config.get("runs", 0)
    return str((full and config.get("finding")) or config.get("summary") or experiment)


def _finding(data: ReportData) -> str:
    """The agents of lowest regret, the next one, and how sure that is."""
    means, half_widths = mean_interval(data.scores)
    leaders, others = np.split(data.order, [lowest(means).sum()])
    best = leaders[0]
    names = _listed([data.labels[index] for index in leaders])
    text = (
        f"{names} {'ends with' if len(leaders) == 1 else 'share'} "
        f"the lowest cumulative regret, {with_half_width(float(means[best]), float(half_widths[best]))}"
    )
    if len(leaders) > 1 and not difference(data.scores[:, leaders], data.scores[:, [best]]).any():
        text += ", and are identical in every run"
    if len(others) == 0 or data.num_runs < 2:
        return f"{text}."
    found, _, _, adjusted = differences_to_best(data)
    place = len(leaders) - 1  # of the next one among those that are not the best
    more = with_interval(*(float(each[place]) for each in found[:3]))
    clear = adjusted[place] <= 0.05
    doubt = "" if clear else " – not enough to tell them apart with this many runs and agents"
    return f"{text}. Next is {data.labels[others[0]]}, {more} more, paired by run{doubt}."


def _finding_over_all(report: Report) -> str:
    """The agents of lowest rank over the environments, and in how many of them one has the lowest regret."""
    found = ranking(report)
    leaders = [agent for agent, leads in zip(found.agents, found.leads, strict=True) if leads]
    average = rounded(float(found.ranks.estimate[0]), 3)
    rank = f"the lowest average rank over {len(report)} environments, {average}"
    if len(leaders) > 1:
        return f"{_listed(leaders)} share {rank}."
    wins = int(found.best[0].sum()) or "none"
    return f"{leaders[0]} has {rank}, and the lowest final regret in {wins} of them."


def _listed(names: Sequence[str]) -> str:
    """The names in a sentence, the first few of many."""
    few = list(names) if len(names) <= MAX_NAMED else [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED:,} more"]
    return " and ".join([", ".join(few[:-1]), few[-1]] if len(few) > 1 else few)
