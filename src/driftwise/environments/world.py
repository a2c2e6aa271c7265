"""What engines ask of a world."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from driftwise.base.types import Agent, Array, Episode, FeatureTable, Key


class Record(NamedTuple):
    """What is kept of an episode."""

    reward: Array  # sum of the rewards seen
    value: Array  # exact V^π of the first state
    optimal: Array  # exact V* there


class Standing(NamedTuple):
    """What a run carries on if there are no episodes: the agent's state, and where it stands."""

    learnt: Any
    position: Array


def learnt(carried: Any) -> Any:
    """The agent's state, of what a run carries from episode to episode."""
    return carried.learnt if isinstance(carried, Standing) else carried


class World(Protocol):
    """An environment as a named tuple of arrays, of one library and one precision."""

    @property
    def shown(self) -> FeatureTable:
        """Features of the shape and type that agents will meet."""
        ...

    def begin(self, agent: Agent) -> Any:
        """What a run carries from episode to episode: the agent's state, or a `Standing` with it."""
        ...

    def inputs(self, path: Array) -> Any:
        """What is the same for all runs: of each episode of the path `[T, …]`, leaves `[T, …]`."""
        ...

    def play(
        self, agent: Agent, state: Any, inputs: Any, run_key: Key, t: Any
    ) -> tuple[Any, Record, Episode]:
        """Episode `t` with its own `inputs`: plan, act, learn; and evaluate the plan's policy exactly."""
        ...
