"""Environments: what engines, experiments and reports ask of one, its form as arrays, and their registry."""

import copy
import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.knowledge import name_needs
from driftwise.base.part import from_config, to_config
from driftwise.base.plugins import Registry
from driftwise.base.resources import count_bytes, require_memory
from driftwise.base.schema import apply_checks, bind_arguments, build_from_table
from driftwise.base.types import Array, Episode, FeatureTable, Key, Plan, Spec, Variation
from driftwise.base.validation import ArgumentError, overflow_errors, require_count
from driftwise.environments.drift import Drift


class Record(NamedTuple):
    """The outcome of an episode."""

    reward: Array  # sum of the rewards seen
    value: Array  # exact V^π of the first state
    optimal: Array  # exact V* there


class Carry(NamedTuple):
    """The state of a run between two episodes."""

    state: Any  # the agent's
    position: Array | None = None  # the environment's own state, if it has one


class PlayedEpisode(NamedTuple):
    """An episode in full, with the agent's states around it."""

    before: Any  # the agent's state before it
    features: FeatureTable  # what was known to the agent
    plan: Plan
    episode: Episode
    record: Record
    carry: Carry  # into the next episode


class EnvironmentArrays(Protocol):
    """An environment as a named tuple of arrays, of one library and one precision."""

    @property
    def example(self) -> FeatureTable: ...  # a table of the shape and type that agents will meet
    def begin(self, agent: Agent) -> Carry: ...  # the carry into the first episode
    def inputs(self, path: Array) -> Any: ...  # what all runs share, by episode of the path: leaves `[T, …]`
    # plans, acts and learns in episode `t` with its `inputs`, and evaluates the plan's policy exactly
    def advance(self, agent: Agent, carry: Carry, inputs: Any, run_key: Key, t: Any) -> PlayedEpisode: ...


class Environment(ABC):
    """A path of models. It holds no metrics: regret comes from exact values."""

    name: str  # what tables and files call it
    config: Mapping[str, Any]  # how it was made, for manifests
    continuing: bool = False  # no episodes: a step takes the place of one, and its regret may be negative

    @property
    @abstractmethod
    def spec(self) -> Spec:
        """The sizes of the problem."""

    @abstractmethod
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """Return the path of the models at the episodes `[T]`, checked: `[T, ...]`."""

    @abstractmethod
    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Return the episodes before `num_episodes` at which the model jumps."""

    @abstractmethod
    def variation(self, num_episodes: int) -> Variation:
        """Return the variation of the model in the first `num_episodes` episodes."""

    @abstractmethod
    def to_arrays(self, dtype: Any = np.float64, *, needs: tuple[type, ...] = ()) -> EnvironmentArrays:
        """Return the environment as arrays, with what an agent `needs` in its tables, if it is known."""

    def require_known(self, needs: tuple[type, ...], *known: type) -> None:
        """Refuse what an agent `needs` and this environment does not have."""
        if unknown := [need for need in needs if need not in known]:
            raise ArgumentError("environment", f"have {name_needs(unknown)}, which the agent needs", self)

    @abstractmethod
    def digest(self) -> str:
        """Return a text that tells it from other environments, whatever their names."""


MODEL_TOLERANCE = 1e-8  # of probabilities, rewards and norms: far above rounding, far below a mistake
_P = ParamSpec("_P")
_E = TypeVar("_E", bound=Environment)

ENVIRONMENTS: Registry[Callable[..., Environment]] = Registry("environment")


def build_environment(name: str, **parameters: Any) -> Environment:
    """Return an environment by its maker's name; parts may be given as `to_config` describes them."""
    table = {key: from_config(value) for key, value in parameters.items()}
    return build_from_table(ENVIRONMENTS.find(name), table)


def register_environment(maker: Callable[_P, _E]) -> Callable[_P, _E]:
    """Register a maker of environments; its keywords are checked by annotations, and are the `config`."""
    signature = inspect.signature(maker)

    @functools.wraps(maker)
    def make_described(*args: _P.args, **kwargs: _P.kwargs) -> _E:
        bound = bind_arguments(maker.__name__, signature, *args, **kwargs)
        with overflow_errors(maker.__name__, bound.arguments):
            made = maker(**apply_checks(maker, bound.arguments))  # pyright: ignore[reportCallIssue]
        bound.apply_defaults()
        environment = copy.copy(made)  # another maker may have made it
        object.__setattr__(environment, "name", maker.__name__)
        object.__setattr__(environment, "config", to_config(bound.arguments))
        return environment

    ENVIRONMENTS.add(make_described)
    return make_described


def require_models(sizes: tuple[int, int, int, int], drift: Drift, *, steps: int = 1, **given: int) -> None:
    """Refuse linear MDPs of S states, A actions, d features and H steps that do not fit into memory.

    The maker makes measures of as many `steps` as differ. The sizes follow from the `given` arguments.
    """
    num_states, num_actions, dim, horizon = sizes
    features, kept = (num_states, num_actions, dim), (drift.num_anchors, horizon)
    rewards, measures = (*kept, num_states, num_actions), (*kept, dim, num_states)
    at_peak = count_bytes(*[features] * 3, measures, (*kept, dim), rewards)  # made, copied, and squared
    at_peak += at_peak // 4  # masks of what is not finite, or out of bounds
    copies = 3 * count_bytes((drift.num_anchors, steps, dim, num_states))  # measures before those of all H
    named = ", ".join(f"{name} = {value}" for name, value in given.items())
    anchors = f"{drift.num_anchors} anchor{'s' * (drift.num_anchors > 1)}"
    require_memory("models", at_peak + copies, f"{named} and {anchors}")


def require_path(num_episodes: int, width: int) -> int:
    """Return the number of episodes, if memory suffices for `width` numbers of each."""
    num_episodes = require_count("num_episodes", num_episodes)
    require_memory("paths", count_bytes((num_episodes, width)), f"num_episodes = {num_episodes}")
    return num_episodes


def check_models(features: np.ndarray, theta: np.ndarray, mu: np.ndarray, initial: np.ndarray) -> None:
    """Raise a `ValueError` that says what keeps these arrays from being linear MDPs."""
    where, pair = ("anchor", "step"), ("anchor", "step", "state", "action")
    check_all(np.linalg.norm(features, axis=-1), "features", "norm", "at most 1", pair[2:], 0.0, 1.0)
    check_all(initial, "initial", "probability", "at least 0", ("state",), 0.0, np.inf)
    check_all(initial.sum(), "initial", "sum", "1", (), 1.0, 1.0)
    of_pairs = functools.partial(np.einsum, "sad,jhd->jhsa", features)  # not both at once
    check_all(of_pairs(theta), "theta", "mean reward", "in [0, 1]", pair, 0.0, 1.0)
    check_all(of_pairs(mu.sum(-1)), "mu", "sum of the transition probabilities", "1", pair, 1.0, 1.0)
    root = np.sqrt(features.shape[-1])  # norms after what they follow from: a wrong sum is named first
    at_most = f"at most sqrt(dim) = {root:g}"
    check_all(np.linalg.norm(theta, axis=-1), "theta", "norm", at_most, where, 0.0, root)
    masses = np.linalg.norm(mu.sum(-1), axis=-1)  # ‖μ(S)‖, as the paper assumes: signed masses may cancel
    check_all(masses, "mu", "norm of the masses mu(S)", at_most, where, 0.0, root)
    if features.min() >= 0 and mu.min() >= 0:
        return  # every probability is a sum of non-negative terms
    for j, h in np.ndindex(*mu.shape[:2]):
        name, axes = f"mu (anchor {j}, step {h})", ("state", "action", "next state")
        check_all(features @ mu[j, h], name, "transition probability", "at least 0", axes, 0.0, np.inf)


def check_all(
    values: np.ndarray, name: str, what: str, expected: str, axes: tuple[str, ...], low: float, high: float
) -> None:
    """Raise a `ValueError` that names the first value outside of the bounds and its place on the axes."""
    bad = np.argwhere((values < low - MODEL_TOLERANCE) | (values > high + MODEL_TOLERANCE))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        where = f"{what} at {place}" if place else what
        raise ValueError(f"{name}: {where} is {values[index]:.6g}, expected {expected}")
