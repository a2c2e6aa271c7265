"""Environments: all that engines, experiments and reports ask of one, and the world that it is as arrays."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.types import Array, Episode, FeatureTable, Key, Plan, Spec, Variation


class Record(NamedTuple):
    """The outcome of an episode."""

    reward: Array  # sum of the rewards seen
    value: Array  # exact V^π of the first state
    optimal: Array  # exact V* there


class Carry(NamedTuple):
    """The state of a run between two episodes."""

    state: Any  # the agent's
    position: Array | None = None  # where the world itself stands, if it remembers anything


class Played(NamedTuple):
    """One episode as it was played, in full."""

    before: Any  # the agent's state before it
    features: FeatureTable  # what was known to the agent
    plan: Plan
    episode: Episode
    record: Record
    carry: Carry  # into the next episode


class World(Protocol):
    """An environment as a named tuple of arrays, of one library and one precision."""

    @property
    def example(self) -> FeatureTable:
        """A table of the shape and type that agents will meet."""
        ...

    def begin(self, agent: Agent) -> Carry:
        """The carry into the first episode."""
        ...

    def inputs(self, path: Array) -> Any:
        """Inputs that all runs share, for each episode of the path `[T, …]`: leaves `[T, …]`."""
        ...

    def advance(self, agent: Agent, carry: Carry, inputs: Any, run_key: Key, t: Any) -> Played:
        """Episode `t` with its own `inputs`: plan, act, learn; and evaluate the plan's policy exactly."""
        ...


class Environment(ABC):
    """A path of models. It holds no metrics: regret comes from exact values."""

    name: str  # what tables and files call it
    config: Mapping[str, Any]  # how it was made, for manifests
    continuing: bool = False  # no episodes: a step takes the place of one, and its regret may be negative

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The sizes of the problem."""

    def described(self, name: str, config: Mapping[str, Any]) -> Self:
        """The same environment under another name, made as `config` says."""
        twin = copy.copy(self)
        object.__setattr__(twin, "name", name)
        object.__setattr__(twin, "config", config)
        return twin

    @abstractmethod
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """The path of the models at the episodes `[T]`, checked: `[T, ...]`, for `World.inputs`."""

    @abstractmethod
    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Episodes before `num_episodes` at which the model jumps."""

    @abstractmethod
    def variation(self, num_episodes: int) -> Variation:
        """The variation of the model in the first `num_episodes` episodes."""

    @abstractmethod
    def world(self, dtype: Any = np.float64, *, needs: tuple[str, ...] = ()) -> World:
        """The environment as arrays, with what an agent `needs` in its tables; refused if it is not known."""

    @abstractmethod
    def digest(self) -> str:
        """A text that tells it from other environments, whatever their names."""
