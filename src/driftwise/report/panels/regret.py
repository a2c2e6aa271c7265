"""Cumulative regret and regret of an episode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.figures import moving_average
from driftwise.report.data import ReportData
from driftwise.report.elements import (
    MAX_POINTS,
    Section,
    axis,
    band,
    change_marks,
    figure,
    legend,
    line,
    paragraph,
    thinned,
)
from driftwise.statistics import mean_interval

Piece = tuple[np.ndarray, np.ndarray, np.ndarray]  # episodes, mean, half-width


def regret(data: ReportData) -> Section:
    width = len(data.lengths) // 50
    layout = {"shapes": change_marks(data)}
    results = [data.results[label] for label in data.drawn]
    cumulative = [[_piece(data.episodes, result.cumulative_regret, MAX_POINTS)] for result in results]
    single = [_segments(data, result.regret, width) for result in results]
    marks = (
        " Dotted vertical lines are changes of the environment; no average crosses them."
        if data.changes
        else ""
    )
    bands = "Mean over runs, and its 95 % interval (Student’s t)." if data.num_runs > 1 else "One run."
    smooth = f" Regret of an episode is averaged over {width + 1 - width % 2} points."
    return Section(
        "Regret over time",
        legend(data)
        + '<div class="pair"><div><h3>Cumulative regret</h3>'
        + figure(
            "cumulative",
            _traces(data.drawn, cumulative),
            {**layout, "xaxis": axis("episode"), "yaxis": axis("", rangemode="tozero", minallowed=0)},
            text="Cumulative regret of every agent over episodes",
        )
        + "</div><div><h3>Regret of an episode</h3>"
        + figure(
            "per-episode",
            _traces(data.drawn, single),
            {**layout, "xaxis": axis("episode"), "yaxis": axis("", rangemode="tozero", minallowed=0)},
            text="Regret of an episode of every agent, smoothed",
        )
        + "</div></div>"
        + paragraph(bands + (smooth if width > 1 else "") + marks),
    )


def _segments(data: ReportData, curves: np.ndarray, width: int) -> list[Piece]:
    """The parts between changes, each smoothed on its own."""
    borders = np.searchsorted(data.episodes, data.changes, side="right")
    parts = [part for part in np.split(np.arange(len(data.episodes)), borders) if len(part)]
    limit = MAX_POINTS // len(parts)
    return [_piece(data.episodes[part], moving_average(curves[:, part], width), limit) for part in parts]


def _piece(episodes: np.ndarray, curves: np.ndarray, limit: int) -> Piece:
    kept = thinned(len(episodes), limit)
    return episodes[kept], *mean_interval(curves[:, kept])


def _traces(labels: Sequence[str], curves: Sequence[list[Piece]]) -> list[dict[str, Any]]:
    """Bands first, so that none lies over a line; one run has none."""
    known = not np.isnan(curves[0][0][2]).any()
    bands = [
        band(index, [(episodes, mean - half, mean + half) for episodes, mean, half in pieces])
        for index, pieces in enumerate(curves)
        if known
    ]
    gap = np.array([np.nan])
    lines = []
    for index, (label, pieces) in enumerate(zip(labels, curves, strict=True)):
        x = np.concatenate([part for episodes, _, _ in pieces for part in (episodes, gap)])
        y = np.concatenate([part for _, mean, _ in pieces for part in (mean, gap)])
        lines.append(line(index, label, x, y))
    return bands + lines
