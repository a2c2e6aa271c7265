"""Regressions of many memories that learn from the same samples, for a decider."""

from __future__ import annotations

import operator
from typing import NamedTuple, Protocol

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, map_tree, mapped_or_nan, solution_or_nan

Pair = tuple[np.ndarray, np.ndarray]  # a tuple with names takes longer to be made
ROOT = 2.0**498
ROOM = ROOT * ROOT  # on the last two diagonals: a factor is there whatever lies beside them


class Sums(NamedTuple):
    """Sums of all memories, or of one."""

    gram: np.ndarray  # [J, d, d] Λ
    gram_sq: np.ndarray | None  # [J, d, d] Λ̃; None where nobody asks for it
    cross: np.ndarray  # [J, d] b


def estimate_of(sums: Sums, arms: np.ndarray) -> Pair:
    """The estimate of one memory."""
    gram, gram_sq, cross = sums
    mapped = mapped_or_nan(gram, arms)
    others = arms if gram_sq is None else mapped.dot(gram_sq)
    return mapped.dot(cross), np.vecdot(mapped, others)


def spread_of(sums: Sums, arms: np.ndarray) -> Pair:
    """The spread of one memory."""
    gram, gram_sq, cross = sums
    mapped = mapped_or_nan(gram, arms)
    return mapped.dot(cross), mapped.dot(cholesky_or_nan(gram if gram_sq is None else gram_sq))


def forecast_of(sums: Sums, features: np.ndarray, reward: float) -> Pair:
    """The forecast where a ridge is lost in rounding, and a matrix has no factor."""
    direction = solution_or_nan(sums.gram, features)
    return reward - np.vecdot(direction, sums.cross), direction.dot(features)


class Memories(Protocol):
    """Ridge regressions with exponential weights, each of a rate of its own.

    They are called where NumPy warns of nothing, as deciders are.
    """

    @property
    def sums(self) -> Sums:
        """The sums as they are now."""
        ...

    def gram(self, j: int) -> np.ndarray:
        """`Λ` of memory `j`."""
        ...

    def estimate(self, j: int, arms: np.ndarray) -> Pair:
        """Means `xᵀΛ⁻¹b` and squared norms, by `Λ⁻¹` or by `Λ⁻¹Λ̃Λ⁻¹`, of arms `[N, d]` in memory `j`."""
        ...

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        """Means, and rows `LᵀΛ⁻¹x` with `Λ̃ = LLᵀ` whose products with normal numbers are Thompson's draws."""
        ...

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        """Errors and variances `[J]` of a sample."""
        ...

    def absorb(self, leader: int) -> None:
        """Learn from the sample that was forecast last; the leader is the heaviest memory now."""
        ...

    def renew(self, source: int) -> None:
        """Let the last memory go on from a copy of another."""
        ...


class Together:
    r"""Memories of few dimensions, whose matrices are updated and factored at once.

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
        self._dim, self._ones, self._roots, size = dim, np.ones(num), np.full(num, ROOT), dim + 2
        self._all = np.zeros((*powers.shape, size, size))
        self._all[:, :, :dim, :dim] = [each for each in sums[:2] if each is not None]
        self._all[0, :, dim, :dim] = sums.cross
        self._all[:, :, [dim, dim + 1], [dim, dim + 1]] = ROOM
        self._grams, self._told = self._all[0], self._all[0, :, dim + 1, : dim + 1]
        self._sums = Sums(
            self._all[0, :, :dim, :dim],
            None if sums.gram_sq is None else self._all[1, :, :dim, :dim],
            self._all[0, :, dim, :dim],
        )
        self._each: list[Sums] = [map_tree(operator.itemgetter(j), self._sums) for j in range(num)]
        self._sample = sample = np.zeros(size)
        self._column, self._row = sample[:, None], sample[None]
        self._rates = np.ones_like(self._all)  # whole matrices are faster than numbers
        self._rates[:, :, : dim + 1, : dim + 1] = powers[:, :, None, None]
        self._rates[:, :, dim, dim] = 1
        self._outer, identity = new = np.zeros((2, size, size))  # φφᵀ and I
        identity[:dim, :dim] = np.eye(dim)
        self._new = new.reshape(2, -1)
        shares = np.stack([np.ones_like(powers), (1 - powers) * ridges], axis=-1)  # that all gain of both
        self._shares, self._gained = shares.reshape(-1, 2), np.empty_like(self._all)
        self._gained_rows = self._gained.reshape(-1, size * size)

    @property
    def sums(self) -> Sums:
        return self._sums

    def gram(self, j: int) -> np.ndarray:
        return self._each[j].gram

    def estimate(self, j: int, arms: np.ndarray) -> Pair:
        return estimate_of(self._each[j], arms)

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        return spread_of(self._each[j], arms)

    def forecast(self, features: np.ndarray, reward: float) -> Pair:
        dim, sample = self._dim, self._sample
        sample[:dim], sample[dim] = features, reward
        self._told[:] = sample[:-1]
        last = cholesky_or_nan(self._grams)[:, -1]
        turned = last[:, :dim]
        variance = np.vecdot(turned, turned)
        if self._ones.dot(variance) < np.inf:
            return self._roots * last[:, dim], variance
        return forecast_of(self._sums, features, reward)

    def absorb(self, leader: int) -> None:
        np.dot(self._column, self._row, self._outer)
        np.dot(self._shares, self._new, self._gained_rows)
        self._all *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
        self._all += self._gained

    def renew(self, source: int) -> None:
        self._all[:, -1] = self._all[:, source]
