"""The final table for spreadsheets and for papers."""

from __future__ import annotations

import csv
import io
import math

from driftwise.report.data import Report
from driftwise.report.summary import Row, summary

LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "ε": r"$\varepsilon$",
    "γ": r"$\gamma$",
    "β": r"$\beta$",
    "λ": r"$\lambda$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def csv_table(report: Report) -> str:
    """All numbers in full; an empty field is not known, `inf` says that most runs did not recover."""
    changes = sorted({change for data in report.values() for change in data.changes})
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
    writer.writerow([*names.values(), *(f"recovery_after_{change}" for change in changes), "seconds"])
    for data in report.values():
        for row in summary(data):
            recovery = dict(zip(data.changes, row.recovery, strict=True))
            values = [getattr(row, name) for name in names]
            values += [*(recovery.get(change, math.nan) for change in changes), row.seconds]
            unknown = (isinstance(value, float) and math.isnan(value) for value in values)
            writer.writerow("" if each else value for each, value in zip(unknown, values, strict=True))
    return file.getvalue()


def latex_table(report: Report) -> str:
    """A booktabs table, the environments one below the other: `\\usepackage{booktabs}` is all it needs."""
    recovery = any(data.changes for data in report.values())
    headings = ["Environment", "Agent", "Final regret", r"IQM [95\,\%]", "Area"]
    headings += ["Recovery"] if recovery else []
    lines = [
        f"% {_comment(report)}",
        rf"\begin{{tabular}}{{ll{'r' * (len(headings) - 2)}}}",
        r"\toprule",
        rf"{' & '.join(headings)} \\",
    ]
    for label, data in report.items():
        lines.append(r"\midrule")
        names = [latex_escaped(label), *[""] * (len(data.labels) - 1)]  # once for all its rows
        rows = zip(names, summary(data), strict=True)
        lines += [rf"{' & '.join([name, *_latex_cells(row, recovery)])} \\" for name, row in rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def latex_escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(LATEX.get(character, character) for character in text)


def _latex_cells(row: Row, recovery: bool) -> list[str]:
    mean, iqm = f"${row.mean:.1f}$", f"${row.iqm:.1f}$"
    if not math.isnan(row.half_width):
        mean = rf"${row.mean:.1f} \pm {row.half_width:.1f}$"
    if not math.isnan(row.iqm_low):
        iqm = rf"${row.iqm:.1f}$ $[{row.iqm_low:.1f}, {row.iqm_high:.1f}]$"
    cells = [
        latex_escaped(row.agent),
        mean,
        iqm,
        f"${row.area:.3g}$" if row.area < 1e4 else f"${row.area:.0f}$",
    ]
    if recovery:
        time = row.mean_recovery
        cells.append("--" if math.isnan(time) else r"$\infty$" if math.isinf(time) else f"${time:g}$")
    return cells


def _comment(report: Report) -> str:
    """What the table is of; a line break would end the comment."""
    data = next(iter(report.values()))
    facts = f"{data.manifest.get('experiment', '')}: {data.num_episodes} episodes, {data.num_runs} runs"
    return " ".join(f"{facts}; mean and 95 % interval, the lowest regret first".split())
