"""The world protocol: an environment as arrays, and one episode in it, written once for every engine."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from driftwise.base.agent import Agent
from driftwise.base.types import Array, Episode, FeatureTable, Key, Plan


class Record(NamedTuple):
    """The outcome of an episode."""

    reward: Array  # sum of the rewards seen
    value: Array  # exact V^π of the first state
    optimal: Array  # exact V* there


class Carry(NamedTuple):
    """The state of a run between two episodes."""

    state: Any  # the agent's
    position: Array | None = None  # where it stands, if there are no episodes


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
