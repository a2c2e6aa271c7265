"""Jumps of a curve that does not say itself where it jumps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

AROUND = 4  # moves on either side that a jump is held against
TIMES = 10  # as far as the longest of them, at least
ROUNDING = 1e-9  # moves that are no moves
AT_ONCE = 1 << 16  # episodes that are looked at together


def jumps(curve: Callable[[np.ndarray], np.ndarray], num_episodes: int) -> tuple[int, ...]:
    """Episodes before `num_episodes` in which the curve, `[T]` to `[T, n]`, jumps.

    A jump is a move at least ten times as far as each of the four moves before it and the four after it.
    Moves that follow each other more closely are movement: a fast one, a random walk's, that of a season.
    What moves in the last four episodes may be the beginning of one.
    """
    found: list[int] = []
    for first in range(1, num_episodes - AROUND, AT_ONCE):
        last = min(first + AT_ONCE, num_episodes - AROUND)  # of the episodes first, …, last − 1
        around = np.arange(first - AROUND - 1, last + AROUND)
        path = curve(np.maximum(around, 0))  # nothing moves before the run
        found.extend(first + _outstanding(np.abs(np.diff(path, axis=0)).sum(axis=-1)))
    return tuple(int(each) for each in found)


def _outstanding(moves: np.ndarray) -> np.ndarray:
    """Places, without those at the ends, of moves far longer than those around them."""
    windows = sliding_window_view(moves, 2 * AROUND + 1)
    around = np.delete(windows, AROUND, axis=1).max(axis=1)
    own = windows[:, AROUND]
    return np.flatnonzero((own > ROUNDING) & (own >= TIMES * around))
