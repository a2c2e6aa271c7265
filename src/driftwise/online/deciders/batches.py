"""Rewards that came together, which the memories of a mixture learn in one update."""

import operator
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import FIRST_CLIPPED
from driftwise.base.arrays import map_tree, solve_or_nan, solve_rows_or_nan
from driftwise.base.types import Forecast
from driftwise.online.deciders.common_noise import CommonNoise
from driftwise.online.deciders.memories import MixtureNumbers, Sums
from driftwise.parts.noise import ErrorSums

_DEVIATION = 0.6745  # the median of a standard normal's absolute value


class LearntBatch(NamedTuple):
    """What a memory has learnt from a batch."""

    sums: Sums
    stats: np.ndarray  # [6] as in `MixtureNumbers`
    squares: np.ndarray  # [n] of the forecasts, whose mean is the noise's variance
    log_volume: float  # log |C|


def learn_part(
    noise: CommonNoise, numbers: MixtureNumbers, rows: np.ndarray, rewards: np.ndarray, tick: int
) -> tuple[MixtureNumbers, float]:
    """Return what memories have learnt after rewards that were forecast together, up to a tick.

    The noise learns them too. The limit of outliers follows from it or, where that is larger, from the
    median of these errors. The weights are shared out once. The number is the score of the heaviest memory.
    """
    agent, num, (sums, stats, log_weights) = noise.agent, len(rows), numbers
    base: Any = agent.base
    memories = [map_tree(operator.itemgetter(j), sums) for j in range(len(log_weights))]
    weights, count = np.exp(log_weights), noise.errors.count
    heaviest = int(weights.argmax())
    leader = memories[heaviest]
    mapped = solve_rows_or_nan(leader.gram, rows)
    error, doubt = rewards - mapped.dot(leader.cross), 1 + np.vecdot(mapped, rows)
    spread = noise.variance if count >= FIRST_CLIPPED else 0.0
    if num > FIRST_CLIPPED:
        spread = max(spread, np.median(error * error / doubt).item() / _DEVIATION**2)
    limit = noise.outlier_limit(spread, count + num - 1) * np.sqrt(doubt)
    rewards = rewards + (error.clip(-limit, limit) - error)

    rates, ridges, scatter = base.forgetting.rate, base.ridge, rows.T.dot(rows)
    given = zip(memories, stats.T, rates, ridges, strict=True)
    learnt = [learn_batch(*memory, rows, rewards, scatter) for memory in given]
    sums, stats, squares, log_volumes = map_tree(lambda *leaves: np.stack(leaves), *learnt)
    square, scores = weights.dot(squares.mean(axis=1)).item(), np.zeros(len(learnt))
    noise.absorb(square, num - 1)  # the noise before the last of them
    if noise.variance > 0:
        errors, forecast = ErrorSums(*map(np.asarray, noise.errors)), Forecast(np.sqrt(squares), np.zeros(1))
        scores = agent.noise.score(errors, forecast).sum(axis=1) - 0.5 * log_volumes
    noise.absorb(square, 1)
    log_weights = agent.sharing.update(log_weights, scores, tick)
    return MixtureNumbers(sums, np.ascontiguousarray(stats.T), log_weights), scores.item(heaviest)


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


def _shrink(matrix: np.ndarray, kept: float, ridge: float) -> np.ndarray:
    """Return `ηM + (1−η)λI`."""
    shrunk = kept * matrix
    shrunk.reshape(-1)[:: len(shrunk) + 1] += (1 - kept) * ridge
    return shrunk
