"""Views of regret over time: that of an episode, and all so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.analysis.statistics import trailing_mean
from driftwise.simulation.results import Result

MAX_POINTS = 400  # of a curve: about as many as a screen shows


class View(NamedTuple):
    """Curves `[runs, points]` of a result, and the pieces that they are drawn in."""

    name: str
    heading: str
    curves: Callable[[Result], np.ndarray]
    pieces: Sequence[np.ndarray]  # points, in order
    random: Callable[[float, np.ndarray], np.ndarray]  # level after the episodes, of so much in each

    def thinned(self) -> list[np.ndarray]:
        """Pieces with at most as many points together as a screen shows."""
        return [piece[thinned(len(piece), MAX_POINTS // len(self.pieces))] for piece in self.pieces]


def views(result: Result, changes: Sequence[int], quantity: str = "regret") -> tuple[View, View]:
    """Cumulative regret, and that of an episode, for results of this shape; `quantity` is the word for it.

    Regret of an episode is a mean over the last fiftieth of the points, and of none before the last change:
    it neither looks ahead nor back across one.
    """
    points = np.arange(len(result.lengths))
    borders = np.searchsorted(result.episodes, changes, side="right")
    pieces = [piece for piece in np.split(points, borders) if len(piece)]
    width = smoothing(result)

    def smoothed(each: Result) -> np.ndarray:
        parts = (trailing_mean(each.regret[:, piece], width, lengths=each.lengths[piece]) for piece in pieces)
        return np.concatenate([*parts], axis=-1)

    return (
        View(
            "cumulative",
            f"Cumulative {quantity}",
            lambda each: each.cumulative_regret,
            [points],
            lambda level, episodes: level * episodes,
        ),
        View(
            "per-episode",
            f"{quantity.capitalize()} of an episode",
            smoothed,
            pieces,
            lambda level, episodes: np.full(len(episodes), level),
        ),
    )


def smoothing(result: Result) -> int:
    """Points that the regret of an episode is averaged over."""
    return max(1, len(result.lengths) // 50)


def thinned(size: int, limit: int = MAX_POINTS) -> np.ndarray:
    """At most `limit` places from the first to the last."""
    return np.unique(np.linspace(0, size - 1, min(size, max(limit, 2))).round().astype(int))
