"""Paired differences to the best agent."""

from __future__ import annotations

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.elements import (
    Cell,
    Section,
    paragraph,
    probability,
    sortable_table,
    with_interval,
)
from driftwise.analysis.report.summary import differences_to_best


def differences(data: ReportData) -> Section | None:
    if len(data.labels) < 2:
        return None
    title = "Differences to the best agent"
    if data.num_runs < 2:
        return Section(title, paragraph("One run cannot tell luck from skill: there is nothing to test."))
    best, others = data.order[0], data.order[1:]
    found, identical, p, adjusted = differences_to_best(data)
    rows = [
        (
            Cell(data.labels[index]),
            Cell(
                "identical"
                if identical[place]
                else with_interval(*(float(each[place]) for each in found[:3])),
                float(found.mean[place]),
            ),
            Cell(probability(adjusted[place]), float(adjusted[place])),
            Cell(probability(p[place]), float(p[place])),
            Cell(f"{100 * (1 - found.share_better[place]):.0f} %", float(1 - found.share_better[place])),
        )
        for place, index in enumerate(others)
    ]
    best_label = data.labels[best]
    note = (
        f"Final cumulative regret minus that of {best_label}, run by run under common random numbers; "
        "paired t-tests, adjusted by Holm for the number of tests. The best agent was chosen by the same "
        "runs, which flatters it: confirm a close call with another seed."
    )
    if identical.any():
        note += " Identical: equal in every run, but for rounding."
    headings = ("agent", "difference [95 %]", "p, adjusted", "p", "runs won by the best")
    return Section(title, sortable_table(headings, rows, name="differences") + paragraph(note))
