"""Inverses of the gram: anew for every decision, or from an anchor for many dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, repeat
from typing import Protocol

import numpy as np

from driftwise.base.arrays import mapped_or_nan
from driftwise.online.bandits.ahead import Ahead, Work, eigen
from driftwise.online.bandits.anchor import Anchor

LARGE = 150  # dimensions from which on an anchor is faster
AHEAD = 0.11  # of an anchor's life: for so long the next one is in the making
CHANGES = 2  # of the gram until it settles, at most: one sample comes, one leaves
STRETCH = 1e5  # growth of the gram, as the anchor measures it, up to which it is taken
ROUGH = 200.0  # growth up to which no refinement is needed for eleven digits


class Gram(Protocol):
    """The gram `[d, d]` that an inverse is of."""

    def now(self) -> np.ndarray:
        """`Λ`."""
        ...

    def later(self) -> Work:
        """`Λ` as it is now, for whoever has the time to compute it; others may come behind it."""
        ...

    def take(self, sums: list[np.ndarray]) -> None:
        """Here is what `later` has made."""
        ...


class Written:
    """A gram that is written in place."""

    def __init__(self, gram: Callable[[], np.ndarray]) -> None:
        self.now = gram

    def later(self) -> Work:
        copy = self.now().copy()
        return lambda: [copy]

    def take(self, sums: list[np.ndarray]) -> None:
        pass


def life(dim: int) -> int:
    """Changes of the gram that an anchor lives through: `n` of the least cost `O(d³/n + n²d)` of each."""
    return math.ceil(1.4 * dim ** (2 / 3))


class Inverse(Protocol):
    """`Λ⁻¹` of a gram `[d, d]`; it is told of every change, and that it was the last, before it is asked."""

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

    def settle(self) -> None:
        """The gram is what it has been told to be."""
        ...


class Fresh:
    """The inverse, anew for every decision."""

    def __init__(self, gram: Gram) -> None:
        self._gram = gram

    def map(self, arms: np.ndarray) -> np.ndarray:
        return mapped_or_nan(self._gram.now(), arms)

    def reset(self) -> None:
        pass

    def shrunk(self, rate: float) -> None:
        pass

    def added(self, features: np.ndarray, sign: float) -> None:
        pass

    def settle(self) -> None:
        pass


class Anchored:
    r"""The inverse from an `Anchor`, which is set anew again and again.

    An anchor lives for at most `life(dim)` changes, and as long as its $R$ is at most `STRETCH`: so the error
    stays below $\max(10^{-11}, \varepsilon\,\mathtt{rough}^2)$, on top of the
    $\varepsilon\,\kappa(\Lambda)$ of any inverse. The gram itself is asked for by new anchors alone.

    An inverse costs $O(d^3)$ for every decision, this $O(d^2)$ for each arm, and $O(d^3)$ once per anchor.
    Few decisions wait for that: a thread makes the next anchor, of the gram as it was a share `AHEAD` of a
    life ago, and samples since then are turned into its coordinates. When it is taken depends on the number
    of changes, and on no clock.
    """

    def __init__(
        self, gram: Gram, dim: int, ridge: float, *, rough: float = ROUGH, first: float = 1.0
    ) -> None:
        """An inverse whose first anchor lives for a share `first` of what others do."""
        self._gram, self._ridge, self._rough = gram, ridge, rough
        longest = life(dim)
        self._lives = chain([math.ceil(first * longest)], repeat(longest))
        self._lead = math.ceil(AHEAD * longest)
        self._samples = np.empty((longest + CHANGES, dim))
        self.reset()

    def reset(self) -> None:
        self._anchor: Anchor | None = None  # none is set before it is needed
        self._next: Ahead | None = None
        self._num = 0  # changes since the anchor

    def follow(self, other: Anchored) -> None:
        """The gram has become a copy of that of another inverse, of the same dimension and ridge."""
        self.reset()
        if other._anchor is not None:
            self._anchor, self._num = other._anchor.copy(), other._num
            self._samples[: self._num] = other._samples[: self._num]
            self._life = (other._num + other._life + 1) // 2  # before the other's turn

    def map(self, arms: np.ndarray) -> np.ndarray:
        anchor = self.anchor()
        return anchor.solve(anchor.turned(arms)).dot(anchor.vectors.T)

    def anchor(self) -> Anchor:
        """The anchor to take now."""
        while self._anchor is None or self._anchor.growth > STRETCH:
            self._anchor = self._new_anchor(self._anchor)
        return self._anchor

    def shrunk(self, rate: float) -> None:
        if self._anchor is not None:
            self._anchor.shrink(rate)
        if self._next is not None:
            self._kept *= rate

    def added(self, features: np.ndarray, sign: float, turned: np.ndarray | None = None) -> None:
        """The gram has become `Λ ± φφᵀ`; who has `φ` in the anchor's coordinates may say so."""
        if self._anchor is None:
            return
        row = self._anchor.turned(features) if turned is None else turned
        self._anchor.add(row[None], 1.0, sign)
        self._samples[self._num] = features
        self._num += 1

    def settle(self) -> None:
        if self._anchor is None:
            return
        if self._num >= self._life:
            self._anchor = self._new_anchor(self._anchor)
        elif self._next is None and self._num >= self._life - self._lead:
            self._next, self._begun, self._kept = Ahead(self._gram.later()), self._num, 1.0

    def _new_anchor(self, old: Anchor | None) -> Anchor:
        """The one that was made ahead, with all that has come since then; else one of the gram as it is."""
        told = self._ridge, self._rough, len(self._samples)
        if old is None or self._next is None:
            made, since = Anchor(eigen(self._gram.now()), *told), self._samples[:0]
        else:
            sums, found = self._next.result()
            self._gram.take(sums)
            made, since = Anchor(found, *told), self._samples[self._begun : self._num]
            made.shrink(self._kept)
            made.add(made.turned(since), *old.samples_since(self._begun))
        self._num = len(since)
        self._samples[: self._num] = since
        self._next, self._life = None, next(self._lives)
        return made
