"""What every agent came to in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.elements import (
    Cell,
    Section,
    bootstrap_caution,
    paragraph,
    shown,
    sortable_table,
    with_half_width,
    with_interval,
)
from driftwise.analysis.report.summary import Row, recovery_threshold, smoothing, summary

MAX_CHANGES = 4  # with a column each; of more, the table shows the mean


def final_table(data: ReportData) -> Section:
    changes = data.changes if len(data.changes) <= MAX_CHANGES else ()
    headings = ["rank", "agent", "final regret", "IQM [95 %]", "area"]
    headings += [f"recovery after {change:,}" for change in changes]
    headings += ["mean recovery"] if len(data.changes) > MAX_CHANGES else []
    headings += [f"{name} in a run" for name in data.events]
    notes = [
        "Final regret: cumulative regret after the last episode, mean ± 95 % half-width (Student’s t). "
        f"IQM: mean of the middle half of the runs, with a bootstrap interval.{bootstrap_caution(data)} "
        "Area: under the curve of cumulative regret, divided by K²/2, so that a constant regret of r in each "
        "episode gives r."
    ]
    if data.changes:
        notes.append(_recovery_note(data))
    rows = [_cells(row, len(changes), data.events) for row in summary(data)]
    table = sortable_table([*headings, "seconds"], rows, name="final")
    return Section("Final table", table + "".join(paragraph(note) for note in notes))


def _recovery_note(data: ReportData) -> str:
    threshold, width = recovery_threshold(data), smoothing(data)
    if math.isnan(threshold):
        return "Recovery is not known: its threshold is a property of the environment, which cannot be made."
    averaged = f", averaged over {width} points," if width > 1 else ""
    held = " and stays there as long" if width > 1 else ""
    return (
        f"Recovery: median episodes from a change until the regret of an episode{averaged} is down to "
        f"{shown(threshold, 3)}{held}. That is a quarter of the mean regret of random actions: the same "
        "for all agents, and in every report on this environment with as many episodes, recorded as often. "
        "0: the agent never rose above it. ∞: half of the runs or more do not recover until the next change "
        "or the end. –: too little was recorded after the change to judge."
    )


def _cells(row: Row, columns: int, events: Sequence[str]) -> list[Cell]:
    counts = [row.counts.get(name, math.nan) for name in events]
    recovery = row.recovery if columns else (row.mean_recovery,) if row.recovery else ()
    return [
        Cell(f"{row.rank:g}", row.rank),
        Cell(row.agent),
        Cell(with_half_width(row.mean, row.half_width), row.mean),
        Cell(with_interval(row.iqm, row.iqm_low, row.iqm_high), row.iqm),
        Cell(shown(row.area, 3), row.area),
        *(Cell(shown(each, 3), each) for each in (*recovery, *counts)),
        Cell(shown(row.seconds, 3), row.seconds),
    ]
