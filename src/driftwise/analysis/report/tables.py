"""The final table for spreadsheets and for papers."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence

from driftwise.analysis.report import latex
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.summary import Row, summary
from driftwise.analysis.statistics.wording import counted, shown, with_half_width, with_interval
from driftwise.simulation.results import EVENTS


def csv_table(report: Report) -> str:
    """All numbers in full; an empty field is not known, `inf` says that most runs did not recover."""
    changes = sorted({change for data in report.values() for change in data.changes})
    events = _events(report)
    names = {
        "environment": "environment",
        "rank": "rank",
        "agent": "agent",
        "mean": "final_cumulative_regret",
        "half_width": "half_width_95",
        "iqm": "iqm",
        "iqm_low": "iqm_low_95",
        "iqm_high": "iqm_high_95",
        "area": "normalised_area",
    }
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    recoveries = (f"recovery_after_{change}" for change in changes)
    writer.writerow([*names.values(), *recoveries, *(f"{name}_in_a_run" for name in events), "seconds"])
    for data in report.values():
        for row in summary(data):
            recovery = dict(zip(data.changes, row.recovery, strict=True))
            values = [getattr(row, name) for name in names]
            values += [recovery.get(change, math.nan) for change in changes]
            values += [*(row.counts.get(name, math.nan) for name in events), row.seconds]
            unknown = (isinstance(value, float) and math.isnan(value) for value in values)
            writer.writerow("" if each else value for each, value in zip(unknown, values, strict=True))
    return file.getvalue()


def latex_table(report: Report) -> str:
    """A booktabs table, the environments one below the other: `\\usepackage{booktabs}` is all it needs."""
    recovery, events = any(data.changes for data in report.values()), _events(report)
    headings = ["Environment", "Agent", "Final regret", r"IQM [95\,\%]", "Area"]
    headings += ["Recovery"] if recovery else []
    headings += [name.capitalize() for name in events]
    lines = [
        *(f"% {comment}" for comment in _comments(report)),
        rf"\begin{{tabular}}{{ll{'r' * (len(headings) - 2)}}}",
        r"\toprule",
        rf"{' & '.join(headings)} \\",
    ]
    for label, data in report.items():
        lines.append(r"\midrule")
        names = [latex.escaped(label), *[""] * (len(data.labels) - 1)]  # once for all its rows
        rows = zip(names, summary(data), strict=True)
        lines += [rf"{' & '.join([name, *_latex_cells(row, recovery, events)])} \\" for name, row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _events(report: Report) -> tuple[str, ...]:
    """What some agent in some environment tells of."""
    return tuple(name for name in EVENTS if any(name in data.events for data in report.values()))


def _latex_cells(row: Row, recovery: bool, events: Sequence[str]) -> list[str]:
    numbers = [
        with_half_width(row.mean, row.half_width),
        with_interval(row.iqm, row.iqm_low, row.iqm_high),
        shown(row.area, 3),
        *([shown(row.mean_recovery, 3)] if recovery else []),
        *(shown(row.counts.get(name, math.nan), 3) for name in events),
    ]
    return [latex.escaped(row.agent), *map(latex.number, numbers)]


def _comments(report: Report) -> Iterator[str]:
    """What the table is of, and what it takes to print it; a line break would end a comment."""
    data = longest(report)
    sizes = f"{counted(data.num_episodes, 'episode')}, {counted(data.num_runs, 'run')}"
    interval = "mean and 95 % interval" if data.num_runs > 1 else "no intervals"
    yield " ".join(
        f"{data.manifest.get('experiment', '')}: {sizes}; {interval}, the lowest regret first".split()
    )
    if characters := latex.unknown("".join([*report, *data.labels])):
        yield f"XeLaTeX or LuaLaTeX is needed, and a font that has: {' '.join(characters)}"
