"""Drifts: curves on the simplex of anchor models, and the episodes at which a curve jumps."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from driftwise.base.part import count, record, scalar
from driftwise.base.resources import count_bytes, require_memory
from driftwise.base.validation import ArgumentError, require_count, require_instance, require_numeric
from driftwise.parts.regression import one_hot

_AROUND = 4  # moves on either side that a jump is held against
MOVE_ROUNDING = 1e-9  # moves that are no moves
_AT_ONCE = 1 << 16  # episodes that are looked at together


def find_jumps(curve: Callable[[np.ndarray], np.ndarray], num_episodes: int) -> tuple[int, ...]:
    """Return the episodes before `num_episodes` in which the curve, `[T]` to `[T, n]`, jumps.

    A jump is at least ten times as far as each of the four moves before it and the four after it.
    """
    jumps: list[int] = []
    for first in range(1, num_episodes - _AROUND, _AT_ONCE):
        last = min(first + _AT_ONCE, num_episodes - _AROUND)  # of the episodes first, …, last − 1
        around = np.arange(first - _AROUND - 1, last + _AROUND)
        path = curve(np.maximum(around, 0))  # nothing moves before the run
        moves = sliding_window_view(np.abs(np.diff(path, axis=0)).sum(axis=-1), 2 * _AROUND + 1)
        own, others = moves[:, _AROUND], np.delete(moves, _AROUND, axis=1).max(axis=1)
        jumps += (first + np.flatnonzero((own > MOVE_ROUNDING) & (own >= 10 * others))).tolist()
    return tuple(jumps)


class Drift(ABC):
    """A curve on the simplex with `num_anchors` vertices."""

    num_anchors: int
    episode_fields: ClassVar[tuple[str, ...] | None] = None  # for which a file may say "50%"; None: for all

    @abstractmethod
    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        """Return the weights of the anchors, `[T, num_anchors]`, at the episodes `[T]`."""

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Return episodes before `num_episodes` at which the model jumps; found, unless a drift has them."""
        return find_jumps(self.mixture, num_episodes)


def require_increasing(name: str, value: Any, *, at_least: int) -> tuple[int, ...]:
    """Return increasing episodes, one at least."""
    listed = isinstance(value, (tuple, list, range, np.ndarray)) and len(value) > 0
    items = require_numeric(name, tuple(value), at_least=at_least, integer=True) if listed else ()
    if not items or np.ndim(items) > 1 or np.any(np.diff(items) <= 0):
        raise ArgumentError(name, "be increasing episodes", value)
    return items


@record
class Constant(Drift):
    """No drift: always the first anchor."""

    num_anchors = 1

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        return np.ones((len(episodes), 1))


def require_drift(drift: Drift | None, at_most: int | None = None, reason: str = "") -> Drift:
    """Return the drift a maker was given, if it mixes at most so many anchors; None is no drift."""
    checked: Drift = require_instance("drift", Constant() if drift is None else drift, Drift)
    if at_most is not None and checked.num_anchors > at_most:
        raise ArgumentError("drift", f"have at most {at_most} anchors, {reason}", drift)
    return checked


def require_anchor_numbers(
    name: str, values: Any, drift: Drift | None, **bounds: Any
) -> tuple[tuple[float, ...], Drift]:
    """Return numbers within bounds for the drift's anchors, the first of `values`, and the drift."""
    numbers = require_numeric(name, values, **bounds)
    if np.ndim(numbers) != 1:
        raise ArgumentError(name, "be a list of numbers, one for each anchor", values)
    drift = require_drift(drift, len(numbers), f"one for each of {name}")
    return numbers[: drift.num_anchors], drift


@record
class Abrupt(Drift):
    """Jump to the next anchor at each episode of `at`; after the last anchor the first again.

    Without `num_anchors` each segment has its own anchor.
    """

    episode_fields = ("at",)

    at: tuple[int, ...]
    num_anchors: int = 0

    def __post_init__(self) -> None:
        at = require_increasing("at", self.at, at_least=1)
        object.__setattr__(self, "at", at)
        _set_anchors(self, len(at) + 1)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        segment = np.searchsorted(np.array(self.at), episodes, side="right")
        return one_hot(segment % self.num_anchors, self.num_anchors, np.float64)

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return tuple(change for change in self.at if change < num_episodes)


@record
class Gradual(Drift):
    """Move in a straight line from anchor to anchor, reaching one at each knot; constant outside."""

    episode_fields = ("knots",)

    knots: tuple[int, ...]
    num_anchors: int = 0

    def __post_init__(self) -> None:
        knots = require_increasing("knots", self.knots, at_least=0)
        if len(knots) < 2:
            raise ArgumentError("knots", "be at least two increasing episodes", self.knots)
        object.__setattr__(self, "knots", knots)
        _set_anchors(self, len(knots))

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        position = np.interp(episodes, self.knots, np.arange(len(self.knots)))
        return _between(position, self.num_anchors)


@record
class Periodic(Drift):
    """Go round all anchors smoothly and come back after `period` episodes."""

    episode_fields = ("period",)

    period: float = scalar(above=0)
    num_anchors: int = count(at_least=2, default=2)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        position = np.asarray(episodes) % self.period * (self.num_anchors / self.period)
        whole = np.floor(position)
        eased = (1 - np.cos(np.pi * (position - whole))) / 2
        return _between(whole + eased, self.num_anchors)


@record
class RandomWalk(Drift):
    """The unit interval is cut at places that wander; the lengths of the pieces are the weights.

    Each cut is a Gaussian random walk from 0 with steps of deviation `scale`, reflected into [0, 1]: in the
    long run the mixture is uniform on the simplex. The path up to the last episode asked for is kept.
    """

    episode_fields = ()

    scale: float = scalar(at_least=0)
    num_anchors: int = count(at_least=2, default=2)
    seed: int = count(at_least=0, bits=64, default=0)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        path = _reflected_walk(self, 1 << int(np.max(episodes, initial=0)).bit_length())  # few, shared paths
        return path[episodes]


@functools.lru_cache(maxsize=2)
def _reflected_walk(walk: RandomWalk, length: int) -> np.ndarray:
    require_memory("path", 3 * count_bytes((length, walk.num_anchors)), f"{length} episodes of {walk}")
    steps = np.random.default_rng(walk.seed).normal(scale=walk.scale, size=(length, walk.num_anchors - 1))
    steps[0] = 1
    cuts = np.abs((np.cumsum(steps, axis=0) + 1) % 2 - 1)  # triangle wave: reflection at 0 and 1
    return np.diff(np.sort(cuts, axis=1), axis=1, prepend=0.0, append=1.0)


def _set_anchors(drift: "Abrupt | Gradual", segments: int) -> None:
    """Check the number of anchors, which is 0 for one in each segment."""
    unset = type(drift.num_anchors) is int and drift.num_anchors == 0
    num_anchors = segments if unset else require_count("num_anchors", drift.num_anchors, at_least=2)
    object.__setattr__(drift, "num_anchors", num_anchors)


def _between(position: np.ndarray, num_anchors: int) -> np.ndarray:
    """Return the point between anchors `⌊position⌋` and the next one, round the circle of anchors."""
    whole = np.floor(position).astype(int)
    part = (position - whole)[:, None]
    here, ahead = (one_hot((whole + k) % num_anchors, num_anchors, np.float64) for k in (0, 1))
    return (1 - part) * here + part * ahead
