"""Features of states in the unit ball, for an `EpisodicAgent`: vectors in which values are nearly linear."""

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np

from driftwise.base.part import choice, count, member, record
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number

MOST_FEATURES = 10_000  # the work per episode grows with their square


@runtime_checkable
class Basis(Protocol):
    """A map from states to vectors `[dim]` of norm at most one."""

    @property
    def dim(self) -> int: ...

    def __call__(self, state: Any, /) -> np.ndarray: ...


@runtime_checkable
class FeatureMap(Basis, Protocol):
    """A map from states to features `[num_actions, dim]` of all actions, of norms at most one."""

    @property
    def num_actions(self) -> int: ...


@record
class PerAction:
    """A block of the basis for each action: `φ(s, a) = e_a ⊗ f(s)`; actions share no weights."""

    basis: Basis = member(Basis)
    num_actions: int = count()

    @property
    def dim(self) -> int:
        return self.num_actions * self.basis.dim

    def __call__(self, state: Any) -> np.ndarray:
        return np.kron(np.eye(self.num_actions), self.basis(state))

    def table(self, states: Iterable[Any]) -> np.ndarray:
        """Return features `[S, A, d]` of states that can be counted; an agent with them keeps only sums."""
        return np.stack([self(state) for state in states])


@dataclass(frozen=True)
class Custom:
    """A function of your own from a state to `[num_actions, dim]`, which no file can keep."""

    function: Callable[[Any], np.ndarray]
    num_actions: int
    dim: int

    def __call__(self, state: Any) -> np.ndarray:
        return self.function(state)


@record
class OneHot:
    """A coordinate for each of the states `0 … num_states − 1`."""

    num_states: int = count()

    @property
    def dim(self) -> int:
        return self.num_states

    def __call__(self, state: Any) -> np.ndarray:
        number = require_count("state", state, at_least=0)
        if number >= self.num_states:
            raise ArgumentError("state", f"be from 0 to {self.num_states - 1}", number)
        return np.eye(1, self.num_states, number)[0]


def _check_box(basis: Any) -> None:
    """Store the bounds of a box as floats; a basis with too many features is refused."""
    low = require_array("low", basis.low, (None,))
    high = require_array("high", basis.high, low.shape)
    if not low.size or (high <= low).any():
        raise ArgumentError("high", "be above low in every place", high, f"{basis.low} and {basis.high}")
    object.__setattr__(basis, "low", tuple(low.tolist()))
    object.__setattr__(basis, "high", tuple(high.tolist()))
    if basis.dim > MOST_FEATURES:
        raise ValueError(f"{basis} would have {basis.dim} features, expected at most {MOST_FEATURES}")


@record
class Fourier:
    r"""$\cos(\pi c \cdot x)/\sqrt D$ for the $D$ of $c \in \{0, \dots, \text{order}\}^n$; $x \in [0, 1]^n$.

    Reference: Konidaris, Osentoski & Thomas, "Value Function Approximation in Reinforcement Learning using
    the Fourier Basis", AAAI 2011.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    order: int = count(default=2)

    def __post_init__(self) -> None:
        _check_box(self)

    @property
    def dim(self) -> int:
        return (self.order + 1) ** len(self.low)

    @functools.cached_property
    def _frequencies(self) -> np.ndarray:
        return np.array(list(itertools.product(range(self.order + 1), repeat=len(self.low))), dtype=float)

    def __call__(self, state: Any) -> np.ndarray:
        return np.cos(math.pi * (self._frequencies @ _in_box(self, state))) / math.sqrt(self.dim)


@record
class RadialBasis:
    r"""$\exp(-\|x - c_i\|^2/2w^2)$ over the sum of them all: shares of centres, with norms of at most one.

    `centres="grid"` puts `per_axis` centres along each axis of the box, $[0, 1]^n$, `"random"` draws as many
    uniformly. `width` is $w$, by default half the distance of a grid's centres.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    per_axis: int = count(at_least=2, default=5)
    width: float | None = None
    centres: Literal["grid", "random"] = choice("grid", "random", default="grid")
    seed: int = count(at_least=0, bits=64, default=0)

    def __post_init__(self) -> None:
        width = 0.5 / (self.per_axis - 1) if self.width is None else self.width
        object.__setattr__(self, "width", require_number("width", width, above=0))
        _check_box(self)

    @property
    def dim(self) -> int:
        return self.per_axis ** len(self.low)

    @functools.cached_property
    def _centres(self) -> np.ndarray:
        if self.centres == "random":
            return np.random.default_rng(self.seed).random((self.dim, len(self.low)))
        return np.array(list(itertools.product(np.linspace(0, 1, self.per_axis), repeat=len(self.low))))

    def __call__(self, state: Any) -> np.ndarray:
        assert self.width is not None
        distance = np.square(self._centres - _in_box(self, state)).sum(axis=1) / (2 * self.width**2)
        shares = np.exp(distance.min() - distance)  # the largest is 1, however far all are
        return shares / shares.sum()


@record
class Tiles:
    r"""Tile coding: the tile in which the state lies, in each of several grids that are shifted.

    Grid $k$ of `num_tilings` $T$ has `per_axis` tiles along each axis of the box and one more for its shift
    by $k(1, 3, 5, \dots)/T$ tiles, modulo one. One tile of each has the value $1/\sqrt T$.

    Reference: Sutton & Barto, "Reinforcement Learning", 2018, section 9.5.4.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    per_axis: int = count(default=4)
    num_tilings: int = count(default=4)

    def __post_init__(self) -> None:
        _check_box(self)

    @property
    def dim(self) -> int:
        return self.num_tilings * (self.per_axis + 1) ** len(self.low)

    def __call__(self, state: Any) -> np.ndarray:
        tilings, axes = np.arange(self.num_tilings)[:, None], np.arange(len(self.low))
        shifts = tilings * (2 * axes + 1) / self.num_tilings % 1
        tiles = np.floor(_in_box(self, state) * self.per_axis + shifts).astype(int)  # [T, n]
        vector = np.zeros((self.num_tilings, self.dim // self.num_tilings))
        vector[tilings[:, 0], tiles @ (self.per_axis + 1) ** axes] = 1 / math.sqrt(self.num_tilings)
        return vector.ravel()


@dataclass(frozen=True)
class Transformed:
    """The output of a transformer of scikit-learn, divided by `scale`, or by its norm if that is larger."""

    transformer: Any
    dim: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not callable(getattr(self.transformer, "transform", None)):
            raise ArgumentError("transformer", "have a method transform", self.transformer)
        object.__setattr__(self, "dim", require_count("dim", self.dim))
        object.__setattr__(self, "scale", require_number("scale", self.scale, above=0))

    @classmethod
    def fitted(cls, transformer: Any, states: Any) -> Self:
        """Return features of a transformer fitted to `states` `[N, n]`, with the largest norm as scale."""
        rows = _dense(transformer.fit(states).transform(states))
        return cls(transformer, rows.shape[1], float(np.linalg.norm(rows, axis=1).max()))

    def __call__(self, state: Any) -> np.ndarray:
        rows = _dense(self.transformer.transform(np.atleast_2d(state)))
        vector = require_array("the transformer's output", rows, (1, self.dim))[0]
        return vector / max(self.scale, float(np.linalg.norm(vector)))


def bounds_of(space: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return `low` and `high` of a box of Gymnasium, flattened; bounds that are not finite are refused."""
    if not (hasattr(space, "low") and hasattr(space, "high")):
        raise ArgumentError("space", "be a gymnasium.spaces.Box", space)
    low, high = (np.asarray(bound, dtype=np.float64).ravel() for bound in (space.low, space.high))
    for i in np.flatnonzero(np.abs([low, high]).max(axis=0) > 1e30):  # as float32's largest, too
        got = f"[{low[i]:g}, {high[i]:g}] at {i}: choose them"
        raise ArgumentError("space", "have finite bounds", space, got)
    return tuple(low.tolist()), tuple(high.tolist())


def _in_box(basis: Any, state: Any) -> np.ndarray:
    """Return the state in `[0, 1]^n`; one outside of the box is moved to its edge."""
    vector, low = require_array("state", np.ravel(state), (len(basis.low),)), np.array(basis.low)
    return np.clip((vector - low) / (np.array(basis.high) - low), 0.0, 1.0)


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)  # sparse ones have it
