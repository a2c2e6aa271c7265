"""Regret over time, the exponents with which it grows, and how the environment drifts."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure, mean_curve
from driftwise.analysis.formatting import format_count, format_interval, format_number
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import (
    FEWEST_RUNS,
    MAX_POINTS,
    model_paths,
    regret_figures,
    smoothing,
    thinned,
)
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import growth_exponent
from driftwise.analysis.table import Cell, Table, numbers, words

SLOPES_NOTE = "Dotted lines have the slopes that stand at their ends."
_MIN_POINTS = 8  # of a stretch whose growth is fitted
_MAX_STRETCHES = 4  # with a column each
_MAX_PLACES = 1000  # episodes of a path that are drawn
_SLOPES = (Fraction(1, 2), Fraction(3, 4), Fraction(1))


def regret(data: ReportData) -> Section:
    """Return cumulative regret, and smoothed regret of an episode, of every agent."""
    figures = tuple(regret_figures(data.curves, data.styles))
    note = "Mean over runs, and its 95 % interval (Student’s t)." if data.num_runs > 1 else "One run."
    if (width := smoothing(len(data.lengths))) > 1:
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
    elif any(figure.shades for figure in figures):
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
    drawn += reference_slopes(_SLOPES, episodes, [*curves.values()])
    strip = None if data.drift is None else (data.episodes[thin], data.drift[thin])
    axes = Axis("episode", log=True), Axis("cumulative regret", log=True)
    text, marks = "Cumulative regret of every agent, both axes logarithmic", [t + 0.5 for t in data.changes]
    figure = Figure("growth", drawn, *axes, text, x=episodes, marks=marks, strip=strip)
    return Section("How regret grows", [figure, *_exponents(data)])


def reference_slopes(
    slopes: Sequence[Fraction], sizes: np.ndarray, curves: Sequence[np.ndarray]
) -> list[Curve]:
    """Return lines `C·nᵅ` from the geometric mean of the curves where these begin, each named at its end."""
    positive = [np.where(curve > 0, curve, np.nan) for curve in curves if (curve > 0).any()]
    centre = np.exp(np.mean(np.log(positive), axis=0)) if positive else np.empty(0)
    finite = np.flatnonzero(np.isfinite(centre))
    if len(finite) < 2:
        return []
    x = sizes[finite[[0, -1]]].astype(float)
    heights = {slope: centre[finite[0]] * (x / x[0]) ** float(slope) for slope in slopes}
    return [Curve(f"slope {slope}", y, x=x, kind="reference", end=str(slope)) for slope, y in heights.items()]


def _exponents(data: ReportData) -> list[Table | str]:
    """The table of exponents in the longest stretches without a change, and its explanation."""
    shown = thinned(len(data.lengths))
    episodes = data.episodes[shown]
    borders = [*itertools.pairwise([0, *data.changes, data.num_episodes])]
    points = [np.sum((episodes > first) & (episodes <= last)) for first, last in borders]
    fitted = [number for number in np.argsort(points, kind="stable") if points[number] >= _MIN_POINTS]
    if not fitted:
        return ["The environment changes too often for an exponent to be fitted between two changes."]
    longest = sorted(fitted[-_MAX_STRETCHES:])
    rows = []
    for label in data.labels:
        curves, lengths = data.results[label].cumulative_regret[:, shown], np.diff(episodes, prepend=0)
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


def drift(data: ReportData) -> Section | None:
    """Return the variation so far, the distance from the first model, and the path of the parameter."""
    title, environment = "How the environment drifts", data.environment
    if data.is_external:
        return None
    if isinstance(environment, str):
        return Section(title, [f"The environment cannot be rebuilt from the manifest ({environment})."])
    variation = environment.variation(data.num_episodes)
    if variation.total == 0:
        return Section(title, ["It does not: all episodes have the same model."])
    shown = thinned(data.num_episodes, _MAX_PLACES)
    paths, moves = model_paths(environment, shown), (variation.reward, variation.transition)
    spent = (np.concatenate([[0.0], np.cumsum(move)])[shown] for move in moves)
    budgets = dict(zip(paths, spent, strict=False))
    distances = {name: np.linalg.norm(path - path[0], axis=-1) for name, path in paths.items()}
    figures = []
    for name, heading, over_time in (
        ("variation", "Variation spent", budgets),
        ("distance", "Distance from the first model", distances),
    ):
        drawn = [Curve(label, curve, number) for number, (label, curve) in enumerate(over_time.items())]
        axes = Axis("episode", integer=True), Axis(from_zero=True)
        figures.append(Figure(name, drawn, *axes, heading, heading, x=shown + 1, legend=True))
    path = next(iter(paths.values()))  # in the plane of its first two principal directions
    left, sizes, _ = np.linalg.svd(path - path.mean(axis=0), full_matrices=False)
    if len(sizes) > 1 and sizes[1] > 1e-9 * np.linalg.norm(path):  # else it stays on a line, up to rounding
        x, y = (left[:, :2] * sizes[:2]).T
        curve = Curve("θ", y, 0, x=x, hover=[f"episode {episode + 1}" for episode in shown])
        start = Curve("start", y[:1], 2, x=x[:1], kind="dots")
        axes, heading = (Axis("first principal direction"), Axis("second")), "Path of θ, from the dot"
        figures.append(Figure("path", [curve, start], *axes, heading, heading))
    note = (
        f"The variation budgets are Δ_r = {format_number(variation.reward_budget)} and Δ_P = "
        f"{format_number(variation.transition_budget)}, together Δ = {format_number(variation.total)}; "
        "computed from the environment, rebuilt from the manifest. Distances are Euclidean, over all steps."
    )
    return Section(title, [tuple(figures), note])
