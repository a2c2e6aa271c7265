"""What every agent came to in the end."""

from __future__ import annotations

import math

from driftwise.report.data import ReportData
from driftwise.report.elements import (
    Cell,
    Section,
    paragraph,
    shown,
    sortable_table,
    with_half_width,
    with_interval,
)
from driftwise.report.summary import Row, recovery_threshold, smoothing, summary

MAX_CHANGES = 4  # with a column each; of more, the table shows the mean


def final_table(data: ReportData) -> Section:
    changes = data.changes if len(data.changes) <= MAX_CHANGES else ()
    headings = ["rank", "agent", "final regret", "IQM [95 %]", "area"]
    headings += [f"recovery after {change:,}" for change in changes]
    headings += ["mean recovery"] if len(data.changes) > MAX_CHANGES else []
    notes = [
        "Final regret: cumulative regret after the last episode, mean ± 95 % half-width (Student’s t). "
        "IQM: mean of the middle half of the runs, with a bootstrap interval. Area: under the curve of "
        "cumulative regret, divided by K²/2, so that a constant regret of r in each episode gives r."
    ]
    if data.changes:
        notes.append(
            f"Recovery: median episodes until the regret of an episode, averaged over {smoothing(data)} "
            f"points, is down to {shown(recovery_threshold(data), 3)} and stays there as long; that is a "
            "quarter of the worst mean regret of any agent. ∞: half of the runs or more do not recover until "
            "the next change or the end."
        )
    rows = [_cells(row, len(changes)) for row in summary(data)]
    table = sortable_table([*headings, "seconds"], rows, name="final")
    return Section("Final table", table + "".join(paragraph(note) for note in notes))


def _cells(row: Row, columns: int) -> list[Cell]:
    recovery = row.recovery
    if recovery and not columns:
        recovery = (sum(recovery) / len(recovery),)
    return [
        Cell(f"{row.rank:g}", row.rank),
        Cell(row.agent, row.agent),
        Cell(with_half_width(row.mean, row.half_width), row.mean),
        Cell(with_interval(row.iqm, row.iqm_low, row.iqm_high), row.iqm),
        Cell(shown(row.area, 3), row.area),
        *(Cell(f"{time:g}" if math.isfinite(time) else shown(time), time) for time in recovery),
        Cell(f"{row.seconds:.1f}" if math.isfinite(row.seconds) else "–", row.seconds),
    ]
