"""Memories of many dimensions, each with an anchor of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.base.arrays import cholesky_or_nan
from driftwise.online.bandits.ahead import Made, Work, made_of
from driftwise.online.bandits.anchor import Anchor
from driftwise.online.bandits.anchored import Anchored, room
from driftwise.online.bandits.fading import Fading
from driftwise.online.bandits.memories import Pair, Sums
from driftwise.online.bandits.recent import Recent

ROUGH = 5000.0  # growth up to which no refinement is needed for eight digits, enough to weigh memories


class Apart:
    r"""Memories that each have their inverse from an anchor, with a relative error below $10^{-8}$.

    Anchors are set in turns. The thread that makes one brings the sums up to date for it. Of a memory that
    has led of late it also turns $\tilde\Lambda$ into the anchor's coordinates: an estimate then stays in
    these. Eigenvectors lie side by side, so that one product turns a sample into the coordinates of all.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        num, dim = sums.cross.shape
        self._rates, self._recent = rates[:, None], Recent(room(dim), dim)
        self._cross = sums.cross.copy()
        self._turned_cross, self._turned = np.empty((2, num, dim))  # b and φ, in coordinates of the anchors
        self._vectors = np.empty((dim, num * dim))
        places = np.split(self._vectors, num, axis=1)
        turns = np.arange(1, num + 1) / num
        self._memories = [
            Memory(
                [each[j] for each in sums[:2] if each is not None],
                (self._cross[j], self._turned_cross[j], places[j]),
                rates.item(j),
                ridges.item(j),
                self._recent,
                turns.item(j),
            )
            for j in range(num)
        ]

    @property
    def sums(self) -> Sums:
        gram, *squared = (
            np.stack(each) for each in zip(*(memory.sums() for memory in self._memories), strict=True)
        )
        return Sums(gram, squared[0] if squared else None, self._cross)

    def gram(self, j: int) -> np.ndarray:
        return self._memories[j].now()

    def estimate(self, j: int, arms: np.ndarray) -> Pair:
        return self._memories[j].estimate(arms)

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        return self._memories[j].spread(arms)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        self._sample = features, reward
        anchors = [memory.anchor() for memory in self._memories]
        np.dot(features, self._vectors, self._turned.reshape(-1))
        samples = zip(anchors, self._turned, self._turned_cross, strict=True)
        means, variances = np.array([anchor.forecast(*turned) for anchor, *turned in samples]).T
        return reward - means, variances

    def absorb(self, leader: int) -> None:
        features, reward = self._sample
        self._recent.add(features)
        for cross, new in ((self._cross, features), (self._turned_cross, self._turned)):
            cross *= self._rates
            cross += reward * new
        for j, memory in enumerate(self._memories):
            memory.absorb(j == leader)

    def renew(self, source: int) -> None:
        self._memories[-1].follow(self._memories[source])


class Memory:
    """A regression of one rate, and the gram of its own inverse."""

    def __init__(
        self,
        grams: Sequence[np.ndarray],
        places: Sequence[np.ndarray],
        rate: float,
        ridge: float,
        recent: Recent,
        turn: float,
    ) -> None:
        """A regression from `Λ` and any `Λ̃`, and from places of `b`, of `Qᵀb` and of the eigenvectors `Q`."""
        self._sums = [Fading(gram, rate**power, ridge, recent) for power, gram in enumerate(grams, start=1)]
        (self._cross, self._turned_cross, self._vectors), self._rate = places, rate
        self._recent, self._anchor = recent, None  # whose eigenvectors are in their place
        self._led, self._turned = False, None  # since the last anchor was begun; QᵀΛ̃Q for those that did
        self._inverse = Anchored(self, recent, ridge, rough=ROUGH, first=turn)
        self._inverse.reset()

    def sums(self) -> list[np.ndarray]:
        """`Λ` and any `Λ̃`."""
        return [each.now() for each in self._sums]

    def now(self) -> np.ndarray:
        return self._sums[0].now()

    def later(self) -> Work:
        works, turn = [each.later() for each in self._sums], self._led and len(self._sums) > 1
        self._led = False
        return lambda: made_of([work() for work in works], turn=turn)

    def take(self, made: Made, number: int) -> None:
        self._go_on(made.sums, number, made.turned)

    def follow(self, other: Memory) -> None:
        """Go on from a copy of another memory."""
        self._go_on(other.sums(), self._recent.num, None)
        self._cross[:] = other._cross
        self._inverse.follow(other._inverse)

    def anchor(self) -> Anchor:
        """The anchor to take now, and `b` in its coordinates."""
        anchor = self._inverse.anchor()
        if anchor is not self._anchor:
            self._anchor, self._vectors[:] = anchor, anchor.vectors
            np.dot(self._cross, anchor.vectors, self._turned_cross)
        return anchor

    def estimate(self, arms: np.ndarray) -> Pair:
        anchor = self.anchor()
        features = anchor.turned(arms)
        solved = anchor.solve(features)
        mean = solved.dot(self._turned_cross)
        if len(self._sums) == 1:
            return mean, np.vecdot(solved, features)
        squared = self._sums[1]
        if self._turned is None:
            return mean, squared.squares(solved.dot(anchor.vectors.T), squared.matrix, squared.waiting)
        return mean, squared.squares(solved, self._turned, anchor.samples)

    def spread(self, arms: np.ndarray) -> Pair:
        anchor = self.anchor()
        mapped = anchor.solve(anchor.turned(arms)).dot(anchor.vectors.T)
        return mapped.dot(self._cross), mapped.dot(cholesky_or_nan(self._sums[-1].now()))

    def absorb(self, leads: bool) -> None:
        """Learn from the sample that was forecast last."""
        self._led |= leads
        if self._rate != 1:
            self._inverse.shrunk(self._rate)
        self._inverse.added_forecast()
        self._inverse.settle()

    def _go_on(self, sums: Sequence[np.ndarray], number: int, turned: np.ndarray | None) -> None:
        """Go on from sums that have samples up to that number, and any `QᵀΛ̃Q`."""
        for each, made in zip(self._sums, sums, strict=True):
            each.take(made, number)
        self._turned = turned
