"""States of an episodic agent: numbers with a table of features, or anything that has features."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.base import Agent, AnchorMeasures, ArgumentError, InitialDistribution, MeanRewards, Positions
from driftwise.base.knowledge import SuccessorProjection
from driftwise.base.part import CONFIGURABLE, from_config, to_config
from driftwise.base.types import Blocks, Episode, FeatureTable, Spec
from driftwise.base.validation import require_array, require_choice, require_count
from driftwise.online.agent_files import AgentFile
from driftwise.online.episodes.agent_building import find_blocks
from driftwise.online.features import FeatureMap
from driftwise.parts.regression import feature_table

_NORM_TOLERANCE = 1e-8  # of norms: far above rounding
_FAR = 1000.0  # from positions in [0, 1]


class TableOfStates:
    """States `0 … S−1`, and one more with features 0 in which an episode that has terminated stays."""

    description: Any = None  # plain values that restore it, if the tensors are not enough

    def __init__(self, features: Any) -> None:
        table = _in_unit_ball(require_array("features", features, (None, None, None)))
        if not table.size:
            got = f"the shape {table.shape}"
            raise ArgumentError("features", "be of some states and actions", table.shape, got)
        self.end, self.num_actions, self.dim = table.shape
        self.num_states = self.end + 1
        self.tensors = {"features": table}
        self._features = np.concatenate([table, np.zeros((1, *table.shape[1:]))])
        self.blocks: Blocks | None = find_blocks(self._features.reshape(-1, self.dim))

    def table(self, agent: Agent, known: Mapping[str, Any]) -> FeatureTable:
        """Return the features of all states, with the arrays that the agent needs."""
        num_states, horizon = self.end, agent.spec.horizon
        shapes: dict[Any, tuple[int | None, ...]] = {AnchorMeasures: (None, horizon, self.dim, num_states)}
        shapes |= {InitialDistribution: (num_states,), SuccessorProjection: (num_states, num_states)}
        shapes[Positions] = num_states, self.num_actions, 2
        for name in known:
            require_choice("known", name, [kind.label for kind in shapes])
        extras: list[Any] = [] if self.blocks is None else [self.blocks]
        for kind in (kind for kind in shapes if kind in agent.needs):
            if kind.label not in known:
                raise ArgumentError("known", f"have the {kind.label} that the algorithm needs", sorted(known))
            array = require_array(kind.label, known[kind.label], shapes[kind])
            if kind is Positions:  # the state after the end is far from all others, and never reached
                array = np.concatenate([array, array[:1] * (0.0, 1.0) + (_FAR, 0.0)]).reshape(-1, 2)
            else:
                array = np.pad(array, [(0, 0)] * 3 + [(0, 1)] if kind is AnchorMeasures else (0, 1))
            extras.append(kind(array))
        if MeanRewards in agent.needs:  # until the first episode has them
            extras.append(MeanRewards(np.zeros((horizon, self.num_states * self.num_actions))))
        return feature_table(self._features).with_extras(*extras)

    def check(self, name: str, state: Any) -> int:
        """Return a state as the agent knows it."""
        plain = state.item() if isinstance(state, np.ndarray) and state.ndim == 0 else state
        number = require_count(name, plain, at_least=0)
        if number >= self.end:
            raise ArgumentError(name, f"be a state from 0 to {self.end - 1}", number)
        return number

    def episode(self, plan: Any, *steps: np.ndarray) -> tuple[Any, Episode]:
        """Return the plan and the episode of an update, from H states, actions, rewards and next states."""
        states, actions, rewards, reached = steps
        at = states.astype(np.int32), actions
        return plan, Episode(*at, self._features[at], rewards, reached.astype(np.int32))


class MappedStates:
    """States of any kind, known by the features of their actions; else as `TableOfStates`."""

    num_states = 1  # the current one
    blocks: Blocks | None = None
    description: Any = None

    def __init__(self, features: Any) -> None:
        if not isinstance(features, FeatureMap):
            expected = "be an array [S, A, d], or have num_actions and dim besides being called"
            raise ArgumentError("features", expected, features)
        self.features, self.tensors = features, dict[str, np.ndarray]()
        self.num_actions = require_count("features.num_actions", features.num_actions)
        self.dim = require_count("features.dim", features.dim)
        self.end = np.zeros((self.num_actions, self.dim))
        if type(features).__name__ in CONFIGURABLE:
            self.description = to_config(features)

    def table(self, agent: Agent, known: Mapping[str, Any]) -> FeatureTable:
        for name in known:
            raise ArgumentError("known", "be empty where states cannot be counted", name)
        return FeatureTable(self.end)

    def check(self, name: str, state: Any) -> np.ndarray:
        return _in_unit_ball(require_array(f"features of {name}", self.features(state), self.end.shape))

    def episode(self, plan: Any, *steps: np.ndarray) -> tuple[Any, Episode]:
        rows, actions, rewards, ahead = steps
        features = rows[np.arange(len(rows)), actions]
        return plan.fill_tables(rows), Episode(np.zeros_like(actions), actions, features, rewards, ahead)


States = TableOfStates | MappedStates


def restore_states(file: AgentFile, features: FeatureMap | None, spec: Spec) -> States:
    """Return the states of the agent in a file; `features` are for a map that the file cannot describe."""
    described, table = file.description["features"], file.tensors.get("features")
    if table is not None:
        if features is not None:
            raise ArgumentError("features", "be left out, as the file has them in a table", features)
        return TableOfStates(table)
    if features is None and described is None:
        raise ArgumentError("features", "be the map that the agent was made with", None)
    states = MappedStates(from_config(described) if features is None else features)
    have, want = (states.num_actions, states.dim), (spec.num_actions, spec.dim)
    if have != want:
        expected = f"be of {want[0]} actions and {want[1]} dimensions, as those of the agent that was saved"
        raise ArgumentError("features", expected, states.features, f"{have[0]} and {have[1]}")
    return states


def _in_unit_ball(features: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        longest = float(np.sqrt(np.square(features).sum(axis=-1)).max(initial=0.0))
    if longest > 1 + _NORM_TOLERANCE:
        raise ArgumentError("features", "have norms of at most 1", longest, f"one of {longest:.6g}")
    return features
