"""A gram by its eigenvectors at an earlier moment, and all that has changed since then."""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np

from driftwise.base.arrays import mapped_or_nan
from driftwise.online.bandits.ahead import Eigen


class Factors(NamedTuple):
    """All that Woodbury's identity needs of an anchor as it is now, with `G = W^½ F`."""

    half: np.ndarray  # [d] √D
    scaled: np.ndarray  # [n, d] F√D
    roots: np.ndarray  # [n] W^½
    grown: np.ndarray  # [n, n] G D Gᵀ + Σ
    growth: float  # R = tr G D Gᵀ


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
        self._rows, self._num = np.empty((room, len(eigen.values))), 0
        self._weights, self._signs = np.empty(room), np.empty(room)
        self._factors: Factors | None = None

    @property
    def growth(self) -> float:
        """`R`."""
        return self._now().growth

    def copy(self) -> Anchor:
        """An anchor that goes its own way from here."""
        made = copy.copy(self)
        made._rows, made._weights, made._signs = (
            each.copy() for each in (self._rows, self._weights, self._signs)
        )
        return made

    def turned(self, rows: np.ndarray) -> np.ndarray:
        """`Qᵀx`, of one vector or of each row."""
        return rows.dot(self.vectors)

    def shrink(self, rate: float) -> None:
        """The gram has become `ηΛ + (1−η)λI`."""
        self._kept *= rate
        self._weights[: self._num] *= rate
        self._factors = None

    def add(self, turned: np.ndarray, weights: np.ndarray | float, signs: np.ndarray | float) -> None:
        """Samples `[n, d]` have come or gone, in the anchor's coordinates."""
        new = slice(self._num, self._num + len(turned))
        self._rows[new], self._weights[new], self._signs[new] = turned, weights, signs
        self._num += len(turned)
        self._factors = None

    def samples_since(self, num: int) -> tuple[np.ndarray, np.ndarray]:
        """Weights and signs of all samples but the first `num`."""
        return self._weights[num : self._num], self._signs[num : self._num]

    def solve(self, turned: np.ndarray) -> np.ndarray:
        """`QᵀΛ⁻¹x` of each row `Qᵀx` `[N, d]`."""
        solved = self._approximate(turned)
        if self.growth > self._rough:
            solved += self._approximate(turned - self._times(solved))
        return solved

    def _approximate(self, turned: np.ndarray) -> np.ndarray:
        """Woodbury's identity."""
        half, scaled, roots, grown, _ = self._now()
        solved = turned * half
        solved -= (mapped_or_nan(grown, solved.dot(scaled.T) * roots) * roots).dot(scaled)
        solved *= half
        return solved

    def _times(self, turned: np.ndarray) -> np.ndarray:
        """`QᵀΛQy` of each row."""
        rows, factors = self._rows[: self._num], self._signs[: self._num] * self._weights[: self._num]
        return turned / self._now().half ** 2 + (turned.dot(rows.T) * factors).dot(rows)

    def _now(self) -> Factors:
        if self._factors is None:
            num = self._num
            half = 1 / np.sqrt(self._kept * self._spectrum + self._ridge)
            scaled, roots = self._rows[:num] * half, np.sqrt(self._weights[:num])
            grown = scaled.dot(scaled.T)
            grown *= roots[:, None] * roots
            growth = grown.trace().item()
            grown.reshape(-1)[:: num + 1] += self._signs[:num]
            self._factors = Factors(half, scaled, roots, grown, growth)
        return self._factors
