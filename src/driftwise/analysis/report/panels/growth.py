"""The exponents that regret grows with over time."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from driftwise.analysis.page import Figure, Section, axis, line
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import change_marks, with_strip
from driftwise.analysis.report.panels.slopes import READING, ROOM, reference_slopes
from driftwise.analysis.statistics import growth_exponent
from driftwise.analysis.statistics.wording import with_interval
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.analysis.views import MAX_POINTS, thinned

FEWEST = 8  # points of a stretch whose growth is fitted
MAX_STRETCHES = 4  # with a column each
SLOPES = (Fraction(1, 2), Fraction(3, 4), Fraction(1))  # a few, which can be told apart


def growth(data: ReportData) -> Section | None:
    """Cumulative regret on logarithmic axes, and the exponents of every agent, if regret is known."""
    if len(data.lengths) < FEWEST or "regret" not in data.measured:
        return None
    places = np.unique(np.geomspace(1, len(data.lengths), MAX_POINTS).round().astype(int)) - 1
    curves = {label: data.results[label].cumulative_regret[:, places].mean(axis=0) for label in data.styles}
    curves = {label: np.where(curve > 0, curve, np.nan) for label, curve in curves.items()}
    if all(np.isnan(curve).all() for curve in curves.values()):
        return None
    layout = {
        "shapes": change_marks(data),
        "xaxis": axis("episode", type="log"),
        "yaxis": axis("cumulative regret", type="log"),
        "margin": ROOM,
    }
    strip, layout = with_strip(data, layout)
    episodes = data.episodes[places]
    traces = [
        *(line(data.styles[label], label, curve) for label, curve in curves.items()),
        *reference_slopes(SLOPES, episodes, [*curves.values()]),
        *strip,
    ]
    text = "Cumulative regret of every agent, both axes logarithmic"
    figure = Figure("growth", traces, layout, text, x=episodes)
    return Section("How regret grows", [figure, *_exponents(data)])


def _exponents(data: ReportData) -> list[Table | str]:
    """The table of exponents in the longest stretches without a change, and how to read it."""
    kept = thinned(len(data.lengths))
    episodes = data.episodes[kept]
    borders = [*itertools.pairwise([0, *data.changes, data.num_episodes])]
    points = [np.sum((episodes > first) & (episodes <= last)) for first, last in borders]
    fitted = [number for number in np.argsort(points, kind="stable") if points[number] >= FEWEST]
    if not fitted:
        return ["The environment changes too often for an exponent to be fitted between two changes."]
    shown = sorted(fitted[-MAX_STRETCHES:])
    rows = []
    for label in data.labels:
        curves, lengths = data.results[label].cumulative_regret[:, kept], np.diff(episodes, prepend=0)
        fit = growth_exponent(curves, changes=data.changes, lengths=lengths)
        rows.append((label, *(Cell.of(with_interval, *(float(each[at]) for each in fit)) for at in shown)))
    headings = (f"α in {borders[at][0] + 1:,} to {borders[at][1]:,} [95 %]" for at in shown)
    table = Table.of("exponents", words("agent") + numbers(*headings), rows)
    note = (
        "The exponent α of R ≈ C·nᵅ, where R is the mean regret since the first of the episodes above the "
        "column and n the episodes since then; fitted to the second half of them, with a jackknife interval "
        "over the runs. 1: every episode costs as much as the one before; near 0: there is hardly any more "
        "regret; above 1: episodes cost more and more, as after a restart of the agent’s own. It describes "
        "that stretch and proves no rate."
    )
    note += f" {READING}"
    if data.changes:
        note += " No fit crosses a change of the environment."
    if len(shown) < len(borders):
        note += f" Of {len(borders)} stretches between changes the table has the longest."
    return [table, note]
