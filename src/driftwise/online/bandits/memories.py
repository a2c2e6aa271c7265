"""Regressions of many memories that learn from the same samples, for a decider."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, mapped_or_nan, solution_or_nan
from driftwise.base.types import Forecast

ROOM = 1e300  # on the last two diagonals: a factor is there whatever lies beside them


class Sums(NamedTuple):
    """Sums of all memories."""

    gram: np.ndarray  # [J, d, d] Λ
    gram_sq: np.ndarray | None  # [J, d, d] Λ̃; None where nobody asks for it
    cross: np.ndarray  # [J, d] b


class Estimates(NamedTuple):
    """Arms as one memory sees them."""

    means: np.ndarray  # [N] xᵀΛ⁻¹b
    squares: np.ndarray  # [N] of the norms of x, by Λ⁻¹ or by Λ⁻¹Λ̃Λ⁻¹


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

    def estimate(self, j: int, arms: np.ndarray) -> Estimates:
        """The arms `[N, d]` as memory `j` sees them."""
        ...

    def forecast(self, features: np.ndarray, reward: float) -> Forecast:
        """Errors and variances `[J]` of a sample."""
        ...

    def absorb(self, features: np.ndarray, reward: float) -> None:
        """Learn from the sample that was forecast last."""
        ...

    def renew(self, source: int) -> None:
        """Let the last memory go on from a copy of another."""
        ...


class Together:
    r"""Memories of few dimensions, whose matrices are updated and factored at once.

    A memory's $\Lambda$ has two rows more: below it lie $b$ and the features that are forecast,

    $$\begin{pmatrix} \Lambda & & \\ b^\top & \cdot & \\ \phi^\top & \cdot & \cdot\end{pmatrix}
      = L L^\top \quad\Rightarrow\quad
      L = \begin{pmatrix} L_\Lambda & & \\ b^\top L_\Lambda^{-\top} & \cdot & \\
      \phi^\top L_\Lambda^{-\top} & \cdot & \cdot\end{pmatrix},$$

    so that one factorisation has all that $\phi^\top\Lambda^{-1}b$ and $\phi^\top\Lambda^{-1}\phi$ ask for.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, sums: Sums) -> None:
        dim = sums.cross.shape[-1]
        self._dim, self._sample = dim, np.zeros(dim + 2)
        powers = rates[None] if sums.gram_sq is None else np.stack([rates, rates * rates])
        self._rates = np.ones((*powers.shape, dim + 2, dim + 2))  # whole matrices are faster than numbers
        self._rates[:, :, : dim + 1, : dim + 1] = powers[:, :, None, None]
        self._rates[:, :, dim, dim] = 1
        self._refills = np.zeros_like(self._rates)
        places = np.arange(dim)
        self._refills[:, :, places, places] = ((1 - powers) * ridges)[:, :, None]
        self._all = np.zeros_like(self._rates)
        self._all[:, :, :dim, :dim] = [each for each in sums[:2] if each is not None]
        self._all[0, :, dim, :dim] = sums.cross
        self._all[:, :, [dim, dim + 1], [dim, dim + 1]] = ROOM
        self._told, self._ones = self._all[0, :, dim + 1, :dim], np.ones(len(rates))

    @property
    def sums(self) -> Sums:
        dim = self._dim
        gram_sq = self._all[1, :, :dim, :dim] if len(self._all) == 2 else None
        return Sums(self._all[0, :, :dim, :dim], gram_sq, self._all[0, :, dim, :dim])

    def gram(self, j: int) -> np.ndarray:
        return self._all[0, j, : self._dim, : self._dim]

    def estimate(self, j: int, arms: np.ndarray) -> Estimates:
        dim = self._dim
        mapped = mapped_or_nan(self.gram(j), arms)
        others = arms if len(self._all) == 1 else mapped.dot(self._all[1, j, :dim, :dim])
        return Estimates(mapped.dot(self._all[0, j, dim, :dim]), np.vecdot(mapped, others))

    def forecast(self, features: np.ndarray, reward: float) -> Forecast:
        dim = self._dim
        self._told[:] = features
        turned = cholesky_or_nan(self._all[0])[:, dim:, :dim]  # b and φ
        found = np.vecdot(turned, turned[:, 1:])
        if self._ones.dot(found[:, 1]) < np.inf:
            return Forecast(reward - found[:, 0], found[:, 1])
        gram, _, cross = self.sums  # a ridge is lost in rounding, and a matrix has no factor
        direction = solution_or_nan(gram, features)
        return Forecast(reward - np.vecdot(direction, cross), direction.dot(features))

    def absorb(self, features: np.ndarray, reward: float) -> None:
        sample = self._sample
        sample[:-2], sample[-2] = features, reward
        self._all *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
        self._all += self._refills
        self._all += sample[:, None] * sample

    def renew(self, source: int) -> None:
        self._all[:, -1] = self._all[:, source]
