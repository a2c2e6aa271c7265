"""Inverses of the gram: anew for every decision, or from an anchor for many dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain, repeat
from typing import Protocol

import numpy as np

from driftwise.base.arrays import mapped_or_nan
from driftwise.online.bandits.ahead import Ahead, Made, Work, made_of
from driftwise.online.bandits.anchor import Anchor
from driftwise.online.bandits.recent import Recent

LARGE = 150  # dimensions from which on an anchor is faster
AHEAD = 0.12  # of an anchor's life: for so long the next one is in the making
CHANGES = 2  # of the gram until it settles, at most: one sample comes, one leaves
STRETCH = 1e5  # growth of the gram, as the anchor measures it, up to which it is taken
ROUGH = 200.0  # growth up to which no refinement is needed for eleven digits


class Gram(Protocol):
    """The gram `[d, d]` that an inverse is of."""

    def now(self) -> np.ndarray:
        """`Λ`."""
        ...

    def later(self) -> Work:
        """Sums and eigenvectors of `Λ` as it is now, for whoever has the time to compute them."""
        ...

    def take(self, made: Made, number: int) -> None:
        """Here is what `later` has made when samples had come up to that number."""
        ...


class Written:
    """A gram that is written in place."""

    def __init__(self, gram: Callable[[], np.ndarray]) -> None:
        self.now = gram

    def later(self) -> Work:
        copy = self.now().copy()
        return lambda: made_of([copy])

    def take(self, made: Made, number: int) -> None:
        pass


def life(dim: int) -> int:
    """Changes of the gram that an anchor lives through: `n` of the least cost `O(d³/n + n²d)` of each."""
    return math.ceil(1.4 * dim ** (2 / 3))


def room(dim: int) -> int:
    """Changes of the gram that may have come before an anchor is left."""
    return life(dim) + CHANGES


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
    life ago, and samples since then are turned into its coordinates; the first one is begun with the gram.
    When it is taken depends on the number of changes, on no clock and on nobody who looks.
    """

    def __init__(
        self, gram: Gram, recent: Recent, ridge: float, *, rough: float = ROUGH, first: float = 1.0
    ) -> None:
        """An inverse, to be reset; its first anchor lives for a share `first` of what others do."""
        self._gram, self._recent, self._ridge, self._rough = gram, recent, ridge, rough
        longest = life(recent.dim)
        self._lives = chain([math.ceil(first * longest)], repeat(longest))
        self._lead = math.ceil(AHEAD * longest)

    def reset(self) -> None:
        self._anchor: Anchor | None = None
        self._begin()

    def follow(self, other: Anchored) -> None:
        """The gram has become a copy of that of another inverse of the same samples and ridge."""
        self._anchor, self._first, self._next = other.anchor().copy(), other._first, None
        self._life = (other._age + other._life + 1) // 2  # before the other's turn

    def map(self, arms: np.ndarray) -> np.ndarray:
        anchor = self.anchor()
        return anchor.solve(anchor.turned(arms)).dot(anchor.vectors.T)

    def anchor(self) -> Anchor:
        """The anchor to take now."""
        if self._anchor is None:
            self._anchor = self._new_anchor(None)
        return self._anchor

    def shrunk(self, rate: float) -> None:
        if self._anchor is not None:
            self._anchor.shrink(rate)
        if self._next is not None:
            self._kept *= rate

    def added(self, features: np.ndarray, sign: float) -> None:
        anchor = self.anchor()
        anchor.add(anchor.turned(features)[None], 1.0, sign)
        self._recent.add(features)

    def added_forecast(self) -> None:
        """The gram has become `Λ + φφᵀ` of the sample that the anchor forecast last, the last recent one."""
        self.anchor().add_forecast()

    def settle(self) -> None:
        anchor = self.anchor()
        while self._age >= self._life or anchor.growth > STRETCH:
            self._anchor = anchor = self._new_anchor(anchor)
        if self._next is None and self._age >= self._life - self._lead:
            self._begin()

    @property
    def _age(self) -> int:
        """Changes since the anchor."""
        return self._recent.num - self._first

    def _begin(self) -> Ahead:
        """Let a thread make the next anchor, of the gram as it is."""
        self._begun, self._kept = self._recent.num, 1.0
        self._next = made = Ahead(self._gram.later())
        return made

    def _new_anchor(self, old: Anchor | None) -> Anchor:
        """The one that was begun, with all that has come since then; else one of the gram as it is."""
        found = (self._next or self._begin()).result()
        self._gram.take(found, self._begun)
        made = Anchor(found.eigen, self._ridge, self._rough, room(self._recent.dim))
        made.shrink(self._kept)
        if old is not None:
            since = made.turned(self._recent.since(self._begun))
            made.add(since, *old.samples_since(self._begun - self._first))
        self._next, self._first, self._life = None, self._begun, next(self._lives)
        return made
