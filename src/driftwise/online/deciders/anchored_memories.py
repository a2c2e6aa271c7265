"""Memories of a mixture in many dimensions, each with its inverse from an anchor."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from driftwise.online.deciders.anchors import ROUGH, Anchor, AnchoredInverse, RecentSamples, factorise
from driftwise.online.deciders.definition import Pair
from driftwise.online.deciders.memories import Sums, Width

Arrays = Sequence[np.ndarray]


class DelayedSum:
    r"""The matrix $M \leftarrow \eta M + \phi\phi^\top + (1-\eta)\lambda I$, updated many samples at a time:

    $$M_{t+n} = \eta^nM_t + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F + (1-\eta^n)\lambda I,$$

    by any thread: arrays are replaced, never written to. Reading changes nothing.
    """

    def __init__(self, matrix: np.ndarray, rate: float, ridge: float, recent: RecentSamples) -> None:
        self._rate, self._ridge, self._recent = rate, ridge, recent
        self.matrix, self.since = matrix, recent.num  # the first sample that is not in it yet

    def snapshot(self) -> Callable[[], np.ndarray]:
        """Return the function that computes `M` of this moment, in any thread."""
        matrix, ridge, (kept, weights) = self.matrix, self._ridge, self._weights()
        rows = self.waiting * np.sqrt(weights)[:, None]

        def compute() -> np.ndarray:
            total = rows.T.dot(rows)
            total += kept * matrix
            total.reshape(-1)[:: len(total) + 1] += (1 - kept) * ridge
            return total

        return compute

    @property
    def waiting(self) -> np.ndarray:
        """Samples that are not in the matrix yet."""
        return self._recent.since(self.since)

    def squares(self, rows: np.ndarray, matrix: np.ndarray, waiting: np.ndarray) -> np.ndarray:
        """Return `yᵀMy` of each row, with the matrix and the waiting samples in the rows' coordinates."""
        kept, weights = self._weights()
        squares = kept * np.vecdot(rows.dot(matrix), rows)
        squares += (rows.dot(waiting.T) ** 2).dot(weights)
        squares += (1 - kept) * self._ridge * np.vecdot(rows, rows)
        return squares

    def _weights(self) -> tuple[float, np.ndarray]:
        """Return what is kept of the matrix, and the weights of the samples that wait."""
        num = len(self.waiting)
        return self._rate**num, self._rate ** np.arange(num - 1, -1, -1.0)


class AnchoredMemories:
    r"""Memories that each have their inverse from an anchor, with a relative error below $10^{-8}$.

    Anchors are replaced in turns. The thread that computes one brings the sums up to date for it. Of a memory
    that has led of late it also turns $\tilde\Lambda$ into the anchor's coordinates. Eigenvectors lie side by
    side, so that one product turns a sample into the coordinates of all.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        num, dim = sums.cross.shape
        self._rates, self._recent = rates[:, None], RecentSamples(dim)
        self._cross = sums.cross.copy()
        self._turned_cross, self._turned = np.empty((2, num, dim))  # b and φ, in coordinates of the anchors
        self._vectors = np.empty((dim, num * dim))
        columns, self.memories = np.split(self._vectors, num, axis=1), list[AnchoredMemory]()
        for j, views in enumerate(zip(self._cross, self._turned_cross, columns, strict=True)):
            grams = [matrices[j] for matrices in sums[:2] if matrices is not None]
            numbers = rates.item(j), ridges.item(j), (j + 1) / num
            self.memories.append(AnchoredMemory(self._recent, grams, views, *numbers))

    @property
    def sums(self) -> Sums:
        gram, *squared = map(np.stack, zip(*(memory.sums() for memory in self.memories), strict=True))
        return Sums(gram, squared[0] if squared else None, self._cross)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        self._sample = features, reward
        anchors = [memory.anchor() for memory in self.memories]
        np.dot(features, self._vectors, self._turned.reshape(-1))
        samples = zip(anchors, self._turned, self._turned_cross, strict=True)
        means, variances = np.array([anchor.forecast(*turned) for anchor, *turned in samples]).T
        return reward - means, variances

    def absorb(self, leader: int, excess: float) -> None:
        features, reward = self._sample
        reward += excess
        self._recent.add(features)
        for cross, new in ((self._cross, features), (self._turned_cross, self._turned)):
            cross *= self._rates
            cross += reward * new
        for j, memory in enumerate(self.memories):
            memory.absorb(j == leader)

    def renew(self, source: int) -> None:
        self.memories[-1].follow(self.memories[source])


class AnchoredMemory:
    """A regression of one rate, with its anchored inverse; `estimate` and `spread` are as in `Sums`."""

    def __init__(
        self, recent: RecentSamples, grams: Arrays, views: Arrays, rate: float, ridge: float, first: float
    ) -> None:
        """Make it from `Λ` and any `Λ̃`, and from views of `b`, of `Qᵀb` and of the eigenvectors `Q`."""
        self._sums = [DelayedSum(gram, rate**power, ridge, recent) for power, gram in enumerate(grams, 1)]
        (self._cross, self._turned_cross, self._vectors), self._rate = views, rate
        self._recent, self._anchor = recent, None  # the anchor whose eigenvectors are in the view
        self._led, self._turned = False, None  # since the last anchor was begun; QᵀΛ̃Q for those that did
        self._inverse = AnchoredInverse(self._snapshot, recent, ridge, self._install, ROUGH, first)

    def sums(self) -> list[np.ndarray]:
        """Return `Λ` and any `Λ̃`."""
        return [matrix.snapshot()() for matrix in self._sums]

    @property
    def gram(self) -> np.ndarray:
        """`Λ`."""
        return self._sums[0].snapshot()()

    def follow(self, other: Self) -> None:
        """Go on from a copy of another memory."""
        self._install(other.sums(), None, self._recent.num)
        self._cross[:] = other._cross
        self._inverse.follow(other._inverse)

    def anchor(self) -> Anchor:
        """Return the current anchor; `b` is then in its coordinates."""
        anchor = self._inverse.anchor()
        if anchor is not self._anchor:
            self._anchor, self._vectors[:] = anchor, anchor.vectors
            np.dot(self._cross, anchor.vectors, self._turned_cross)
        return anchor

    def estimate(self, arms: np.ndarray, width: Width) -> Pair:
        if width.waiting is not None:
            return self._matrices().estimate(arms, width)
        anchor = self.anchor()
        features = arms.dot(anchor.vectors)
        solved = anchor.solve(features)
        mean = solved.dot(self._turned_cross)
        if len(self._sums) == 1:
            squares = np.vecdot(solved, features)
            if width.variance > 0:
                (weights,) = anchor.solve(self._turned_cross[None])
                squares += width.excess(weights, anchor.trace) * np.vecdot(solved, solved)
            return mean, squares
        squared = self._sums[1]
        if self._turned is None:
            return mean, squared.squares(solved.dot(anchor.vectors.T), squared.matrix, squared.waiting)
        return mean, squared.squares(solved, self._turned, anchor.samples)

    def spread(self, arms: np.ndarray, width: Width) -> Pair:
        return self._matrices().spread(arms, width)

    def _matrices(self) -> Sums:
        """Return the sums with whole matrices."""
        gram, *squared = self.sums()
        return Sums(gram, squared[0] if squared else None, self._cross)

    def absorb(self, leads: bool) -> None:
        """Learn the sample that was forecast last."""
        self._led |= leads
        if self._rate != 1:
            self._inverse.shrink(self._rate)
        self._inverse.anchor().add_forecast()
        self._inverse.settle()

    def _snapshot(self) -> Callable[[], Any]:
        works, turn = [matrix.snapshot() for matrix in self._sums], self._led and len(self._sums) > 1
        self._led = False
        return lambda: factorise([work() for work in works], turn=turn)

    def _install(self, sums: Arrays, turned: np.ndarray | None, number: int) -> None:
        """Go on from sums that have samples up to that number, and any `QᵀΛ̃Q`."""
        for old, new in zip(self._sums, sums, strict=True):
            old.matrix, old.since = new, number
        self._turned = turned
