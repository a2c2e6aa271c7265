"""Rewards that came together, which the memories of a mixture learn in one update."""

from typing import NamedTuple

import numpy as np

from driftwise.base.arrays import solve_or_nan, solve_rows_or_nan
from driftwise.online.deciders.definition import Pair
from driftwise.online.deciders.memories import Sums

_DEVIATION = 0.6745  # the median of a standard normal's absolute value


class LearntBatch(NamedTuple):
    """What a memory has learnt from a batch."""

    sums: Sums
    stats: np.ndarray  # [6] as in `MixtureNumbers`
    squares: np.ndarray  # [n] of the forecasts, whose mean is the noise's variance
    log_volume: float  # log |C|


def learn_batch(
    sums: Sums,
    stats: np.ndarray,
    rate: float,
    ridge: float,
    rows: np.ndarray,
    rewards: np.ndarray,
    scatter: np.ndarray,
) -> LearntBatch:
    r"""Return what a memory has learnt from features `[n, d]` and rewards `[n]`, the oldest first.

    The `scatter` is $\Phi^\top\Phi$. All rewards are forecast together, by a $\Lambda$ and $b$ that have
    forgotten all that is forgotten before the last of them: $\eta^{n-1}\Lambda + (1-\eta^{n-1})\lambda I$.
    The errors share that of the estimate. So their covariance is $s^2C$ with $C = I +
    \Phi\Lambda^{-1}\Phi^\top$, and a batch in one direction is one piece of evidence about it. With
    $e = r - \Phi\Lambda^{-1}b$, $A = \Lambda + \Phi^\top\Phi$ and $\delta = A^{-1}\Phi^\top e$,

    $$|C| = |A| / |\Lambda|, \qquad
      e^\top C^{-1}e = \sum_i q_i, \qquad q_i = (e - \Phi\delta)_i^2 + \delta^\top\Lambda\delta / n.$$

    Each square $q_i$ is scored on its own, since tails may be heavy; one reward has $e^2/(1+v)$. In the sums
    every reward is a tick, as if they had come one after another.
    """
    num = len(rewards)
    before = _shrink(sums.gram, rate ** (num - 1), ridge)
    after = before + scatter
    error = rewards - rows.dot(solve_or_nan(before, rate ** (num - 1) * sums.cross))
    shift = solve_or_nan(after, error.dot(rows))
    squares = (error - rows.dot(shift)) ** 2 + shift.dot(before).dot(shift) / num
    log_volume = np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1]

    ages = np.arange(num - 1, -1, -1.0)
    weights, kept, total = rate**ages, rate**num, squares.sum()
    weight, weight_sq = weights.sum(), weights.dot(weights)
    gained = np.array([weight, weight_sq, weight, weight_sq, weight * total / num, total])
    stats = np.array([kept, kept * kept, kept, kept * kept, kept, 1.0]) * stats + gained
    gram_sq = None
    if sums.gram_sq is not None:
        scaled = rows * weights[:, None]
        gram_sq = _shrink(sums.gram_sq, kept * kept, ridge) + scaled.T.dot(scaled)
    if rate != 1:
        scaled = rows * np.sqrt(weights)[:, None]
        scatter = scaled.T.dot(scaled)
    gram = _shrink(sums.gram, kept, ridge) + scatter
    cross = kept * sums.cross + (weights * rewards).dot(rows)
    return LearntBatch(Sums(gram, gram_sq, cross), stats, squares, log_volume)


def forecast_rows(sums: Sums, rows: np.ndarray, rewards: np.ndarray) -> Pair:
    """Return errors and variances `[n]` of rewards in one memory, each without the others."""
    mapped = solve_rows_or_nan(sums.gram, rows)
    return rewards - mapped.dot(sums.cross), np.vecdot(mapped, rows)


def robust_variance(error: np.ndarray, variance: np.ndarray) -> float:
    """Return the noise's variance by the median of the errors, which few outliers cannot change."""
    return float(np.median(error * error / (1 + variance))) / _DEVIATION**2


def _shrink(matrix: np.ndarray, kept: float, ridge: float) -> np.ndarray:
    """Return `ηM + (1−η)λI`."""
    shrunk = kept * matrix
    shrunk.reshape(-1)[:: len(shrunk) + 1] += (1 - kept) * ridge
    return shrunk
