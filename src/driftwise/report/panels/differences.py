"""Paired differences to the best agent."""

from __future__ import annotations

from driftwise.report.data import ReportData
from driftwise.report.elements import Cell, Section, paragraph, sortable_table, with_interval
from driftwise.report.summary import differences_to_best


def differences(data: ReportData) -> Section | None:
    if len(data.labels) < 2:
        return None
    title = "Differences to the best agent"
    if data.num_runs < 2:
        return Section(title, paragraph("One run cannot tell luck from skill: there is nothing to test."))
    best, others = data.order[0], data.order[1:]
    found, adjusted = differences_to_best(data)
    rows = [
        (
            Cell(data.labels[index]),
            Cell(with_interval(*(float(each[place]) for each in found[:3])), float(found.mean[place])),
            Cell(_probability(adjusted[place]), float(adjusted[place])),
            Cell(_probability(found.p_t[place]), float(found.p_t[place])),
            Cell(f"{100 * (1 - found.share_better[place]):.0f} %", float(1 - found.share_better[place])),
        )
        for place, index in enumerate(others)
    ]
    best_label = data.labels[best]
    note = (
        f"Final cumulative regret minus that of {best_label}, run by run under common random numbers; "
        "paired t-tests, adjusted by Holm for the number of agents. The best agent was chosen by the same "
        "runs, which flatters it: confirm a close call with another seed."
    )
    headings = ("agent", "difference [95 %]", "p, adjusted", "p", "runs won by the best")
    return Section(title, sortable_table(headings, rows, name="differences") + paragraph(note))


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
