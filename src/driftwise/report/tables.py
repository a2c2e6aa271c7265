"""The final table for spreadsheets and for papers."""

from __future__ import annotations

import csv
import io
import math

from driftwise.report.data import ReportData
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


def csv_table(data: ReportData) -> str:
    """All numbers in full; an empty field is not known, `inf` says that most runs did not recover."""
    fixed = ("rank", "agent", "mean", "half_width", "iqm", "iqm_low", "iqm_high", "area")
    names = [
        *("rank", "agent", "final_cumulative_regret", "half_width_95"),
        *("iqm", "iqm_low_95", "iqm_high_95", "normalised_area"),
        *(f"recovery_after_{change}" for change in data.changes),
        "seconds",
    ]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for row in summary(data):
        values = [*(getattr(row, name) for name in fixed), *row.recovery, row.seconds]
        writer.writerow("" if isinstance(value, float) and math.isnan(value) else value for value in values)
    return file.getvalue()


def latex_table(data: ReportData) -> str:
    """A booktabs table: `\\usepackage{booktabs}` is all it needs."""
    recovery = len(data.changes) == 1
    headings = ["Agent", "Final regret", "IQM [95\\,\\%]", "Area", *(["Recovery"] if recovery else [])]
    lines = [
        f"% {_comment(data)}",
        rf"\begin{{tabular}}{{l{'r' * (len(headings) - 1)}}}",
        r"\toprule",
        rf"{' & '.join(headings)} \\",
        r"\midrule",
        *(rf"{' & '.join(_latex_cells(row, recovery))} \\" for row in summary(data)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


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
        (time,) = row.recovery
        cells.append("--" if math.isnan(time) else r"$\infty$" if math.isinf(time) else f"${time:g}$")
    return cells


def _comment(data: ReportData) -> str:
    """What the table is of; a line break would end the comment."""
    facts = f"{data.manifest.get('experiment', '')}: {data.num_episodes} episodes, {data.num_runs} runs"
    return " ".join(f"{facts}; mean and 95 % interval, the lowest regret first".split())
