"""Log–log view of cumulative regret, with the exponents it grows with."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.page import MAX_POINTS, Figure, Section, axis, line, thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import bootstrap_caution, change_marks, legend
from driftwise.analysis.statistics import growth_exponent
from driftwise.analysis.statistics.wording import with_interval
from driftwise.analysis.table import Cell, Table, numbers, words


def growth(data: ReportData) -> Section | None:
    """Cumulative regret on logarithmic axes, and the exponent of every agent drawn."""
    if len(data.lengths) < 4:
        return None
    kept = thinned(len(data.lengths))
    lengths = np.diff(data.episodes[kept], prepend=0)
    places = np.unique(np.geomspace(1, len(data.lengths), MAX_POINTS).round().astype(int)) - 1
    traces, rows = [], []
    for index, label in enumerate(data.drawn):
        curves = data.results[label].cumulative_regret
        mean = curves[:, places].mean(axis=0)
        traces.append(line(index, label, np.where(mean > 0, mean, np.nan)))
        fit = growth_exponent(curves[:, kept], lengths=lengths, num_resamples=500)
        rows.append((label, Cell.of(with_interval, *map(float, fit))))
    layout = {
        "shapes": change_marks(data),
        "xaxis": axis("episode", type="log"),
        "yaxis": axis("cumulative regret", type="log"),
    }
    text = "Cumulative regret of every agent, both axes logarithmic"
    figure = Figure("growth", traces, layout, text, x=data.episodes[places])
    table = Table.of("exponents", words("agent") + numbers("exponent α [95 %]"), rows)
    note = (
        "The exponent α of R ≈ C·Kᵅ, fitted to the last half of the episodes (of at most "
        f"{MAX_POINTS} points of each curve), with an interval from 500 bootstrap resamples of the runs. It "
        "describes that stretch and proves no rate; a change that falls into it may push α above 1."
        f"{bootstrap_caution(data)}"
    )
    if len(data.drawn) < len(data.labels):
        note += f" The table has the {len(data.drawn)} agents drawn."
    return Section("How regret grows", [*legend(data), figure, table, note])
