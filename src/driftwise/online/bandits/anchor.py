"""A gram by its eigenvectors at an earlier moment, and all that has changed since then."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, mapped_or_nan
from driftwise.online.bandits.ahead import Eigen

ROOM = 2.0**996  # in the place of a square: a factor is there whatever lies beside it
BLOCK, FEW = 8, 2**14  # rows, and numbers up to which a product is not worth cutting into blocks


def product(rows: np.ndarray) -> np.ndarray:
    """`MMᵀ`."""
    return rows.dot(rows.T)


def lower_product(rows: np.ndarray) -> np.ndarray:
    """The lower half of `MMᵀ`, by blocks of rows: OpenBLAS takes a third more time for all of it at once."""
    if rows.size <= FEW:
        return product(rows)
    made = np.empty((len(rows), len(rows)))
    for start in range(0, len(rows), BLOCK):
        stop = start + BLOCK
        made[start:stop, :stop] = rows[start:stop].dot(rows[:stop].T)
    return made


class Factors(NamedTuple):
    """All that Woodbury's identity needs of an anchor as it is now, with `G = W^½ F`."""

    scaled: np.ndarray  # [n, d] F√D
    grown: np.ndarray  # [n, n] G D Gᵀ + Σ


class Anchor:
    r"""An inverse in coordinates in which the gram was diagonal at an earlier moment.

    With $\Lambda_0 = S + \lambda I$ at that moment and $S = Q\,\mathrm{diag}(s)\,Q^\top$, whatever has been
    forgotten and learnt since then leaves

    $$Q^\top\Lambda Q = D^{-1} + G^\top \Sigma G, \qquad D = \mathrm{diag}\frac{1}{cs + \lambda},$$

    with $c$ the weight that the anchor has kept, rows of $G$ the samples since then, turned into its
    coordinates and times the root of their weights, and signs $\Sigma$ (samples that leave a window have −1).
    The rest is Woodbury's identity. All of it is exact: a ridge that never shrinks, which no update of an
    inverse can follow, shifts eigenvalues and nothing else.

    Rounding costs the identity a relative error of about $\varepsilon R^2$, where
    $R = \mathrm{tr}\,G D G^\top$ says how much was learnt of directions that the anchor did not know. One
    step of refinement, $y + \Lambda^{-1}(x - \Lambda y)$, squares it, and is taken where $R$ is above
    `rough`.
    """

    def __init__(self, eigen: Eigen, ridge: float, rough: float, room: int) -> None:
        """An anchor with room for so many samples."""
        self.vectors, self._ridge, self._rough, self._kept = eigen.vectors, ridge, rough, 1.0
        self._spectrum = np.maximum(eigen.values - ridge, 0)  # s
        self._rows, self._num = np.empty((room + 2, len(eigen.values))), 0
        self._roots, self._signs = np.ones(room + 2), np.ones(room)  # W^½, Σ
        self._learnt = np.zeros(len(eigen.values))  # the diagonal of GᵀG
        self._scale: tuple[np.ndarray, np.ndarray] | None = None
        self._factors: Factors | None = None

    @property
    def growth(self) -> float:
        """`R`."""
        return self._scales()[0].dot(self._learnt).item()

    @property
    def samples(self) -> np.ndarray:
        """The samples since then, in the anchor's coordinates."""
        return self._rows[: self._num]

    def copy(self) -> Anchor:
        """An anchor that goes its own way from here."""
        made = copy.copy(self)
        made._rows, made._roots, made._signs, made._learnt = (
            each.copy() for each in (self._rows, self._roots, self._signs, self._learnt)
        )
        return made

    def turned(self, rows: np.ndarray) -> np.ndarray:
        """`Qᵀx`, of one vector or of each row."""
        return rows.dot(self.vectors)

    def shrink(self, rate: float) -> None:
        """The gram has become `ηΛ + (1−η)λI`."""
        self._kept *= rate
        self._roots[: self._num] *= rate**0.5
        self._learnt *= rate
        self._scale = self._factors = None

    def add(self, turned: np.ndarray, weights: np.ndarray | float, signs: np.ndarray | float) -> None:
        """Samples `[n, d]` have come or gone, in the anchor's coordinates."""
        new = slice(self._num, self._num + len(turned))
        self._rows[new], self._roots[new], self._signs[new] = turned, np.sqrt(weights), signs
        self._learnt += (turned * turned).T.dot(self._roots[new] ** 2)
        self._num += len(turned)
        self._factors = None

    def add_forecast(self) -> None:
        """The sample that was forecast last has come."""
        row = self._rows[self._num]
        self._learnt += row * row
        self._num += 1
        self._factors = None

    def samples_since(self, num: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights and signs of all samples but the first `num`."""
        return self._roots[num : self._num] ** 2, self._signs[num : self._num]

    def solve(self, turned: np.ndarray) -> np.ndarray:
        """`QᵀΛ⁻¹x` of each row `Qᵀx` `[N, d]`."""
        solved = self._approximate(turned)
        if self.growth > self._rough:
            solved += self._approximate(turned - self._times(solved))
        return solved

    def forecast(self, turned: np.ndarray, cross: np.ndarray) -> tuple[float, float]:
        r"""`xᵀΛ⁻¹b` and `xᵀΛ⁻¹x` of one `Qᵀx` and `Qᵀb`, where no sample has left.

        With $x$ as one more row of $G$, and with $b$ below it,

        $$\begin{pmatrix} GDG^\top + I & \\ x^\top DG^\top & x^\top Dx + 1 \\
          b^\top DG^\top & b^\top Dx & \cdot\end{pmatrix} = LL^\top$$

        has the Schur complements $1 + x^\top\Lambda^{-1}x$ and $b^\top\Lambda^{-1}x$ in the column of $x$.
        """
        num = self._num
        self._rows[num], self._rows[num + 1] = turned, cross
        if self.growth > self._rough:
            (solved,) = self.solve(turned[None])
            return solved.dot(cross).item(), solved.dot(turned).item()
        _, grown = self._with_rows(num + 2, lower_product)
        diagonal = grown.reshape(-1)[:: num + 3]
        diagonal += 1
        diagonal[-1] = ROOM
        factor = cholesky_or_nan(grown)
        pivot = factor.item(num, num)
        return factor.item(num + 1, num) * pivot, pivot * pivot - 1

    def _approximate(self, turned: np.ndarray) -> np.ndarray:
        """Woodbury's identity."""
        (_, half), (scaled, grown), roots = self._scales(), self._now(), self._roots[: self._num]
        solved = turned * half
        solved -= (mapped_or_nan(grown, solved.dot(scaled.T) * roots) * roots).dot(scaled)
        solved *= half
        return solved

    def _times(self, turned: np.ndarray) -> np.ndarray:
        """`QᵀΛQy` of each row."""
        rows, factors = self._rows[: self._num], self._signs[: self._num] * self._roots[: self._num] ** 2
        return turned / self._scales()[0] + (turned.dot(rows.T) * factors).dot(rows)

    def _now(self) -> Factors:
        if self._factors is None:
            num = self._num
            self._factors = self._with_rows(num, product)
            self._factors.grown.reshape(-1)[:: num + 1] += self._signs[:num]
        return self._factors

    def _with_rows(self, num: int, multiply: Callable[[np.ndarray], np.ndarray]) -> Factors:
        """`F√D` and `G D Gᵀ` of the first rows."""
        scaled, roots = self._rows[:num] * self._scales()[1], self._roots[:num]
        grown = multiply(scaled)
        grown *= roots[:, None] * roots
        return Factors(scaled, grown)

    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        """`D` and `√D`."""
        if self._scale is None:
            inverse = 1 / (self._kept * self._spectrum + self._ridge)
            self._scale = inverse, np.sqrt(inverse)
        return self._scale
