"""Memories of many dimensions, each with an anchor of its own."""

from __future__ import annotations

import numpy as np

from driftwise.base.types import Forecast
from driftwise.online.bandits.anchored import LONGEST, Anchored
from driftwise.online.bandits.memories import Estimates, Sums

ROUGH = 5000.0  # growth up to which no refinement is needed for eight digits, enough to weigh memories


class Apart:
    r"""Memories that each have their inverse from an anchor, with a relative error below $10^{-8}$.

    Sums are brought up to date when they are asked for, which a new anchor does: all samples since then at
    once, as one product of matrices,

    $$\Lambda_{t+n} = \eta^n\Lambda_t + (1-\eta^n)\lambda I
      + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F.$$

    Anchors are set in turns, so that no decision waits for all of them.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        self._grams = np.stack([each for each in sums[:2] if each is not None], axis=1)
        self._cross = sums.cross.copy()
        turns = np.arange(1, len(rates) + 1) / len(rates)
        told = zip(self._grams, self._cross, rates.tolist(), ridges.tolist(), turns.tolist(), strict=True)
        self._memories = [Memory(*each) for each in told]

    @property
    def sums(self) -> Sums:
        for memory in self._memories:
            memory.gram()
        gram_sq = self._grams[:, 1] if self._grams.shape[1] == 2 else None
        return Sums(self._grams[:, 0], gram_sq, self._cross)

    def gram(self, j: int) -> np.ndarray:
        return self._memories[j].gram()

    def estimate(self, j: int, arms: np.ndarray) -> Estimates:
        return self._memories[j].estimate(arms)

    def forecast(self, features: np.ndarray, reward: float) -> Forecast:
        found = [memory.forecast(features) for memory in self._memories]
        means, variances = np.array(found).T
        return Forecast(reward - means, variances)

    def absorb(self, features: np.ndarray, reward: float) -> None:
        for memory in self._memories:
            memory.absorb(features, reward)

    def renew(self, source: int) -> None:
        self._memories[source].gram()
        self._grams[-1], self._cross[-1] = self._grams[source], self._cross[source]
        self._memories[-1].begin()


class Memory:
    """A regression whose sums `[1 or 2, d, d]` and `[d]` are written in place."""

    def __init__(self, grams: np.ndarray, cross: np.ndarray, rate: float, ridge: float, turn: float) -> None:
        self._grams, self._cross, self._rate, self._ridge = grams, cross, rate, ridge
        self._inverse = Anchored(self.gram, len(cross), ridge, rough=ROUGH, first=turn)
        self._samples, self._num = np.empty((LONGEST, len(cross))), 0  # that the grams do not have yet

    def begin(self) -> None:
        """Go on from sums that have become others."""
        self._num = 0
        self._inverse.reset()

    def gram(self) -> np.ndarray:
        """`Λ`; Λ̃ is brought up to date with it."""
        if self._num:
            for power, gram in enumerate(self._grams, start=1):
                kept, rows = self._rate ** (power * self._num), self._weighed(power)
                gram *= kept
                gram += rows.T.dot(rows)
                gram.reshape(-1)[:: len(gram) + 1] += (1 - kept) * self._ridge
            self._num = 0
        return self._grams[0]

    def estimate(self, arms: np.ndarray) -> Estimates:
        mapped = self._inverse.map(arms)
        others = arms if len(self._grams) == 1 else self._times_squared(mapped)
        return Estimates(mapped.dot(self._cross), np.vecdot(mapped, others))

    def forecast(self, features: np.ndarray) -> tuple[float, float]:
        """The mean and the variance of a sample."""
        (mapped,) = self._inverse.map(features[None])
        return mapped.dot(self._cross).item(), mapped.dot(features).item()

    def absorb(self, features: np.ndarray, reward: float) -> None:
        if self._num == LONGEST:
            self.gram()
        self._samples[self._num] = features
        self._num += 1
        self._cross *= self._rate
        self._cross += reward * features
        if self._rate != 1:
            self._inverse.shrunk(self._rate)
        self._inverse.added(features, 1.0)

    def _times_squared(self, mapped: np.ndarray) -> np.ndarray:
        """`Λ̃y` of each row."""
        kept, rows = self._rate ** (2 * self._num), self._weighed(2)
        return (
            kept * mapped.dot(self._grams[1])
            + mapped.dot(rows.T).dot(rows)
            + (1 - kept) * self._ridge * mapped
        )

    def _weighed(self, power: int) -> np.ndarray:
        """Samples that the grams do not have yet, each times the root of its weight."""
        ages = np.arange(self._num - 1, -1, -1.0)
        return self._samples[: self._num] * (self._rate ** (power * ages / 2))[:, None]
