"""States of an episodic agent: numbers with a table of features, or anything that has features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.part import CONFIGURABLE, from_config, to_config
from driftwise.base.types import Blocks, Episode, FeatureTable, Spec
from driftwise.base.validation import ArgumentError, require_array, require_choice, require_count
from driftwise.online.episodes.blocks import blocks_of
from driftwise.online.features import FeatureMap
from driftwise.online.files import AgentFile
from driftwise.parts.regression import feature_table

TOLERANCE = 1e-8  # of norms: far above rounding
FAR = 1000.0  # from positions in [0, 1]


class Step(NamedTuple):
    """One step, with states as the agent knows them."""

    state: Any
    action: int
    reward: float
    reached: Any


class States(ABC):
    """All that an episodic agent has to know of states."""

    num_states: int
    num_actions: int
    dim: int
    end: Any  # the state after the end of an episode, in which nothing can be earned
    description: Any = None  # plain values of which it can be made again, if the tensors are not enough
    tensors: Mapping[str, np.ndarray]
    blocks: Blocks | None = None  # of the features of all states

    @abstractmethod
    def table(self, agent: Agent, known: Mapping[str, Any]) -> FeatureTable:
        """The features of all states, with all else that the agent needs."""

    @abstractmethod
    def checked(self, name: str, state: Any) -> Any:
        """A state as the agent knows it."""

    @abstractmethod
    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, Episode]:
        """Arguments of an update: the plan, and H steps as arrays."""


class TableOfStates(States):
    """States `0 … S−1`, and one more with features 0 in which an episode that has terminated stays."""

    def __init__(self, features: Any) -> None:
        table = _in_unit_ball(require_array("features", features, (None, None, None)))
        if not table.size:
            found = f"the shape {table.shape}"
            raise ArgumentError("features", "be of some states and actions", table.shape, found)
        self.end, self.num_actions, self.dim = table.shape
        self.num_states = self.end + 1
        self.tensors = {"features": table}
        self._features = np.concatenate([table, np.zeros((1, *table.shape[1:]))])
        self.blocks = blocks_of(self._features.reshape(-1, self.dim))

    def table(self, agent: Agent, known: Mapping[str, Any]) -> FeatureTable:
        num_states, horizon = self.end, agent.spec.horizon
        shapes = {
            "measures": (None, horizon, self.dim, num_states),
            "initial": (num_states,),
            "projection": (num_states, num_states),
            "positions": (num_states, self.num_actions, 2),
        }
        for name in known:
            require_choice("known", name, list(shapes))
        table = feature_table(self._features)._replace(blocks=self.blocks)
        for name in (each for each in agent.needs if each in shapes):
            if name not in known:
                raise ArgumentError("known", f"have the {name} that the algorithm needs", sorted(known))
            given = require_array(name, known[name], shapes[name])
            table = table._replace(**{name: _with_end(name, given)})
        if "rewards" in agent.needs:  # until the first episode has them
            table = table._replace(rewards=np.zeros((horizon, len(table.values))))
        return table

    def checked(self, name: str, state: Any) -> int:
        plain = state.item() if isinstance(state, np.ndarray) and state.ndim == 0 else state
        number = require_count(name, plain, at_least=0)
        if number >= self.end:
            raise ArgumentError(name, f"be a state from 0 to {self.end - 1}", number)
        return number

    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, Episode]:
        states, actions, rewards, reached = zip(*steps, strict=True)
        at = np.array(states, dtype=np.int32), np.array(actions, dtype=np.int32)
        successors = np.array(reached, dtype=np.int32)
        return plan, Episode(*at, self._features[at], np.array(rewards), successors)


class MappedStates(States):
    """States of any kind, known by the features of their actions."""

    num_states = 1  # the one that was met

    def __init__(self, features: Any) -> None:
        if not isinstance(features, FeatureMap):
            expected = "be an array [S, A, d], or have num_actions and dim besides being called"
            raise ArgumentError("features", expected, features)
        self.features, self.tensors = features, {}
        self.num_actions = require_count("features.num_actions", features.num_actions)
        self.dim = require_count("features.dim", features.dim)
        self.end = np.zeros((self.num_actions, self.dim))
        if type(features).__name__ in CONFIGURABLE:
            self.description = to_config(features)

    def table(self, agent: Agent, known: Mapping[str, Any]) -> FeatureTable:
        for name in known:
            raise ArgumentError("known", "be empty where states cannot be counted", name)
        return FeatureTable(self.end)

    def checked(self, name: str, state: Any) -> np.ndarray:
        return _in_unit_ball(require_array(f"features of {name}", self.features(state), self.end.shape))

    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, Episode]:
        states, actions, rewards, reached = zip(*steps, strict=True)
        met, taken = np.stack(states), np.array(actions, dtype=np.int32)
        features, zeros = met[np.arange(len(met)), taken], np.zeros_like(taken)
        return plan.visited(met), Episode(zeros, taken, features, np.array(rewards), np.stack(reached))


def states_of(features: Any) -> States:
    """States with these features: a table, or a map."""
    return MappedStates(features) if callable(features) else TableOfStates(features)


def states_in(file: AgentFile, features: FeatureMap | None, spec: Spec) -> States:
    """States of the agent in a file; `features` take the place of a map that the file cannot describe."""
    described, table = file.description["features"], file.tensors.get("features")
    if table is not None:
        if features is not None:
            raise ArgumentError("features", "be left out, as the file has them in a table", features)
        return states_of(table)
    if features is None and described is None:
        raise ArgumentError("features", "be the map that the agent was made with", None)
    states = MappedStates(from_config(described) if features is None else features)
    have, want = (states.num_actions, states.dim), (spec.num_actions, spec.dim)
    if have != want:
        expected = f"be of {want[0]} actions and {want[1]} dimensions, as those of the agent that was saved"
        raise ArgumentError("features", expected, states.features, f"{have[0]} and {have[1]}")
    return states


def with_rewards(table: FeatureTable, rewards: Any, spec: Spec) -> FeatureTable:
    """The table with mean rewards `[H, S, A]` of an episode, and none in the state after its end."""
    given = require_array("rewards", rewards, (spec.horizon, spec.num_states - 1, spec.num_actions))
    return table._replace(rewards=np.pad(given, [(0, 0), (0, 1), (0, 0)]).reshape(spec.horizon, -1))


def _with_end(name: str, known: np.ndarray) -> np.ndarray:
    """A known array with the state after the end, which is never reached and far from all others."""
    if name == "positions":
        far = known[:1] * (0.0, 1.0) + (FAR, 0.0)
        return np.concatenate([known, far]).reshape(-1, 2)
    return np.pad(known, [(0, 0)] * 3 + [(0, 1)] if name == "measures" else (0, 1))


def _in_unit_ball(features: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        longest = float(np.sqrt(np.square(features).sum(axis=-1)).max(initial=0.0))
    if longest > 1 + TOLERANCE:
        raise ArgumentError("features", "have norms of at most 1", longest, f"one of {longest:.6g}")
    return features
