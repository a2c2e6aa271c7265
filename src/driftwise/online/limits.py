"""Limits of the numbers that agents take in, and the errors where they give no finite decision."""

import contextlib
import contextvars
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, TypeVarTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.resources import format_bytes, free_memory, require_memory
from driftwise.base.times import to_timestamp, to_timestamps
from driftwise.base.types import FeatureTable, Key
from driftwise.base.validation import ArgumentError, as_array, require_array, require_count, require_number

if TYPE_CHECKING:
    from driftwise.online.summary import Gauge

LARGEST_FEATURE = 1e6  # beyond it the usual ridge is lost in the rounding of squares
_LARGEST_WEIGHT = 1e6
LARGEST_REWARD = 1e100  # sums of products with features have to stay finite
_LARGEST_SQUARE = LARGEST_FEATURE**2
_FLOAT = np.dtype(np.float64)
_SILENT = contextvars.Context()  # in which NumPy gives no warnings
_SILENT.run(np.seterr, all="ignore")
_Args = TypeVarTuple("_Args")
_T = TypeVar("_T")


def run_silently(function: Callable[[*_Args], _T], *args: *_Args) -> _T:
    """Return the function's result as under `np.errstate(all="ignore")`, ten times as fast."""
    return _SILENT.copy().run(function, *args)


def require_decision_arms(features: Any, dim: int) -> np.ndarray:
    """Return the features of the arms of a decision, checked."""
    if type(features) is np.ndarray and features.dtype is _FLOAT and features.flags.c_contiguous:
        flat, shape = features.ravel(), features.shape  # the usual case, checked fast:
        small = flat.size and len(shape) == 2 and shape[1] == dim and flat.dot(flat) <= _LARGEST_SQUARE
        if small and features.flags.aligned:
            return features
    arms = require_array("features", as_numbers(features), (None, dim))
    if not len(arms):
        raise ArgumentError("features", "have at least one arm", arms.shape, f"the shape {arms.shape}")
    return np.ascontiguousarray(require_within("features", arms, LARGEST_FEATURE))


class Samples(NamedTuple):
    """Features, rewards, weights and times of samples."""

    features: np.ndarray  # [n, d]
    rewards: np.ndarray  # [n]
    weights: np.ndarray  # [n]
    times: np.ndarray  # [n] in seconds since 1970


def require_samples(features: Any, reward: Any, weight: Any, time: Any, dim: int) -> Samples:
    """Return one sample, or many, checked."""
    rows = as_numbers(features)
    single = as_array(rows).ndim == 1
    rows = require_array("features", rows, (dim,) if single else (None, dim)).reshape(-1, dim)
    shape = () if single else (len(rows),)
    rewards = require_array("reward", as_numbers(reward), shape)
    weights = require_array("weight", weight, () if as_array(weight).ndim == 0 else shape)
    if time is None or as_array(time).ndim == 0:
        times = np.array(to_timestamp("time", time))
    else:
        times = to_timestamps("time", time, shape)
    if not len(rows):
        raise ArgumentError("features", "have at least one row", rows.shape, f"the shape {rows.shape}")
    require_within("features", rows, LARGEST_FEATURE)
    require_within("reward", rewards, LARGEST_REWARD)
    if weights.min() < 0:
        raise ArgumentError("weight", "be at least 0", weights.min().item())
    require_within("weight", weights, _LARGEST_WEIGHT)
    weights, times = (np.broadcast_to(array, len(rows)) for array in (weights, times))
    return Samples(rows, rewards.reshape(-1), weights, times)


def best_of(scores: np.ndarray, k: int) -> list[int]:
    """Return the numbers of the `k` highest scores, the best first."""
    if require_count("k", k) > len(scores):
        raise ArgumentError("k", f"be at most the number of arms, {len(scores)}", k)
    return np.argsort(-scores, kind="stable")[:k].tolist()


def require_reward(reward: Any) -> float:
    """Return a single reward within the limits as a float; booleans are 0 and 1."""
    if type(reward) is float and -LARGEST_REWARD <= reward <= LARGEST_REWARD:  # the usual case
        return reward
    if isinstance(reward, (bool, np.bool_)):
        return float(reward)
    return float(require_number("reward", reward, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD))


def require_reward_range(reward_range: Any) -> tuple[float, float]:
    """Return the lowest and the highest possible reward."""
    if not isinstance(reward_range, Sequence) or isinstance(reward_range, str) or len(reward_range) != 2:
        raise ArgumentError("reward_range", "be the lowest and the highest reward", reward_range)
    limits = dict(at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD)
    low, high = (float(require_number("reward_range", edge, **limits)) for edge in reward_range)
    if not low < high:
        raise ArgumentError("reward_range", "be a lower number and a higher one", reward_range)
    return low, high


class RewardRange:
    """The lowest and the highest possible reward; if neither is known, outliers can be clipped."""

    def __init__(self, reward_range: Sequence[float], outside: Literal["refuse", "clip"]) -> None:
        low, high = reward_range
        self._low, self._high = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
        self._refuses = outside == "refuse"
        self._clips_outliers = not self._refuses and not any(map(math.isfinite, reward_range))

    def clip(self, reward: float, gauge: "Gauge") -> float:
        """Return the reward to learn from; one outside the range is counted, and refused or clipped."""
        low, high = self._low, self._high
        if low <= reward <= high:
            return reward
        gauge.outside += 1
        if self._refuses:
            raise ArgumentError("reward", f"lie in reward_range, from {low:g} to {high:g}", reward)
        return min(max(reward, low), high)

    def clip_outlier(self, reward: float, predicted: float, gauge: "Gauge") -> float:
        """Return the reward to learn from; an outlier is clipped where no range is known."""
        if not self._clips_outliers or abs(reward - predicted) <= (farthest := gauge.farthest):
            return reward
        gauge.outside += 1
        return predicted + math.copysign(farthest, reward - predicted)


def as_numbers(values: Any) -> Any:
    """Return values with booleans as 0 and 1, as `pandas.get_dummies` has them; sparse rows become dense."""
    sparse = sys.modules.get("scipy.sparse")  # whoever has such rows has imported it
    if sparse is not None and sparse.issparse(values):
        return values.toarray()
    array = as_array(values)
    mixed = array.dtype.kind == "O" and all(isinstance(value, (Real, np.bool_)) for value in array.flat)
    return array.astype(np.float64) if mixed or array.dtype.kind == "b" else values


def require_within(name: str, values: np.ndarray, limit: float) -> np.ndarray:
    """Return the array, which must not be empty and have numbers between ±limit."""
    largest = float(np.abs(values).max())
    if largest > limit:
        raise ArgumentError(name, f"lie between ±{limit:g}", largest, f"one of size {largest:g}")
    return values


@contextlib.contextmanager
def within_memory(agent: Agent) -> Iterator[None]:
    """Raise an `ArgumentError` where an array of an agent does not fit into memory."""
    try:
        yield
    except MemoryError as error:
        expected = f"fit into the {format_bytes(free_memory())} of memory that are free"
        raise ArgumentError("agent", expected, agent, f"{agent!r}: {error}") from None


def first_state(agent: Agent, features: FeatureTable | None = None) -> Any:
    """Return the first state of an agent, a bandit's without features; refuse one that memory cannot hold."""
    features = FeatureTable(np.zeros((1, agent.spec.dim))) if features is None else features
    state, sizes = agent.init(features), list[int]()
    map_tree(lambda leaf: sizes.append(np.asarray(leaf).nbytes), state)  # zeros take no memory yet
    require_memory("agent", sum(sizes), repr(agent))
    return state


def finite_plan(agent: Agent, state: Any, features: FeatureTable, key: Key) -> Any:
    """Return the agent's plan; a `FloatingPointError` if its numbers are not finite."""
    try:
        plan = agent.plan(state, features, key)
    except (ArithmeticError, ValueError) as error:  # of linear algebra, or of Python's own numbers
        raise not_finite(agent) from error
    if not np.isfinite(plan.weights if plan.q is None else plan.q).all():
        raise not_finite(agent)
    return plan


def not_finite(agent: Agent) -> FloatingPointError:
    """Return the error of a decision whose index is not finite."""
    return FloatingPointError(
        "agent: its index is not finite; the ridge may be too small, or the radius too large, "
        f"for such features and rewards: {agent!r}"
    )
