"""Reports as files: a format is a function from the data to bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from driftwise.analysis import figures, latex
from driftwise.analysis.numbers import numbers_text
from driftwise.analysis.report.data import Report, load_report_data, longest, warn_of_lost_drift
from driftwise.analysis.report.page import html_page
from driftwise.analysis.report.panels.final_table import IN_CSV, IN_LATEX, MARKED, final_table
from driftwise.analysis.statistics.wording import counted
from driftwise.analysis.table import csv_text, latex_text
from driftwise.base.files import replace_file
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.experiments.selection import MARK

PRINTED: dict[str, dict[str, Any]] = {  # formats of figures; the same results give the same bytes
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
    "png": {"dpi": 300},
}


def write_report(folder: Path, *, format: str = "html", out: Path | None = None, **look: Any) -> Path:
    """Write a report on a results folder, next to the results unless `out` is given, and return its path.

    `folder` may be a file of curves, as of `driftwise.load_curves`: that on `mine.csv` is `mine-report.html`.
    What `out` names, links followed, is a file or new; anything else is an `OSError`. Figures (svg, pdf, png)
    take the look of `report_figure`.
    """
    require_choice("format", format, list(FORMATS))
    given = {name: value for name, value in look.items() if value is not None}
    if given and format not in PRINTED:
        name, value = next(iter(given.items()))
        raise ArgumentError(name, f"be left out for {format}: it is for {', '.join(PRINTED)}", value)
    suffix, make = FORMATS[format]
    path = out or (
        folder / f"report.{suffix}" if folder.is_dir() else folder.with_name(f"{folder.stem}-report.{suffix}")
    )
    report = load_report_data(folder)
    warn_of_lost_drift(report)
    return write_content(path, make(report, **given))


def write_content(path: Path, content: bytes) -> Path:
    """Write a report to a file in a folder that is there."""
    if not path.parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.parent}")
    replace_file(path, content)
    return path


def report_figure(report: Report, *, title: str | None = None, **look: Any) -> Figure:
    """Regret of every agent over time, a row for each environment.

    `look` is that of `figures.regret_figure`: `width` in inches, `font`, `font_size`. The `title` is the
    experiment's words unless given; without one, `""`, there is no note either.
    """
    data = longest(report)
    runs = f"{data.num_runs} runs, mean and 95 % interval (Student's t)" if data.num_runs > 1 else "one run"
    title = data.words if title is None else title
    chosen = f" · {MARK}: the best point of a grid, chosen by other runs" if data.grid_notes else ""
    note = f"{data.manifest.get('experiment', '')} · {runs}{chosen}" if title else ""
    rows = [
        figures.curves_of(
            label, each.selection, None if isinstance(each.environment, str) else each.environment
        )
        for label, each in report.items()
    ]
    rows = [row._replace(quantity=data.quantity) for row in rows]
    return figures.regret_figure(rows, title=title, note=note, **look)


def _printed(format: str, report: Report, **look: Any) -> bytes:
    return figures.figure_bytes(report_figure(report, **look), format=format, **PRINTED[format])


def _comments(report: Report) -> Iterator[str]:
    """Sizes of the runs, characters that not every LaTeX engine prints, and the numbers of the agents."""
    data = longest(report)
    sizes = f"{counted(data.num_episodes, 'episode')}, {counted(data.num_runs, 'run')}"
    interval = "mean and 95 % interval" if data.num_runs > 1 else "no intervals"
    yield f"{data.manifest.get('experiment', '')}: {sizes}; {interval}, the lowest {data.quantity} first"
    if data.num_runs > 1:
        yield MARKED
    if characters := latex.unknown("".join([*report, *data.labels])):
        yield f"XeLaTeX or LuaLaTeX is needed, and a font that has: {' '.join(characters)}"
    yield from (note for each in report.values() for note in each.grid_notes)
    for label, each in report.items():
        for agent, numbers in zip(each.labels, each.numbers, strict=True):
            if text := numbers_text(numbers):
                yield f"{label}: {agent}: {text}"


# format -> (suffix of the file, function that makes its content)
FORMATS: dict[str, tuple[str, Callable[..., bytes]]] = {
    "html": ("html", lambda report: html_page(report).encode()),
    **{format: (format, partial(_printed, format)) for format in PRINTED},
    "csv": ("csv", lambda report: csv_text(final_table(report, IN_CSV)).encode()),
    "latex": ("tex", lambda report: latex_text(final_table(report, IN_LATEX), _comments(report)).encode()),
}
