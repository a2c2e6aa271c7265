"""Chances of straight lines to be the highest at a random place, on NumPy."""

from __future__ import annotations

import math

import numpy as np

TIE = float(np.finfo(np.float64).eps) ** (2 / 3)  # as of indices: a share of the largest, or of one


def winning_chances(means: np.ndarray, slopes: np.ndarray, *, folded: bool) -> np.ndarray:
    """The probability that `m_a + Z s_a` is the largest, for `Z ~ N(0, 1)` or its absolute value: `[N]`.

    Line a is on top between the last crossing with a flatter line and the first one with a steeper one.
    Lines that are the same share their chance.
    """
    rise = slopes[:, None] - slopes  # [a, b]
    lead = means[:, None] - means
    parallel = np.abs(rise) <= TIE * max(np.abs(slopes).max(), 1.0)
    level = np.abs(lead) <= TIE * max(np.abs(means).max(), 1.0)
    crossing = -lead / np.where(parallel, 1.0, rise)
    lower = np.where(~parallel & (rise > 0), crossing, -np.inf).max(axis=1)
    upper = np.where(~parallel & (rise < 0), crossing, np.inf).min(axis=1)
    beaten = (parallel & ~level & (lead < 0)).any(axis=1)
    mass = np.array(
        [_below(high, folded) - _below(low, folded) for low, high in zip(lower, upper, strict=True)]
    )
    chances = np.where(beaten, 0.0, np.maximum(mass, 0.0)) / (parallel & level).sum(axis=1)
    return chances / chances.sum()


def _below(z: float, folded: bool) -> float:
    """The probability of a draw below z."""
    return max(math.erf(z / math.sqrt(2)), 0.0) if folded else (1 + math.erf(z / math.sqrt(2))) / 2
