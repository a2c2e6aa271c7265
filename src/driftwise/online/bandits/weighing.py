"""Memories of a mixture together with their weights, for a decider."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from driftwise.online.bandits.anchored import LARGE
from driftwise.online.bandits.apart import Apart
from driftwise.online.bandits.memories import Memories, Pair, Sums, Together
from driftwise.parts.noise import WORST


class Numbers(NamedTuple):
    """All that a mixture has learnt."""

    sums: Sums
    held: np.ndarray  # [6, J] Σω and Σω² of samples, the same of errors, and squares of these: q, and all
    log_weights: np.ndarray  # [J]


class Mixture(Protocol):
    """Memories that learn from the same samples and are weighed by their forecasts.

    It is called where NumPy warns of nothing, as deciders are.
    """

    held: np.ndarray  # [6, J] as in `Numbers`, and
    log_weights: np.ndarray  # [J] both as they are now
    weights: np.ndarray  # [J]
    heaviest: int  # the memory of the largest weight

    @property
    def numbers(self) -> Numbers:
        """All of it as it is now."""
        ...

    def gram(self, j: int) -> np.ndarray:
        """`Λ` of memory `j`."""
        ...

    def bounds(self, j: int, arms: np.ndarray, radius: float) -> Pair:
        """Upper confidence bounds of arms `[N, d]` in memory `j`, and the part that is exploration."""
        ...

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        """Means, and rows whose products with normal numbers are Thompson's draws; see `Memories`."""
        ...

    def learn(
        self, features: np.ndarray, reward: float, weight: float, degrees: float, scale: float, share: float
    ) -> float:
        """Take in a sample that counts as so many, and return its squared error, as the weights have it.

        Errors are scored by Student's t of that many degrees of freedom, with a `scale` of as many times the
        noise's variance; at 0 nothing is scored. A `share` of the weights is given back to the prior.
        """
        ...

    def renew(self, source: int) -> None:
        """Let the last memory go on from a copy of another."""
        ...


def upper_bounds(estimate: Pair, radius: float) -> Pair:
    """Means and squared norms as upper bounds, and the part that is exploration."""
    mean, bonus = estimate
    bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)
    bonus *= radius
    return mean + bonus, bonus


class Weighed:
    """A mixture by NumPy, over all memories at once."""

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, prior: np.ndarray, numbers: Numbers) -> None:
        dim, num = numbers.sums.cross.shape[-1], len(rates)
        make = Apart if dim >= LARGE else Together
        self._memories: Memories = make(rates, ridges, numbers.sums)
        rate, square, once = rates, rates**2, np.ones(num)
        self._ones, self._worst = once, WORST * once
        self._factors = np.stack([rate, square, rate, square, rate, once])
        self._new = np.ones_like(self._factors)
        self._parts = np.stack([once, prior])  # u and π of `FixedShare`
        self._posterior = self._parts[0]
        self.held = numbers.held.copy()
        self._logs = np.stack([once, once, numbers.log_weights, once])
        self._away, self._doubts, self.log_weights, _ = self._logs  # what scores are put together from
        self.weights = np.exp(self.log_weights)
        self.heaviest = int(self.weights.argmax())

    @property
    def numbers(self) -> Numbers:
        return Numbers(self._memories.sums, self.held, self.log_weights)

    def gram(self, j: int) -> np.ndarray:
        return self._memories.gram(j)

    def bounds(self, j: int, arms: np.ndarray, radius: float) -> Pair:
        return upper_bounds(self._memories.estimate(j, arms), radius)

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        return self._memories.spread(j, arms)

    def learn(
        self, features: np.ndarray, reward: float, weight: float, degrees: float, scale: float, share: float
    ) -> float:
        error, variance = self._memories.forecast(features, reward)
        doubt = variance + self._ones
        squares = error * error
        squares /= doubt
        heard = float(self.weights.dot(squares))
        self._weigh(squares, doubt, degrees, scale, share)
        self._memories.absorb(self.heaviest)
        self._add(squares, weight)
        return heard

    def _weigh(
        self, squares: np.ndarray, doubt: np.ndarray, degrees: float, scale: float, share: float
    ) -> None:
        """`LearntNoise.relative_score` and `FixedShare.update`, which take three times as long."""
        factors, away = (0.0, 0.0, 1.0, 0.0), self._away
        if scale > 0:
            np.minimum(squares / scale, self._worst, out=away)
            np.log1p(away, out=away)
            np.log(doubt, out=self._doubts)
            power = -0.5 * (degrees + 1)
            factors = power, -0.5, 1.0, -power * away.item(away.argmin())  # some score is near 0
        posterior = np.exp(np.array(factors).dot(self._logs), out=self._posterior)
        shares = np.array(((1 - share) / float(posterior.dot(self._ones)), share))
        np.log(shares.dot(self._parts), out=self.log_weights)
        np.exp(self.log_weights, out=self.weights)
        self.heaviest = int(self.weights.argmax())

    def _add(self, squares: np.ndarray, weight: float) -> None:
        """Learn the noise of each memory, and what it holds."""
        self._new[4:] = squares
        self.held *= self._factors
        self.held += self._new
        if weight != 1:
            self.held[:2] += weight - 1

    def renew(self, source: int) -> None:
        self._memories.renew(source)
        self.held[:, -1] = self.held[:, source]
