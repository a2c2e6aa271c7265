"""Regret over time, beside random actions and the drift, and the exponents with which it grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure, mean_curve
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import (
    FEWEST_RUNS,
    MAX_POINTS,
    lead_spans,
    regret_figures,
    smoothing,
    thinned,
    views,
)
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import growth_exponent
from driftwise.analysis.statistics.formatting import format_count, format_interval, format_number
from driftwise.analysis.table import Cell, Table, numbers, words

SLOPES_NOTE = "Dotted lines have the slopes that stand at their ends."
_MIN_POINTS = 8  # of a stretch whose growth is fitted
_MAX_STRETCHES = 4  # with a column each
_SLOPES = (Fraction(1, 2), Fraction(3, 4), Fraction(1))


def change_marks(data: ReportData) -> list[float]:
    """Return the places of vertical lines, one at each change."""
    return [change + 0.5 for change in data.changes]  # after as many episodes, counted from 1


def regret(data: ReportData) -> Section:
    """Return cumulative regret, and smoothed regret of an episode, of every agent."""
    first = data.results[data.labels[0]]
    figures = tuple(regret_figures(data.curves, data.styles))
    note = "Mean over runs, and its 95 % interval (Student’s t)." if data.num_runs > 1 else "One run."
    if (width := smoothing(first)) > 1:
        note += f" {data.quantity.capitalize()} of an episode is the mean over the last {width} points"
        note += ", of none before the last change." if data.changes else "."
    if data.changes:
        note += " Dotted vertical lines are changes of the environment."
    if data.drift is not None:
        note += " Strip: the distance of the environment from its first model, as a share of the largest."
    if math.isfinite(data.random_regret):
        level = format_number(data.random_regret, 3)
        note += f" Grey: random actions, {level} an episode; the axis to the right has shares of that."
    if data.grid_notes:
        note += " Faint in the colour of an agent: the other points of its grid."
    if faint := sum(number is None for number in data.styles.values()):
        note += f" Faint: {format_count(faint, 'agent')} of higher average rank."
    below = "significantly below all others, by sign-flip tests over runs at 5 % for all episodes together"
    if len(data.labels) < 2:
        lead = "One agent leads alone."
    elif data.num_runs < FEWEST_RUNS:
        lead = f"With fewer than {FEWEST_RUNS} runs no test can tell when {data.leader} is ahead."
    elif any(lead_spans(data.results, view) for view in views(first, data.changes, data.quantity)):
        lead = f"Shaded: where the curve of {data.leader} is {below}."
    else:
        lead = f"At no time is the curve of {data.leader} {below}."
    return Section(f"{data.quantity.capitalize()} over time", [figures, lead, note, *data.grid_notes])


def growth(data: ReportData) -> Section | None:
    """Return cumulative regret on logarithmic axes with the exponents of every agent, if regret is known."""
    if len(data.lengths) < _MIN_POINTS or "regret" not in data.metrics:
        return None
    places = np.unique(np.geomspace(1, len(data.lengths), MAX_POINTS).round().astype(int)) - 1
    curves = {label: data.results[label].cumulative_regret[:, places].mean(axis=0) for label in data.styles}
    curves = {label: np.where(curve > 0, curve, np.nan) for label, curve in curves.items()}
    if all(np.isnan(curve).all() for curve in curves.values()):
        return None
    episodes, thin = data.episodes[places], thinned(len(data.lengths))
    drawn = [mean_curve(label, data.styles[label], curve) for label, curve in curves.items()]
    figure = Figure(
        "growth",
        [*drawn, *reference_slopes(_SLOPES, episodes, [*curves.values()])],
        Axis("episode", log=True),
        Axis("cumulative regret", log=True),
        "Cumulative regret of every agent, both axes logarithmic",
        x=episodes,
        marks=change_marks(data),
        strip=None if data.drift is None else (data.episodes[thin], data.drift[thin]),
    )
    return Section("How regret grows", [figure, *_exponents(data)])


def reference_slopes(
    slopes: Sequence[Fraction], sizes: np.ndarray, curves: Sequence[np.ndarray]
) -> list[Curve]:
    """Return lines `C·nᵅ` from the geometric mean of the curves where these begin, each named at its end."""
    positive = [np.where(curve > 0, curve, np.nan) for curve in curves if (curve > 0).any()]
    centre = np.exp(np.mean(np.log(positive), axis=0)) if positive else np.empty(0)
    known = np.flatnonzero(np.isfinite(centre))
    if len(known) < 2:
        return []
    x = sizes[known[[0, -1]]].astype(float)
    heights = {slope: centre[known[0]] * (x / x[0]) ** float(slope) for slope in slopes}
    return [Curve(f"slope {slope}", y, x=x, kind="reference", end=str(slope)) for slope, y in heights.items()]


def _exponents(data: ReportData) -> list[Table | str]:
    """The table of exponents in the longest stretches without a change, and its explanation."""
    kept = thinned(len(data.lengths))
    episodes = data.episodes[kept]
    borders = [*itertools.pairwise([0, *data.changes, data.num_episodes])]
    points = [np.sum((episodes > first) & (episodes <= last)) for first, last in borders]
    fitted = [number for number in np.argsort(points, kind="stable") if points[number] >= _MIN_POINTS]
    if not fitted:
        return ["The environment changes too often for an exponent to be fitted between two changes."]
    longest = sorted(fitted[-_MAX_STRETCHES:])
    rows = []
    for label in data.labels:
        curves, lengths = data.results[label].cumulative_regret[:, kept], np.diff(episodes, prepend=0)
        fit = np.transpose(growth_exponent(curves, changes=data.changes, lengths=lengths))  # [stretches, 3]
        rows.append((label, *(Cell.of(format_interval, *fit[stretch].tolist()) for stretch in longest)))
    headings = (f"α in {borders[at][0] + 1:,} to {borders[at][1]:,} [95 %]" for at in longest)
    table = Table.of("exponents", words("agent") + numbers(*headings), rows)
    note = (
        "The exponent α of R ≈ C·nᵅ, where R is the mean regret since the first of the episodes above the "
        "column and n the episodes since then; fitted to the second half of them, with a jackknife interval "
        "over the runs. 1: every episode costs as much as the one before; near 0: there is hardly any more "
        "regret; above 1: episodes cost more and more, as after a restart by the agent itself. It describes "
        f"that stretch and proves no rate. {SLOPES_NOTE}"
    )
    if data.changes:
        note += " No fit crosses a change of the environment."
    if len(longest) < len(borders):
        note += f" Of {len(borders)} stretches between changes the table has the longest."
    return [table, note]
