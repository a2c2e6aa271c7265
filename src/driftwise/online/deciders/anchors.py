"""Anchors: a gram by its eigenvectors at an earlier moment, and all that has changed since then."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, solve_rows_or_nan

_LARGEST_SQUARE = 2.0**996  # in the place of a square: a factor exists whatever lies beside it
BLOCK, FEW_NUMBERS = 8, 2**14  # rows, and numbers up to which a product is not worth cutting into blocks


class Eigen(NamedTuple):
    """A symmetric matrix by its eigenvalues, NaN if it has none."""

    values: np.ndarray  # [d]
    vectors: np.ndarray  # [d, d], in columns


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
    `refine_above`.
    """

    def __init__(self, eigen: Eigen, ridge: float, refine_above: float, capacity: int) -> None:
        """Make an anchor for at most `capacity` samples."""
        self.vectors, self._ridge, self._refine_above, self._kept = eigen.vectors, ridge, refine_above, 1.0
        self._spectrum = np.maximum(eigen.values - ridge, 0)  # s
        self._rows, self._num = np.empty((capacity + 2, len(eigen.values))), 0
        self._roots, self._signs = np.ones(capacity + 2), np.ones(capacity)  # W^½, Σ
        self._squares = np.zeros(len(eigen.values))  # the diagonal of GᵀG
        self._scale: tuple[np.ndarray, np.ndarray] | None = None
        self._factors: tuple[np.ndarray, np.ndarray] | None = None  # F√D [n, d] and G D Gᵀ + Σ, G = W^½F

    @property
    def growth(self) -> float:
        """`R`."""
        return self._scales()[0].dot(self._squares).item()

    @property
    def samples(self) -> np.ndarray:
        """The samples since then, in the anchor's coordinates."""
        return self._rows[: self._num]

    def copy(self) -> Anchor:
        """Return an anchor of its own with the same content."""
        other = copy.copy(self)
        other._rows, other._roots, other._signs, other._squares = (
            array.copy() for array in (self._rows, self._roots, self._signs, self._squares)
        )
        return other

    def turn(self, rows: np.ndarray) -> np.ndarray:
        """Return `Qᵀx`, of one vector or of each row."""
        return rows.dot(self.vectors)

    def shrink(self, rate: float) -> None:
        """Follow the gram to `ηΛ + (1−η)λI`."""
        self._kept *= rate
        self._roots[: self._num] *= rate**0.5
        self._squares *= rate
        self._scale = self._factors = None

    def add(self, turned: np.ndarray, weights: np.ndarray | float, signs: np.ndarray | float) -> None:
        """Add samples `[n, d]` in the anchor's coordinates; those of sign −1 leave the gram."""
        new = slice(self._num, self._num + len(turned))
        self._rows[new], self._roots[new], self._signs[new] = turned, np.sqrt(weights), signs
        self._squares += (turned * turned).T.dot(self._roots[new] ** 2)
        self._num += len(turned)
        self._factors = None

    def add_forecast(self) -> None:
        """Add the sample that was forecast last."""
        row = self._rows[self._num]
        self._squares += row * row
        self._num += 1
        self._factors = None

    def add_from(self, other: Anchor, turned: np.ndarray) -> None:
        """Add the last samples `[n, d]` of another anchor, with their weights and signs there."""
        last = slice(other._num - len(turned), other._num)
        self.add(turned, other._roots[last] ** 2, other._signs[last])

    def solve(self, turned: np.ndarray) -> np.ndarray:
        """Return `QᵀΛ⁻¹x` of each row `Qᵀx` `[N, d]`."""
        solved = self._approximate(turned)
        if self.growth > self._refine_above:
            rows, factors = self._rows[: self._num], self._signs[: self._num] * self._roots[: self._num] ** 2
            product = solved / self._scales()[0] + (solved.dot(rows.T) * factors).dot(rows)  # QᵀΛQy
            solved += self._approximate(turned - product)
        return solved

    def forecast(self, turned: np.ndarray, cross: np.ndarray) -> tuple[float, float]:
        r"""Return `xᵀΛ⁻¹b` and `xᵀΛ⁻¹x` of one `Qᵀx` and `Qᵀb`, where no sample has left.

        With $x$ as one more row of $G$, and with $b$ below it,

        $$\begin{pmatrix} GDG^\top + I & \\ x^\top DG^\top & x^\top Dx + 1 \\
          b^\top DG^\top & b^\top Dx & \cdot\end{pmatrix} = LL^\top$$

        has the Schur complements $1 + x^\top\Lambda^{-1}x$ and $b^\top\Lambda^{-1}x$ in the column of $x$.
        """
        num = self._num
        self._rows[num], self._rows[num + 1] = turned, cross
        if self.growth > self._refine_above:
            (solved,) = self.solve(turned[None])
            return solved.dot(cross).item(), solved.dot(turned).item()
        inner = self._with_rows(num + 2, multiply_lower)[1]
        diagonal = inner.reshape(-1)[:: num + 3]
        diagonal += 1
        diagonal[-1] = _LARGEST_SQUARE
        factor = cholesky_or_nan(inner)
        pivot = factor.item(num, num)
        return factor.item(num + 1, num) * pivot, pivot * pivot - 1

    def _approximate(self, turned: np.ndarray) -> np.ndarray:
        """Return `QᵀΛ⁻¹x` of each row by Woodbury's identity."""
        num, half = self._num, self._scales()[1]
        if self._factors is None:
            self._factors = self._with_rows(num, lambda rows: rows.dot(rows.T))
            self._factors[1].reshape(-1)[:: num + 1] += self._signs[:num]
        (scaled, inner), roots = self._factors, self._roots[:num]
        solved = turned * half
        solved -= (solve_rows_or_nan(inner, solved.dot(scaled.T) * roots) * roots).dot(scaled)
        solved *= half
        return solved

    def _with_rows(
        self, num: int, multiply: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `F√D` and `G D Gᵀ` of the first rows."""
        scaled, roots = self._rows[:num] * self._scales()[1], self._roots[:num]
        inner = multiply(scaled)
        inner *= roots[:, None] * roots
        return scaled, inner

    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Return `D` and `√D`."""
        if self._scale is None:
            inverse = 1 / (self._kept * self._spectrum + self._ridge)
            self._scale = inverse, np.sqrt(inverse)
        return self._scale


def multiply_lower(rows: np.ndarray) -> np.ndarray:
    """Return the lower half of `MMᵀ`, by blocks of rows: OpenBLAS takes a third longer for the whole."""
    if rows.size <= FEW_NUMBERS:
        return rows.dot(rows.T)
    product = np.empty((len(rows), len(rows)))
    for start in range(0, len(rows), BLOCK):
        stop = start + BLOCK
        product[start:stop, :stop] = rows[start:stop].dot(rows[:stop].T)
    return product
