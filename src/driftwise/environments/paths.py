"""Paths of a bandit's parameter: θ(t) for every round t, counted from 0."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from driftwise.base.part import count, member, record, scalar
from driftwise.base.resources import count_bytes, require_memory
from driftwise.base.types import Numeric
from driftwise.base.validation import require_array, to_nested_tuple
from driftwise.environments.drift.curves import Abrupt, Constant, Drift, find_jumps


class ParameterPath(ABC):
    """A curve in the space of parameters, of dimension `dim`."""

    dim: int
    episode_fields: ClassVar[tuple[str, ...] | None] = None  # for which a file may say "50%"; None: for all

    @abstractmethod
    def theta(self, rounds: np.ndarray) -> np.ndarray:
        """Return the parameter at the rounds `[T]`: `[T, d]`."""

    def changes(self, num_rounds: int) -> tuple[int, ...]:
        """Return rounds before `num_rounds` at which the parameter jumps; found, unless a path has them."""
        return find_jumps(self.theta, num_rounds)


@record
class Mixture(ParameterPath):
    """Parameters `anchors` (`[J, d]`) mixed by a drift on their simplex: any drift of linear MDPs."""

    episode_fields = ()

    anchors: Numeric  # kept as nested tuples
    drift: Drift = member(Drift)

    def __post_init__(self) -> None:
        anchors = require_array("anchors", self.anchors, (self.drift.num_anchors, None))
        object.__setattr__(self, "anchors", to_nested_tuple(anchors.tolist()))

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.anchors[0])

    def theta(self, rounds: np.ndarray) -> np.ndarray:
        return self.drift.mixture(np.asarray(rounds)) @ np.array(self.anchors)

    def changes(self, num_rounds: int) -> tuple[int, ...]:
        return self.drift.changes(num_rounds)


def abrupt_path(values: Numeric, at: tuple[int, ...]) -> Mixture:
    """Return the path of the parameters `values` (`[J, d]`); the next one comes at each round of `at`."""
    return Mixture(values, Abrupt(at) if len(at) else Constant())


@record
class Rotation(ParameterPath):
    """A turn on a circle of the first two coordinates from an angle in radians to another; then constant."""

    episode_fields = ("rounds",)

    start: float = scalar()
    end: float = scalar()
    rounds: int = count()
    radius: float = scalar(above=0, default=1.0)
    dim: int = count(at_least=2, default=2)

    def theta(self, rounds: np.ndarray) -> np.ndarray:
        share = np.minimum(np.asarray(rounds) / self.rounds, 1.0)
        angle = self.start + share * (self.end - self.start)
        path = np.zeros((len(angle), self.dim))
        path[:, 0], path[:, 1] = self.radius * np.cos(angle), self.radius * np.sin(angle)
        return path


@record
class Sinusoid(ParameterPath):
    """Each coordinate swings: `centre + amplitude · sin(2πt/period + phase)`, all of them `[d]`."""

    episode_fields = ("period",)

    centre: tuple[float, ...]
    amplitude: tuple[float, ...]
    phase: tuple[float, ...]
    period: float = scalar(above=0)

    def __post_init__(self) -> None:
        size = len(require_array("centre", self.centre, (None,)))
        for name in ("centre", "amplitude", "phase"):
            values = require_array(name, getattr(self, name), (size,))
            object.__setattr__(self, name, tuple(values.tolist()))

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return len(self.centre)

    def theta(self, rounds: np.ndarray) -> np.ndarray:
        angle = 2 * math.pi * np.asarray(rounds)[:, None] / self.period + np.array(self.phase)
        return np.array(self.centre) + np.array(self.amplitude) * np.sin(angle)


@record
class SphereWalk(ParameterPath):
    """A random walk on the sphere of `radius`: Gaussian steps of deviation `scale`, each put back on it."""

    episode_fields = ()

    dim: int = count(at_least=2)
    scale: float = scalar(at_least=0)
    radius: float = scalar(above=0, default=1.0)
    seed: int = count(at_least=0, bits=64, default=0)

    def theta(self, rounds: np.ndarray) -> np.ndarray:
        return _sphere_walk(self, 1 << int(np.max(rounds, initial=0)).bit_length())[rounds]  # few lengths


@functools.lru_cache(maxsize=2)
def _sphere_walk(walk: SphereWalk, length: int) -> np.ndarray:
    require_memory("path", 3 * count_bytes((length, walk.dim)), f"{length} rounds of {walk}")
    steps = np.random.default_rng(walk.seed).normal(size=(length, walk.dim))
    steps[1:] *= walk.scale / walk.radius
    path, place = np.empty_like(steps), np.zeros(walk.dim)
    for t, step in enumerate(steps):
        path[t] = place = (place + step) / np.linalg.norm(place + step)
    return walk.radius * path
