"""Memories of many dimensions, each with an anchor of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.online.bandits.ahead import Work
from driftwise.online.bandits.anchor import Anchor
from driftwise.online.bandits.anchored import Anchored, life
from driftwise.online.bandits.fading import Fading
from driftwise.online.bandits.memories import Pair, Sums

ROUGH = 5000.0  # growth up to which no refinement is needed for eight digits, enough to weigh memories


class Apart:
    r"""Memories that each have their inverse from an anchor, with a relative error below $10^{-8}$.

    Anchors are set in turns. The thread that makes one brings the sums up to date for it.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        grams = zip(*(each for each in sums[:2] if each is not None), strict=True)
        turns = np.arange(1, len(rates) + 1) / len(rates)
        told = zip(grams, sums.cross.copy(), rates.tolist(), ridges.tolist(), turns.tolist(), strict=True)
        self._memories = [Memory(*each) for each in told]

    @property
    def sums(self) -> Sums:
        gram, *squared = (
            np.stack(each) for each in zip(*(memory.sums() for memory in self._memories), strict=True)
        )
        cross = np.stack([memory.cross for memory in self._memories])
        return Sums(gram, squared[0] if squared else None, cross)

    def gram(self, j: int) -> np.ndarray:
        return self._memories[j].now()

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
        self._memories[-1].follow(self._memories[source])


class Memory:
    """A regression, and the gram of its own inverse."""

    def __init__(
        self, grams: Sequence[np.ndarray], cross: np.ndarray, rate: float, ridge: float, turn: float
    ) -> None:
        """A regression from `Λ` and any `Λ̃`, and from `b`, which is written in place."""
        powers, room = enumerate(grams, start=1), life(len(cross))
        self._sums = [Fading(gram, rate**power, ridge, room) for power, gram in powers]
        self.cross, self._rate = cross, rate
        self._inverse = Anchored(self, len(cross), ridge, rough=ROUGH, first=turn)
        self._anchor: Anchor | None = None  # whose coordinates the next two are in
        self._turned_cross = self._turned = cross  # b, and the features that were forecast last

    def sums(self) -> list[np.ndarray]:
        """`Λ` and any `Λ̃`."""
        return [each.now() for each in self._sums]

    def now(self) -> np.ndarray:
        return self._sums[0].now()

    def later(self) -> Work:
        works = [each.later() for each in self._sums]
        return lambda: [work() for work in works]

    def take(self, sums: list[np.ndarray]) -> None:
        for each, made in zip(self._sums, sums, strict=True):
            each.take(made)

    def follow(self, other: Memory) -> None:
        """Go on from a copy of another memory."""
        for own, matrix in zip(self._sums, other.sums(), strict=True):
            own.set(matrix)
        self.cross[:] = other.cross
        self._inverse.follow(other._inverse)

    def estimate(self, arms: np.ndarray) -> Pair:
        mapped = self._inverse.map(arms)
        others = arms if len(self._sums) == 1 else self._sums[1].times(mapped)
        return mapped.dot(self.cross), np.vecdot(mapped, others)

    def forecast(self, features: np.ndarray) -> tuple[float, float]:
        """The mean and the variance of a sample, with one product by a matrix `[d, d]`."""
        anchor = self._inverse.anchor()
        if anchor is not self._anchor:
            self._anchor, self._turned_cross = anchor, anchor.turned(self.cross)
        self._turned = anchor.turned(features)
        (solved,) = anchor.solve(self._turned[None])
        return solved.dot(self._turned_cross).item(), solved.dot(self._turned).item()

    def absorb(self, features: np.ndarray, reward: float) -> None:
        """Learn from the sample that was forecast last."""
        for each in self._sums:
            each.add(features)
        self.cross *= self._rate
        self.cross += reward * features
        self._turned_cross *= self._rate
        self._turned_cross += reward * self._turned
        if self._rate != 1:
            self._inverse.shrunk(self._rate)
        self._inverse.added(features, 1.0, self._turned)
        self._inverse.settle()
