"""Drifts that are one movement: none, jumps, straight lines, a circle, a random walk."""

from __future__ import annotations

import functools

import numpy as np

from driftwise.base.memory import require_room, size_of
from driftwise.base.part import count, record, scalar
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments.drift.curve import Drift, checked_increasing
from driftwise.parts.regression import one_hot


@record
class Constant(Drift):
    """No drift: always the first anchor."""

    num_anchors = 1

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        return np.ones((len(episodes), 1))


@record
class Abrupt(Drift):
    """Jump to the next anchor at each of the given episodes; after the last anchor, the first again.

    Without `num_anchors` every segment has an anchor of its own.
    """

    episode_fields = ("at",)

    at: tuple[int, ...]
    num_anchors: int = 0

    def __post_init__(self) -> None:
        at = checked_increasing("at", self.at, at_least=1)
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "num_anchors", _anchors(self.num_anchors, len(at) + 1))

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
        knots = checked_increasing("knots", self.knots, at_least=0)
        if len(knots) < 2:
            raise ArgumentError("knots", "be at least two increasing episodes", self.knots)
        object.__setattr__(self, "knots", knots)
        object.__setattr__(self, "num_anchors", _anchors(self.num_anchors, len(knots)))

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

    Each cut is a Gaussian random walk with steps of standard deviation `scale`, reflected into [0, 1]. One
    episode moves the mixture by at most twice the cuts' steps in L1, and in the long run it is uniform on
    the simplex. The walk starts at the first anchor and depends on `seed` alone. Unlike the other drifts it
    keeps its path in memory, up to the last episode asked for.
    """

    episode_fields = ()

    scale: float = scalar(at_least=0)
    num_anchors: int = count(at_least=2, default=2)
    seed: int = count(at_least=0, bits=64, default=0)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        episodes = np.asarray(episodes)
        length = int(episodes.max(initial=0)) + 1
        path = _reflected_walk(self, 1 << (length - 1).bit_length())  # a power of two: few, shared paths
        return path[episodes]


@functools.lru_cache(maxsize=2)
def _reflected_walk(walk: RandomWalk, length: int) -> np.ndarray:
    require_room("path", 3 * size_of((length, walk.num_anchors)), f"{length} episodes of {walk}")
    steps = np.random.default_rng(walk.seed).normal(scale=walk.scale, size=(length, walk.num_anchors - 1))
    steps[0] = 1
    cuts = np.abs((np.cumsum(steps, axis=0) + 1) % 2 - 1)  # triangle wave: reflection at 0 and 1
    return np.diff(np.sort(cuts, axis=1), axis=1, prepend=0.0, append=1.0)


def _between(position: np.ndarray, num_anchors: int) -> np.ndarray:
    """The point between anchors `⌊position⌋` and the next one, round the circle of anchors."""
    whole = np.floor(position).astype(int)
    part = (position - whole)[:, None]
    here, ahead = (one_hot((whole + k) % num_anchors, num_anchors, np.float64) for k in (0, 1))
    return (1 - part) * here + part * ahead


def _anchors(given: int, segments: int) -> int:
    """The number of anchors: one for each segment unless given."""
    if type(given) is int and given == 0:
        return segments
    return require_count("num_anchors", given, at_least=2)
