"""Regret over time, and the exponents it grows with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from driftwise.analysis.figures import moving_average
from driftwise.analysis.page import MAX_POINTS, Figure, Section, axis, line, thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import change_marks, legend, over_episodes
from driftwise.analysis.statistics import growth_exponent, mean_interval
from driftwise.analysis.statistics.wording import with_interval
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.simulation.results import Result

FEWEST = 8  # points of a stretch whose growth is fitted
MAX_STRETCHES = 4  # with a column each


def regret(data: ReportData) -> Section:
    """Cumulative regret, and smoothed regret of an episode, of every agent drawn."""
    width = len(data.lengths) // 50
    every = [np.arange(len(data.episodes))]
    borders = np.searchsorted(data.episodes, data.changes, side="right")
    segments = [part for part in np.split(every[0], borders) if len(part)]
    figures = (
        _figure(
            data,
            every,
            lambda result, part: result.cumulative_regret[:, part],
            name="cumulative",
            text="Cumulative regret of every agent over episodes",
            caption="Cumulative regret",
        ),
        _figure(
            data,
            segments,
            lambda result, part: moving_average(result.regret[:, part], width),
            name="per-episode",
            text="Regret of an episode of every agent, smoothed",
            caption="Regret of an episode",
        ),
    )
    note = "Mean over runs, and its 95 % interval (Student’s t)." if data.num_runs > 1 else "One run."
    if width > 1:
        note += f" Regret of an episode is averaged over {width + 1 - width % 2} points."
    if data.changes:
        note += " Dotted vertical lines are changes of the environment; no average crosses them."
    return Section("Regret over time", [*legend(data), figures, note])


def _figure(
    data: ReportData,
    parts: Sequence[np.ndarray],
    curves: Callable[[Result, np.ndarray], np.ndarray],
    *,
    name: str,
    text: str,
    caption: str,
) -> Figure:
    """Means of the `curves` `[runs, points]` of every agent, with a gap after each part of the points."""
    kept = [thinned(len(part), MAX_POINTS // len(parts)) for part in parts]
    traces, lowest = [], 0.0  # below which only problems without episodes go
    for index, label in enumerate(data.drawn):
        drawn = [
            mean_interval(curves(data.results[label], part)[:, few])
            for part, few in zip(parts, kept, strict=True)
        ]
        mean, half_width = (_joined(each) for each in zip(*drawn, strict=True))
        traces.append(line(index, label, mean, half_width if data.num_runs > 1 else None))
        lowest = min(lowest, float(np.nanmin(mean)))
    episodes = _joined([data.episodes[part[few]] for part, few in zip(parts, kept, strict=True)])
    return Figure(name, traces, over_episodes(data, lowest), text, caption, x=episodes)


def _joined(pieces: Iterable[np.ndarray]) -> np.ndarray:
    """One after the other, each followed by a gap."""
    return np.concatenate([part for piece in pieces for part in (piece, [np.nan])])


def growth(data: ReportData) -> Section | None:
    """Cumulative regret on logarithmic axes, and the exponents of every agent drawn."""
    if len(data.lengths) < FEWEST:
        return None
    places = np.unique(np.geomspace(1, len(data.lengths), MAX_POINTS).round().astype(int)) - 1
    traces = []
    for index, label in enumerate(data.drawn):
        mean = data.results[label].cumulative_regret[:, places].mean(axis=0)
        traces.append(line(index, label, np.where(mean > 0, mean, np.nan)))
    layout = {
        "shapes": change_marks(data),
        "xaxis": axis("episode", type="log"),
        "yaxis": axis("cumulative regret", type="log"),
    }
    text = "Cumulative regret of every agent, both axes logarithmic"
    figure = Figure("growth", traces, layout, text, x=data.episodes[places])
    return Section("How regret grows", [*legend(data), figure, *_exponents(data)])


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
    for label in data.drawn:
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
    if data.changes:
        note += " No fit crosses a change of the environment."
    if len(shown) < len(borders):
        note += f" Of {len(borders)} stretches between changes the table has the longest."
    return [table, note]
