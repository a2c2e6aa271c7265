"""The states of an episodic agent: numbers with a table of features, or anything that has features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from driftwise.base.part import CONFIGURABLE, to_config
from driftwise.base.types import Episode, FeatureTable
from driftwise.base.validation import ArgumentError, require_array, require_choice, require_count
from driftwise.online.episodic_memory import VisitedEpisode
from driftwise.parts.regression import feature_table

TOLERANCE = 1e-8  # of norms: far above rounding
FAR = 1000.0  # from positions in [0, 1]


class Step(NamedTuple):
    """One step, with states as the agent knows them."""

    state: Any
    action: int
    reward: float
    reached: Any


@runtime_checkable
class FeatureMap(Protocol):
    """Features of all actions in a state."""

    @property
    def num_actions(self) -> int: ...

    @property
    def dim(self) -> int: ...

    def __call__(self, state: Any) -> np.ndarray:
        """`[num_actions, dim]`, with norms of at most one."""
        ...


class States(Protocol):
    """What an episodic agent has to know of states."""

    num_states: int
    num_actions: int
    dim: int
    nowhere: Any  # where nothing can be earned
    description: Any  # plain values from which it can be made again, besides the tensors; None if it cannot
    tensors: dict[str, np.ndarray]

    def require_enough(self, needs: Sequence[str]) -> None:
        """Refuse algorithms that need more than can be known."""
        ...

    def table(self, horizon: int, needs: Sequence[str], known: Mapping[str, Any]) -> FeatureTable:
        """The features of all states, with what the agent needs besides."""
        ...

    def with_rewards(self, table: FeatureTable, rewards: Any, *, needed: bool) -> FeatureTable:
        """The same with the mean rewards of an episode."""
        ...

    def checked(self, name: str, state: Any) -> Any:
        """A state as the agent knows it."""
        ...

    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, Any]:
        """What an update needs: the plan, and H steps as arrays."""
        ...


class _Field(NamedTuple):
    """The shape of what an agent may need, and how the state is added in which nothing can be earned."""

    shape: tuple[int | None, ...]
    extended: Callable[[np.ndarray], np.ndarray]


def _with_column(measures: np.ndarray) -> np.ndarray:
    return np.pad(measures, [(0, 0)] * 3 + [(0, 1)])


def _with_zeros(known: np.ndarray) -> np.ndarray:
    return np.pad(known, (0, 1))


def _with_far_state(positions: np.ndarray) -> np.ndarray:
    far = positions[:1] * (0.0, 1.0) + (FAR, 0.0)
    return np.concatenate([positions, far]).reshape(-1, 2)


class TableOfStates:
    """States `0 … S−1`, and one more with features 0 in which an episode that has terminated stays."""

    def __init__(self, features: Any) -> None:
        table = _in_unit_ball(require_array("features", features, (None, None, None)))
        if not table.size:
            raise ArgumentError(
                "features", "be of some states and actions", table.shape, f"the shape {table.shape}"
            )
        self.nowhere, self.num_actions, self.dim = table.shape
        self.num_states = self.nowhere + 1
        self._features = np.concatenate([table, np.zeros((1, *table.shape[1:]))])
        self.description, self.tensors = None, {"features": table}

    def require_enough(self, needs: Sequence[str]) -> None:
        pass

    def table(self, horizon: int, needs: Sequence[str], known: Mapping[str, Any]) -> FeatureTable:
        fields = {
            "measures": _Field((None, horizon, self.dim, self.nowhere), _with_column),
            "initial": _Field((self.nowhere,), _with_zeros),
            "projection": _Field((self.nowhere, self.nowhere), _with_zeros),
            "positions": _Field((self.nowhere, self.num_actions, 2), _with_far_state),
        }
        for name in known:
            require_choice("known", name, list(fields))
        table = feature_table(self._features)
        for name in (each for each in needs if each in fields):
            if name not in known:
                raise ArgumentError("known", f"have the {name} that the algorithm needs", sorted(known))
            given = require_array(name, known[name], fields[name].shape)
            table = table._replace(**{name: fields[name].extended(given)})
        if "rewards" in needs:  # until the first episode has them
            table = table._replace(rewards=np.zeros((horizon, len(table.values))))
        return table

    def with_rewards(self, table: FeatureTable, rewards: Any, *, needed: bool) -> FeatureTable:
        _require_rewards(rewards, needed=needed)
        if not needed:
            return table
        assert table.rewards is not None
        given = require_array("rewards", rewards, (len(table.rewards), self.nowhere, self.num_actions))
        return table._replace(rewards=np.pad(given, [(0, 0), (0, 1), (0, 0)]).reshape(len(given), -1))

    def checked(self, name: str, state: Any) -> int:
        number = require_count(name, scalar(state), at_least=0)
        if number >= self.nowhere:
            raise ArgumentError(name, f"be a state from 0 to {self.nowhere - 1}", number)
        return number

    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, Episode]:
        states, actions, rewards, reached = zip(*steps, strict=True)
        at = np.array(states, dtype=np.int32), np.array(actions, dtype=np.int32)
        successors = np.array(reached, dtype=np.int32)
        return plan, Episode(*at, self._features[at], np.array(rewards), successors)


class MappedStates:
    """States of any kind, known by the features of their actions."""

    num_states = 1  # the one that was met

    def __init__(self, features: Any) -> None:
        if not isinstance(features, FeatureMap):
            expected = "be an array [S, A, d], or have num_actions and dim besides being called"
            raise ArgumentError("features", expected, features)
        self.features = features
        self.num_actions = require_count("features.num_actions", features.num_actions)
        self.dim = require_count("features.dim", features.dim)
        self.nowhere = np.zeros((self.num_actions, self.dim))
        self.description = to_config(features) if type(features).__name__ in CONFIGURABLE else None
        self.tensors: dict[str, np.ndarray] = {}

    def require_enough(self, needs: Sequence[str]) -> None:
        if needs:
            expected = "learn from what it earns alone where states cannot be counted"
            raise ArgumentError("algorithm", expected, needs, f"one that needs {' and '.join(needs)}")

    def table(self, horizon: int, needs: Sequence[str], known: Mapping[str, Any]) -> FeatureTable:
        for name in known:
            raise ArgumentError("known", "be empty where states cannot be counted", name)
        return FeatureTable(self.nowhere)

    def with_rewards(self, table: FeatureTable, rewards: Any, *, needed: bool) -> FeatureTable:
        _require_rewards(rewards, needed=needed)
        return table

    def checked(self, name: str, state: Any) -> np.ndarray:
        rows = require_array(f"features of {name}", self.features(state), self.nowhere.shape)
        return _in_unit_ball(rows)

    def episode(self, plan: Any, steps: Sequence[Step]) -> tuple[Any, VisitedEpisode]:
        states, actions, rewards, reached = zip(*steps, strict=True)
        met, taken = np.stack(states), np.array(actions, dtype=np.int32)
        zeros, of_taken = np.zeros_like(taken), met[np.arange(len(met)), taken]
        episode = VisitedEpisode(zeros, taken, of_taken, np.array(rewards), zeros, np.stack(reached))
        return plan.visited(met), episode


def _in_unit_ball(features: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        longest = float(np.sqrt(np.square(features).sum(axis=-1)).max(initial=0.0))
    if longest > 1 + TOLERANCE:
        raise ArgumentError("features", "have norms of at most 1", longest, f"one of {longest:.6g}")
    return features


def _require_rewards(rewards: Any, *, needed: bool) -> None:
    if needed != (rewards is not None):
        expected = "given, as the algorithm needs the mean ones" if needed else "left out"
        raise ArgumentError("rewards", f"be {expected}", rewards)


def scalar(value: Any) -> Any:
    """Gymnasium's numbers are NumPy's, at times in arrays without axes."""
    return value.item() if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 else value
