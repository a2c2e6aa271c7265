"""Cumulative regret and regret of an episode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from driftwise.analysis.figures import moving_average
from driftwise.analysis.page import MAX_POINTS, Figure, Section, line, thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import legend, over_episodes
from driftwise.analysis.statistics import mean_interval
from driftwise.simulation.results import Result


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
