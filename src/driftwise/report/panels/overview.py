"""All agents in all environments."""

from __future__ import annotations

import math

from driftwise.report.data import Report
from driftwise.report.elements import Cell, Section, paragraph, sortable_table, with_half_width
from driftwise.report.standings import Score, standings


def overview(report: Report) -> Section | None:
    if len(report) < 2:
        return None
    rows = [
        (
            Cell(standing.agent),
            Cell(f"{standing.average_rank:.3g}", standing.average_rank),
            *(_cell(standing.scores.get(environment)) for environment in report),
        )
        for standing in standings(report)
    ]
    note = (
        "Final cumulative regret, mean ± 95 % half-width (Student’s t); bold: the lowest mean of an "
        "environment. Average rank: by that mean within each environment, then averaged over those that an "
        "agent was run in, each counted alike whatever the size of its regret."
    )
    headings = ("agent", "average rank", *report)
    return Section("Overview", sortable_table(headings, rows, name="overview") + paragraph(note))


def _cell(score: Score | None) -> Cell:
    if score is None:
        return Cell("–", math.nan)
    return Cell(with_half_width(score.mean, score.half_width), score.mean, best=score.best)
