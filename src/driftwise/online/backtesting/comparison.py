r"""Comparisons of forecasters by their scores, which may depend on one another in any way.

Scores are one step ahead: less its expectation given the past, the difference of two scores is an increment
of a martingale, whatever the world and the policy do. So the error of a mean difference $\bar D$ is

$$s = \frac1{\sqrt n}\Bigl(\frac1{n-1}\sum_t (D_t - \bar D)^2\Bigr)^{1/2},$$

or less, and $\bar D \pm zs$ is about the mean of these expectations over the rows of this log.

References: Giacomini & White, "Tests of Conditional Predictive Ability", Econometrica 2006; Choe & Ramdas,
"Comparing Sequential Forecasters", Operations Research 2024; Hsu, "Simultaneous Confidence Intervals for All
Distances from the 'Best'", Annals of Statistics 1981.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LEVEL = 0.95


class Interval(NamedTuple):
    """A value and the ends of its 95 % interval, NaN where one row does not tell them."""

    value: float
    low: float
    high: float


def mean_interval(differences: np.ndarray) -> Interval:
    """The mean of differences `[n]` with its normal interval."""
    value, error = _mean_and_error(differences)
    half = _quantile((1 - LEVEL) / 2) * error
    return Interval(float(value), float(value - half), float(value + half))


def possibly_best(scores: np.ndarray) -> np.ndarray:
    """Whether each of the forecasters with scores `[n, J]` may be the best.

    One is out if another is better by more than chance, at `0.05/(J − 1)` on one side. The best of them is
    thrown out wrongly by one of the J − 1 others, so in at most 5 % of all cases.
    """
    quantile = _quantile((1 - LEVEL) / max(scores.shape[1] - 1, 1))
    beaten = np.zeros(scores.shape[1], dtype=bool)
    for other in scores.T:
        value, error = _mean_and_error(other[:, None] - scores)
        beaten |= value > quantile * error
    return ~beaten


def gain_of_the_best(scores: np.ndarray, reference: np.ndarray) -> Interval:
    """The best of the forecasters with scores `[n, J]` against a reference `[n]`, whichever is the best.

    The lower end is the highest of J lower ends, each at `0.025/J`, since the best was chosen by these
    scores. The upper end is the highest upper end, each at 0.025: that of the best one is among them.
    """
    value, error = _mean_and_error(scores - reference[:, None])
    alpha = (1 - LEVEL) / 2
    low, high = value - _quantile(alpha / scores.shape[1]) * error, value + _quantile(alpha) * error
    return Interval(float(value.max()), float(low.max()), float(high.max()))


def _mean_and_error(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, num = differences.mean(axis=0), len(differences)
    if num < 2:
        return mean, np.full_like(mean, math.nan)
    return mean, differences.std(axis=0, ddof=1) / math.sqrt(num)


def _quantile(alpha: float) -> float:
    """The normal quantile that is exceeded with chance `alpha`."""
    return NormalDist().inv_cdf(1 - alpha)
