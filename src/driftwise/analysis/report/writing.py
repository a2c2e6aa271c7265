"""Reports as files: the page, the figure and the tables, each a function from the data to bytes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from driftwise.analysis.agent_numbers import format_agent_numbers
from driftwise.analysis.formatting import format_count
from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.regret_curves import rank_agents
from driftwise.analysis.report.data import Report, load_report_data, longest, manifest_text, report_figure
from driftwise.analysis.report.final_table import IN_CSV, IN_LATEX, MARKS_NOTE, final, final_table, grids
from driftwise.analysis.report.latex import latex_needs, latex_text
from driftwise.analysis.report.meta_algorithms import meta_algorithms
from driftwise.analysis.report.origin import audit, manifest_section, reproduce, source
from driftwise.analysis.report.rates import rates
from driftwise.analysis.report.regret import drift, growth, regret
from driftwise.analysis.report.standings import details, differences, finding, headline, overview
from driftwise.analysis.table import csv_text
from driftwise.base.files import replace_file
from driftwise.base.validation import ArgumentError, require_choice

# Panels in the order of the page, each a function that returns None where it has nothing to show: of a
# `Report` at both ends, of each `ReportData` between. Names of figures and tables differ within the latter.
Panels = tuple[Callable[[Any], Section | None], ...]
OPENING: Panels = (source, overview, rates)
PANELS: Panels = (regret, final, differences, growth, grids, meta_algorithms, drift)
CLOSING: Panels = (audit, manifest_section, reproduce)
_MAX_COLOURED = 28  # agents in colour: as many as colours and dashes tell apart
_FEW_COLOURED = 12  # where there are more agents than that; the others are faint
_FIGURE_OPTIONS: dict[str, dict[str, Any]] = {  # the same results give the same bytes
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
    "png": {"dpi": 300},
}


def write_report(folder: Path, *, format: str = "html", out: Path | None = None, **look: Any) -> Path:
    """Write a report on a results folder, next to the results unless `out` is given, and return its path.

    `folder` may be a file of curves, as of `driftwise.load_curves`: that on `mine.csv` is `mine-report.html`.
    `out`, links followed, is a file or new; anything else is an `OSError`. Figures (svg, pdf, png) take the
    look of `report_figure`.
    """
    require_choice("format", format, list(FORMATS))
    look = {name: value for name, value in look.items() if value is not None}
    if look and format not in _FIGURE_OPTIONS:
        name, value = next(iter(look.items()))
        raise ArgumentError(name, f"be left out for {format}: it is for {', '.join(_FIGURE_OPTIONS)}", value)
    suffix, make = FORMATS[format]
    path = out or (
        folder / f"report.{suffix}" if folder.is_dir() else folder.with_name(f"{folder.stem}-report.{suffix}")
    )
    report = load_report_data(folder)
    warn_of_lost_drift(report)
    return write_content(path, make(report, **look))


def warn_of_lost_drift(report: Report) -> None:
    """Warn of every environment that cannot be rebuilt: only its curves can be shown."""
    for label, data in report.items():
        if isinstance(data.environment, str) and not data.is_external:
            lost = f"{label} cannot be rebuilt, so that its drift and recovery from it are not shown"
            warnings.warn(f"{lost} ({data.environment})", stacklevel=3)


def write_content(path: Path, content: bytes) -> Path:
    """Write a report to a file in an existing folder."""
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    replace_file(path, content)
    return path


def report_html(report: Report) -> str:
    """Return the page of a report: the finding in words, then one panel after the other."""
    best = rank_agents([data.results for data in report.values()])
    if len(best) > _MAX_COLOURED:  # colours for those of lowest rank and the leaders
        coloured = {*best[:_FEW_COLOURED], *(data.leader for data in report.values())}
        report = {label: data.with_colours(coloured) for label, data in report.items()}
    data = longest(report)
    experiment = str(data.manifest.get("experiment", "experiment"))
    environments = data.environment_label if len(report) == 1 else format_count(len(report), "environment")
    sizes = format_count(data.num_episodes, "episode"), format_count(data.total_runs, "run")
    heading, lead = headline(report)
    about = f" The experiment: {data.description}." if data.description != experiment else ""
    parts: list[Section | Article] = []
    for number, (label, entry) in enumerate(report.items(), 1):
        sections = [*filter(None, (panel(entry) for panel in PANELS))]
        if len(report) > 1:
            name = str(entry.environment_config.get("name", ""))
            kicker, text = "" if name == label else name, f"{finding(entry)}. {details(entry)}"
            sections = [Article(label, sections, kicker, text, f"environment-{number}")]
        parts += sections
    kicker = " · ".join((experiment, environments, *sizes))
    opening = filter(None, (panel(report) for panel in OPENING))
    closing = filter(None, (panel(report) for panel in CLOSING))
    version = manifest_text((data.manifest.get("versions") or {}).get("driftwise", ""))
    text = kicker, f"{heading}.", f"{lead}{about}"
    return write_html(Page(experiment, *text, [*opening, *parts, *closing], data.styles, version))


def _figure_bytes(format: str, report: Report, **look: Any) -> bytes:
    from driftwise.analysis.matplotlib_figures import figure_bytes

    return figure_bytes(report_figure(report, **look), format=format, **_FIGURE_OPTIONS[format])


def _comments(report: Report) -> Iterator[str]:
    """Sizes of the runs, characters that not every LaTeX engine prints, and the numbers of the agents."""
    data = longest(report)
    sizes = f"{format_count(data.num_episodes, 'episode')}, {format_count(data.num_runs, 'run')}"
    interval = "mean and 95 % interval" if data.num_runs > 1 else "no intervals"
    yield f"{data.manifest.get('experiment', '')}: {sizes}; {interval}, the lowest {data.quantity} first"
    if data.num_runs > 1:
        yield MARKS_NOTE
    if characters := latex_needs("".join([*report, *data.labels])):
        yield f"XeLaTeX or LuaLaTeX is needed, and a font that has: {' '.join(characters)}"
    yield from (note for entry in report.values() for note in entry.grid_notes)
    for label, entry in report.items():
        for agent, numbers in zip(entry.labels, entry.numbers, strict=True):
            if text := format_agent_numbers(numbers):
                yield f"{label}: {agent}: {text}"


# format -> (suffix of the file, function that makes its content)
FORMATS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "html": ("html", lambda report: report_html(report).encode()),
    **{format: (format, partial(_figure_bytes, format)) for format in _FIGURE_OPTIONS},
    "csv": ("csv", lambda report: csv_text(final_table(report, IN_CSV)).encode()),
    "latex": ("tex", lambda report: latex_text(final_table(report, IN_LATEX), _comments(report)).encode()),
}
