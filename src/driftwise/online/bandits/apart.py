"""Memories of many dimensions, each with an anchor of its own."""

from __future__ import annotations

import numpy as np

from driftwise.online.bandits.anchor import Anchor
from driftwise.online.bandits.anchored import Anchored, life
from driftwise.online.bandits.fading import Fading
from driftwise.online.bandits.memories import Pair, Sums

ROUGH = 5000.0  # growth up to which no refinement is needed for eight digits, enough to weigh memories


class Apart:
    r"""Memories that each have their inverse from an anchor, with a relative error below $10^{-8}$.

    Anchors are set in turns, and sums are brought up to date when they are asked for, as a new anchor does:
    so no decision waits for all of them.
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
            memory.update()
        gram_sq = self._grams[:, 1] if self._grams.shape[1] == 2 else None
        return Sums(self._grams[:, 0], gram_sq, self._cross)

    def gram(self, j: int) -> np.ndarray:
        return self._memories[j].gram()

    def estimate(self, j: int, arms: np.ndarray) -> Pair:
        return self._memories[j].estimate(arms)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        self._sample = features, reward
        found = [memory.forecast(features) for memory in self._memories]
        means, variances = np.array(found).T
        return reward - means, variances

    def absorb(self) -> None:
        for memory in self._memories:
            memory.absorb(*self._sample)

    def renew(self, source: int) -> None:
        self._memories[source].update()
        self._grams[-1], self._cross[-1] = self._grams[source], self._cross[source]
        self._memories[-1].follow(self._memories[source])


class Memory:
    """A regression whose sums `[1 or 2, d, d]` and `[d]` are written in place."""

    def __init__(self, grams: np.ndarray, cross: np.ndarray, rate: float, ridge: float, turn: float) -> None:
        powers, room = enumerate(grams, start=1), life(len(cross))
        self._sums = [Fading(gram, rate**power, ridge, room) for power, gram in powers]  # Λ and any Λ̃
        self._cross, self._rate = cross, rate
        self._inverse = Anchored(self._sums[0].now, len(cross), ridge, rough=ROUGH, first=turn)
        self._anchor: Anchor | None = None  # whose coordinates the next two are in
        self._turned_cross = self._turned = cross  # b, and the features that were forecast last

    def follow(self, other: Memory) -> None:
        """Go on from sums that have become a copy of another memory's."""
        for each in self._sums:
            each.clear()
        self._inverse.follow(other._inverse)

    def gram(self) -> np.ndarray:
        """`Λ`."""
        return self._sums[0].now()

    def update(self) -> None:
        """Bring the sums up to date."""
        for each in self._sums:
            each.now()

    def estimate(self, arms: np.ndarray) -> Pair:
        mapped = self._inverse.map(arms)
        others = arms if len(self._sums) == 1 else self._sums[1].times(mapped)
        return mapped.dot(self._cross), np.vecdot(mapped, others)

    def forecast(self, features: np.ndarray) -> tuple[float, float]:
        """The mean and the variance of a sample, with one product by a matrix `[d, d]`."""
        anchor = self._inverse.anchor()
        if anchor is not self._anchor:
            self._anchor, self._turned_cross = anchor, anchor.turned(self._cross)
            self._sums[-1].now()  # Λ̃, in turns as well
        self._turned = anchor.turned(features)
        (solved,) = anchor.solve(self._turned[None])
        return solved.dot(self._turned_cross).item(), solved.dot(self._turned).item()

    def absorb(self, features: np.ndarray, reward: float) -> None:
        """Learn from the sample that was forecast last."""
        for each in self._sums:
            each.add(features)
        self._cross *= self._rate
        self._cross += reward * features
        self._turned_cross *= self._rate
        self._turned_cross += reward * self._turned
        if self._rate != 1:
            self._inverse.shrunk(self._rate)
        self._inverse.added(features, 1.0, self._turned)
        self._inverse.settle()
