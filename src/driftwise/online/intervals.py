r"""Intervals for means, and for differences of mean scores of forecasts.

Less its expectation given the past, the difference $D_t$ of two scores is an increment of a martingale,
however rewards drift and actions were chosen: $\bar D \pm zs$ with the usual standard error $s$ is about the
mean of these expectations over the rows of this log.

References: Giacomini & White, "Tests of Conditional Predictive Ability", Econometrica 2006; Choe & Ramdas,
"Comparing Sequential Forecasters", Operations Research 2024; Hsu, "Simultaneous Confidence Intervals for All
Distances from the 'Best'", Annals of Statistics 1981.
"""

import math
from statistics import NormalDist
from typing import NamedTuple, Self

import numpy as np

_TAIL = (1 - 0.95) / 2  # the probability on either side of an interval


class Interval(NamedTuple):
    """A value, and an interval that covers what it estimates; NaN where there are too few rows."""

    value: float
    low: float
    high: float

    @classmethod
    def around(cls, value: float, half_width: float) -> Self:
        """Return a value with as much on either side of it."""
        return cls(value, value - half_width, value + half_width)


def quantile(alpha: float) -> float:
    """Return the normal quantile that is exceeded with probability `alpha`."""
    return NormalDist().inv_cdf(1 - alpha)


def normal_interval(differences: np.ndarray) -> Interval:
    """Return the mean of differences `[n]` with its normal interval."""
    value, error = _mean_and_error(differences)
    return Interval.around(float(value), float(quantile(_TAIL) * error))


def possibly_best(scores: np.ndarray) -> np.ndarray:
    """Return whether each of the forecasters with scores `[n, J]` may be the best.

    One is out if another is better by more than chance, at `0.05/(J − 1)` on one side, so that the best is
    out in at most 5 % of all cases.
    """
    level = 2 * _TAIL / max(scores.shape[1] - 1, 1)
    values, errors = zip(*(_mean_and_error(other[:, None] - scores) for other in scores.T), strict=True)
    return ~np.logical_or.reduce(np.array(values) > quantile(level) * np.array(errors))


def gain_of_the_best(scores: np.ndarray, reference: np.ndarray) -> Interval:
    """Return the gain of the best of the forecasters with scores `[n, J]` over a reference `[n]`.

    The lower end is the highest of J, each at `0.025/J`, since the best was chosen by these scores; the upper
    end is the highest, each at 0.025.
    """
    value, error = _mean_and_error(scores - reference[:, None])
    low, high = value - quantile(_TAIL / scores.shape[1]) * error, value + quantile(_TAIL) * error
    return Interval(float(value.max()), float(low.max()), float(high.max()))


def _mean_and_error(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean, num = differences.mean(axis=0), len(differences)
    if num < 2:
        return mean, np.full_like(mean, math.nan)
    return mean, differences.std(axis=0, ddof=1) / math.sqrt(num)
