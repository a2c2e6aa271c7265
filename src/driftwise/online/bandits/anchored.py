"""Inverses of the gram: anew for every decision, or from an anchor for many dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, repeat
from typing import Protocol

import numpy as np

from driftwise.base.arrays import mapped_or_nan

LARGE = 150  # dimensions from which on an anchor is faster
SHORTEST, LONGEST = 64, 128  # changes of the gram before the anchor is set anew, by its dimension
STRETCH = 1e5  # growth of the gram, as the anchor measures it, before that
ROUGH = 200.0  # growth up to which no refinement is needed for eleven digits

Gram = Callable[[], np.ndarray]  # Λ as it is now


class Inverse(Protocol):
    """`Λ⁻¹` of a gram `[d, d]`; it is told of every change before it is asked again."""

    def map(self, arms: np.ndarray) -> np.ndarray:
        """`Λ⁻¹x` of every arm `[num_arms, d]`, NaN where there is none."""
        ...

    def reset(self) -> None:
        """The gram has become another one."""
        ...

    def shrunk(self, rate: float) -> None:
        """The gram has become `ηΛ + (1−η)λI`."""
        ...

    def added(self, features: np.ndarray, sign: float) -> None:
        """The gram has become `Λ ± φφᵀ`."""
        ...


class Fresh:
    """The inverse, anew for every decision."""

    def __init__(self, gram: Gram) -> None:
        self._gram = gram

    def map(self, arms: np.ndarray) -> np.ndarray:
        return mapped_or_nan(self._gram(), arms)

    def reset(self) -> None:
        pass

    def shrunk(self, rate: float) -> None:
        pass

    def added(self, features: np.ndarray, sign: float) -> None:
        pass


class Anchored:
    r"""The inverse from the eigenvectors of the gram at an earlier moment, its anchor.

    With $\Lambda_0 = S + \lambda I$ at the anchor and $S = Q\,\mathrm{diag}(s)\,Q^\top$, whatever has been
    forgotten and learnt since then leaves

    $$\Lambda = cS + \lambda I + G^\top \Sigma G, \qquad
    (cS + \lambda I)^{-1} = Q D Q^\top, \quad D = \mathrm{diag}\frac{1}{cs + \lambda},$$

    with $c$ the weight that the anchor has kept, rows of $G$ the samples since then, each times the root of
    its weight, and signs $\Sigma$ (samples that leave a window have −1). The rest is Woodbury's identity. All
    of it is exact: a ridge that never shrinks, which no update of an inverse can follow, shifts eigenvalues
    and nothing else.

    Rounding costs the identity a relative error of about $\varepsilon R^2$, where
    $R = \mathrm{tr}\,G D G^\top$ says how much was learnt of directions that the anchor did not know.
    One step of refinement, $y + \Lambda^{-1}(x - \Lambda y)$, squares it, and is taken where $R$ is above
    `rough`. An anchor lives for at most `LONGEST` changes, and as long as $R$ is at most
    `STRETCH`: so the error stays below $\max(10^{-11}, \varepsilon\,\mathtt{rough}^2)$, on top of the
    $\varepsilon\,\kappa(\Lambda)$ of any inverse. The gram itself is asked for by refinements and new
    anchors alone. An inverse costs $O(d^3)$ for every decision, this $O(d^2)$ for each arm, and $O(d^3)$
    once per anchor.
    """

    def __init__(
        self, gram: Gram, dim: int, ridge: float, *, rough: float = ROUGH, first: float = 1.0
    ) -> None:
        """An inverse whose first anchor lives for a share `first` of what others do."""
        self._gram, self._ridge, self._rough = gram, ridge, rough
        longest = min(max(SHORTEST, dim // 4), LONGEST)  # the more it costs
        self._lives = chain([math.ceil(first * longest)], repeat(longest))
        self._num = self._life = 0  # no anchor is set before it is needed
        self._rows, self._signs = np.empty((longest, dim)), np.empty(longest)

    def reset(self) -> None:
        self._num = self._life

    def map(self, arms: np.ndarray) -> np.ndarray:
        if self._num == self._life:
            self._set_anchor(self._gram())
        rows, signs = self._rows[: self._num], self._signs[: self._num]  # G, Σ
        inverse = 1 / (self._kept * self._spectrum + self._ridge)  # D
        scaled = rows * inverse
        grown = scaled.dot(rows.T)  # G D Gᵀ
        growth = grown.trace()  # R
        if growth > STRETCH:
            self.reset()
            return self.map(arms)
        grown[np.diag_indices(self._num)] += signs

        def approximate(arms: np.ndarray) -> np.ndarray:
            turned = arms.dot(self._vectors)
            turned *= inverse
            turned -= mapped_or_nan(grown, turned.dot(rows.T)).dot(scaled)
            return turned.dot(self._vectors.T)

        mapped = approximate(arms)
        if growth > self._rough:
            mapped += approximate(arms - mapped.dot(self._gram()))
        return mapped

    def shrunk(self, rate: float) -> None:
        if self._num < self._life:
            self._kept *= rate
            self._rows[: self._num] *= rate**0.5

    def added(self, features: np.ndarray, sign: float) -> None:
        if self._num < self._life:
            self._rows[self._num], self._signs[self._num] = features.dot(self._vectors), sign
            self._num += 1

    def _set_anchor(self, gram: np.ndarray) -> None:
        try:
            eigenvalues, self._vectors = np.linalg.eigh(gram)
        except np.linalg.LinAlgError:
            eigenvalues, self._vectors = np.full(len(gram), np.nan), gram
        self._spectrum = np.maximum(eigenvalues - self._ridge, 0)
        self._kept, self._num, self._life = 1.0, 0, next(self._lives)
