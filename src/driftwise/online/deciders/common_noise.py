"""The noise of the forecasts of all memories of a mixture together, in Python's numbers."""

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import EARLY, FIRST_CLIPPED, MixtureOfMemories
from driftwise.parts.noise import ErrorSums, NoiseSums


class CommonNoise:
    """The fast form of `MixtureOfMemories.noise`, with its variance and degrees of freedom."""

    errors: ErrorSums
    variance: float
    degrees: float  # of Student's t

    def __init__(self, agent: MixtureOfMemories, sums: NoiseSums) -> None:
        self.agent, self._like, (moments, total) = agent, sums, sums
        self._weight_sq = moments.weight_sq.item()
        self._set(ErrorSums(moments.gram.item(), moments.cross.item(), total.item(), moments.tick.item()))

    def _set(self, errors: ErrorSums) -> None:
        noise, self.errors = self.agent.noise, errors
        self.variance, self.degrees = noise.variance(errors), noise.capped_degrees(errors)

    @property
    def sums(self) -> NoiseSums:
        """The sums as parts have them."""
        return noise_sums(self._like, self.errors, self._weight_sq)

    def absorb(self, square: float, num: int) -> None:
        """Learn from so many squares of this mean."""
        rate, (weight, squares, total, count) = self.agent.noise_forgetting.rate, self.errors
        kept = rate**num
        gained = num if rate == 1 else (1 - kept) / (1 - rate)  # 1 + η + … of the squares, and of η²
        gained_sq = num if rate == 1 else (1 - kept * kept) / (1 - rate * rate)
        self._weight_sq = kept * kept * self._weight_sq + gained_sq
        sums = kept * weight + gained, kept * squares + gained * square
        self._set(ErrorSums(*sums, total + num * square, count + num))

    def outlier_limit(self, variance: float, others: float) -> float:
        """Return the largest error that is no outlier among others, where the estimate is certain."""
        if not (self.agent.outlier and variance > 0 and others >= FIRST_CLIPPED):
            return math.inf
        return self.agent.outlier * (1 + EARLY / others) * math.sqrt(variance)


def noise_sums(like: NoiseSums, errors: ErrorSums, weight_sq: Any) -> NoiseSums:
    """Return sums of errors as parts have them, from numbers or from arrays `[J]`."""
    weight, squares, total, tick, weight_sq = map(np.asarray, (*errors, weight_sq))
    gram, cross = weight[..., None, None, None], squares[..., None, None, None]
    moments = like.moments._replace(gram=gram, cross=cross, weight=weight, weight_sq=weight_sq, tick=tick)
    return NoiseSums(moments, total[..., None])
