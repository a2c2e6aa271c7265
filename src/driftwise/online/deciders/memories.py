"""Memories of a mixture, which all learn the same samples: batched, or anchored in many dimensions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, map_tree, solve_or_nan, solve_rows_or_nan
from driftwise.online.deciders.anchored_inverse import (
    ROUGH,
    AnchoredInverse,
    RecentSamples,
    SnapshotWork,
    factorise,
)
from driftwise.online.deciders.anchors import Anchor
from driftwise.online.deciders.definition import Pair

_ROOT = 2.0**498
_LARGEST_SQUARE = _ROOT * _ROOT  # on the last two diagonals: a factor exists whatever lies beside them


class Sums(NamedTuple):
    """Sums of the regression of one memory, or of all memories of a mixture: `[J, ...]`."""

    gram: np.ndarray  # [d, d] Λ
    gram_sq: np.ndarray | None  # [d, d] Λ̃; None where it is not used
    cross: np.ndarray  # [d] b

    def estimate(self, arms: np.ndarray) -> Pair:
        """Return means `xᵀΛ⁻¹b` of arms in one memory, and squared norms by `Λ⁻¹` or by `Λ⁻¹Λ̃Λ⁻¹`."""
        gram, gram_sq, cross = self
        mapped = solve_rows_or_nan(gram, arms)
        others = arms if gram_sq is None else mapped.dot(gram_sq)
        return mapped.dot(cross), np.vecdot(mapped, others)

    def spread(self, arms: np.ndarray) -> Pair:
        """Return means of arms in one memory, and rows `LᵀΛ⁻¹x` with `Λ̃ = LLᵀ`: Thompson's draws."""
        gram, gram_sq, cross = self
        mapped = solve_rows_or_nan(gram, arms)
        return mapped.dot(cross), mapped.dot(cholesky_or_nan(gram if gram_sq is None else gram_sq))

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        """Return the errors and variances of all memories, also where a matrix has no factor."""
        direction = solve_or_nan(self.gram, features)
        return reward - np.vecdot(direction, self.cross), direction.dot(features)


class BatchedMemories:
    r"""Ridge regressions with exponential weights, whose matrices are updated and factored at once.

    A memory's $\Lambda$ has two rows more: below it lie $b$ and the sample that is forecast, its features
    $\phi$ and its reward $r$,

    $$\begin{pmatrix} \Lambda & & \\ b^\top & \rho & \\ \phi^\top & r & \cdot\end{pmatrix}
      = L L^\top \quad\Rightarrow\quad
      L = \begin{pmatrix} L_\Lambda & & \\ b^\top L_\Lambda^{-\top} & \sqrt\rho & \\
      \phi^\top L_\Lambda^{-\top} & e/\sqrt\rho & \cdot\end{pmatrix}$$

    for a $\rho$ so large that the rest is lost in rounding: the last row of one factorisation has the error
    $e = r - \phi^\top\Lambda^{-1}b$, and $\phi^\top\Lambda^{-1}\phi$ as the square of a length.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        dim, num = sums.cross.shape[-1], len(rates)
        powers = rates[None] if sums.gram_sq is None else np.stack([rates, rates * rates])
        self._dim, self._ones, self._roots, size = dim, np.ones(num), np.full(num, _ROOT), dim + 2
        self._all = np.zeros((*powers.shape, size, size))
        self._all[:, :, :dim, :dim] = [grams for grams in sums[:2] if grams is not None]
        self._all[0, :, dim, :dim] = sums.cross
        self._all[:, :, [dim, dim + 1], [dim, dim + 1]] = _LARGEST_SQUARE
        self._grams, self._sample_rows = self._all[0], self._all[0, :, dim + 1, : dim + 1]
        self.sums = Sums(
            self._all[0, :, :dim, :dim],
            None if sums.gram_sq is None else self._all[1, :, :dim, :dim],
            self._all[0, :, dim, :dim],
        )
        self.memories: list[Sums] = [map_tree(operator.itemgetter(j), self.sums) for j in range(num)]
        self._sample = sample = np.zeros(size)
        self._column, self._row = sample[:, None], sample[None]
        self._rates = np.ones_like(self._all)  # whole matrices are faster than numbers
        self._rates[:, :, : dim + 1, : dim + 1] = powers[:, :, None, None]
        self._rates[:, :, dim, dim] = 1
        self._outer, identity = new = np.zeros((2, size, size))  # φφᵀ and I
        identity[:dim, :dim] = np.eye(dim)
        self._new = new.reshape(2, -1)
        shares = np.stack([np.ones_like(powers), (1 - powers) * ridges], axis=-1)  # of both, in every sum
        self._shares, self._gained = shares.reshape(-1, 2), np.empty_like(self._all)
        self._gained_rows = self._gained.reshape(-1, size * size)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        """Return errors and variances `[J]` of a sample."""
        dim, sample = self._dim, self._sample
        sample[:dim], sample[dim] = features, reward
        self._sample_rows[:] = sample[:-1]
        last = cholesky_or_nan(self._grams)[:, -1]
        turned = last[:, :dim]
        variance = np.vecdot(turned, turned)
        if self._ones.dot(variance) < np.inf:
            return self._roots * last[:, dim], variance
        return self.sums.forecast(features, reward)

    def absorb(self, leader: int) -> None:
        """Learn the sample that was forecast last; the leader is the heaviest memory now."""
        np.dot(self._column, self._row, self._outer)
        np.dot(self._shares, self._new, self._gained_rows)
        self._all *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
        self._all += self._gained

    def renew(self, source: int) -> None:
        """Replace the last memory by a copy of another."""
        self._all[:, -1] = self._all[:, source]


class DelayedSum:
    r"""The matrix $M \leftarrow \eta M + \phi\phi^\top + (1-\eta)\lambda I$, updated many samples at a time.

    All samples since the last update are added at once, as one product of matrices,

    $$M_{t+n} = \eta^nM_t + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F + (1-\eta^n)\lambda I,$$

    by any thread: arrays are replaced, never written to. Reading changes nothing.
    """

    def __init__(self, matrix: np.ndarray, rate: float, ridge: float, recent: RecentSamples) -> None:
        self._rate, self._ridge, self._recent = rate, ridge, recent
        self.matrix, self._since = matrix, recent.num  # the first sample that is not in it yet

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

    def commit(self, matrix: np.ndarray, number: int) -> None:
        """Install a finished snapshot, which has the samples up to that number."""
        self.matrix, self._since = matrix, number

    @property
    def waiting(self) -> np.ndarray:
        """Samples that are not in the matrix yet."""
        return self._recent.since(self._since)

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
    that has led of late it also turns $\tilde\Lambda$ into the anchor's coordinates: an estimate then stays
    in these. Eigenvectors lie side by side, so that one product turns a sample into the coordinates of all.
    The methods are those of `BatchedMemories`.
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
            numbers = rates.item(j), ridges.item(j), self._recent, (j + 1) / num
            self.memories.append(AnchoredMemory(grams, views, *numbers))

    @property
    def sums(self) -> Sums:
        gram, *squared = (
            np.stack(matrices) for matrices in zip(*(memory.sums() for memory in self.memories), strict=True)
        )
        return Sums(gram, squared[0] if squared else None, self._cross)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        self._sample = features, reward
        anchors = [memory.anchor() for memory in self.memories]
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
        for j, memory in enumerate(self.memories):
            memory.absorb(j == leader)

    def renew(self, source: int) -> None:
        self.memories[-1].follow(self.memories[source])


class AnchoredMemory:
    """A regression of one rate, with its anchored inverse; `estimate` and `spread` are as in `Sums`."""

    def __init__(
        self,
        grams: Sequence[np.ndarray],
        views: Sequence[np.ndarray],
        rate: float,
        ridge: float,
        recent: RecentSamples,
        first: float,
    ) -> None:
        """Make it from `Λ` and any `Λ̃`, and from views of `b`, of `Qᵀb` and of the eigenvectors `Q`."""
        self._sums = [DelayedSum(gram, rate**power, ridge, recent) for power, gram in enumerate(grams, 1)]
        (self._cross, self._turned_cross, self._vectors), self._rate = views, rate
        self._recent, self._anchor = recent, None  # the anchor whose eigenvectors are in the view
        self._led, self._turned = False, None  # since the last anchor was begun; QᵀΛ̃Q for those that did
        self._inverse = AnchoredInverse(self._snapshot, recent, ridge, self._install, ROUGH, first)
        self._inverse.reset()

    def sums(self) -> list[np.ndarray]:
        """Return `Λ` and any `Λ̃`."""
        return [matrix.snapshot()() for matrix in self._sums]

    @property
    def gram(self) -> np.ndarray:
        """`Λ`."""
        return self._sums[0].snapshot()()

    def follow(self, other: AnchoredMemory) -> None:
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

    def estimate(self, arms: np.ndarray) -> Pair:
        anchor = self.anchor()
        features = anchor.turn(arms)
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
        mapped = anchor.solve(anchor.turn(arms)).dot(anchor.vectors.T)
        return mapped.dot(self._cross), mapped.dot(cholesky_or_nan(self._sums[-1].snapshot()()))

    def absorb(self, leads: bool) -> None:
        """Learn the sample that was forecast last."""
        self._led |= leads
        if self._rate != 1:
            self._inverse.shrink(self._rate)
        self._inverse.add_forecast()
        self._inverse.settle()

    def _snapshot(self) -> SnapshotWork:
        works, turn = [matrix.snapshot() for matrix in self._sums], self._led and len(self._sums) > 1
        self._led = False
        return lambda: factorise([work() for work in works], turn=turn)

    def _install(self, sums: Sequence[np.ndarray], turned: np.ndarray | None, number: int) -> None:
        """Go on from sums that have samples up to that number, and any `QᵀΛ̃Q`."""
        for old, new in zip(self._sums, sums, strict=True):
            old.commit(new, number)
        self._turned = turned
