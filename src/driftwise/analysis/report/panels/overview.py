"""All agents in all environments."""

from __future__ import annotations

from driftwise.analysis.report.data import Report
from driftwise.analysis.report.elements import (
    Cell,
    Section,
    bootstrap_caution,
    paragraph,
    sortable_table,
    with_half_width,
    with_interval,
)
from driftwise.analysis.report.standings import standings


def overview(report: Report) -> Section | None:
    if len(report) < 2:
        return None
    rows = [
        (
            Cell(standing.agent),
            Cell(with_interval(standing.rank, standing.low, standing.high), standing.rank),
            *(
                Cell(with_half_width(score.mean, score.half_width), score.mean, best=score.best)
                for score in standing.scores.values()
            ),
        )
        for standing in standings(report)
    ]
    note = (
        "Final cumulative regret, mean ± 95 % half-width (Student’s t); bold: the lowest mean of an "
        "environment. Average rank: by final regret within each run of each environment, averaged over all, "
        "so that environments count alike whatever the size of their regret; the interval is a bootstrap "
        f"over runs.{bootstrap_caution(next(iter(report.values())))}"
    )
    headings = ("agent", "average rank [95 %]", *report)
    return Section("Overview", sortable_table(headings, rows, name="overview") + paragraph(note))
