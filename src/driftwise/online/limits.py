"""Limits of the numbers that agents take in, and the error where they give no finite decision."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.memory import free_memory, in_words, require_room
from driftwise.base.types import FeatureTable, Key
from driftwise.base.validation import ArgumentError, as_array, require_number

LARGEST_FEATURE = 1e6  # beyond it the usual ridge is lost in the rounding of squares
LARGEST_REWARD = 1e100  # sums of products with features have to stay finite
SILENT = contextvars.Context()  # where NumPy warns of nothing
SILENT.run(np.seterr, all="ignore")
Args = TypeVarTuple("Args")
T = TypeVar("T")


def silently(function: Callable[[*Args], T], *args: *Args) -> T:
    """The function's result, as under `np.errstate(all="ignore")`, which takes ten times as long to enter."""
    return SILENT.copy().run(function, *args)


def require_reward(reward: Any) -> float:
    """A single reward within the limits, as a float; booleans are 0 and 1."""
    if type(reward) is float and -LARGEST_REWARD <= reward <= LARGEST_REWARD:  # the usual case
        return reward
    if isinstance(reward, (bool, np.bool_)):
        return float(reward)
    return float(require_number("reward", reward, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD))


def as_numbers(values: Any) -> Any:
    """Values in which booleans are 0 and 1, as `pandas.get_dummies` has them among numbers."""
    array = as_array(values)
    mixed = array.dtype.kind == "O" and all(isinstance(each, (Real, np.bool_)) for each in array.flat)
    return array.astype(np.float64) if mixed or array.dtype.kind == "b" else values


def require_within(name: str, values: np.ndarray, limit: float) -> np.ndarray:
    """An array that is not empty, with numbers between ±limit."""
    largest = float(np.abs(values).max())
    if largest > limit:
        raise ArgumentError(name, f"lie between ±{limit:g}", largest, f"one of size {largest:g}")
    return values


@contextlib.contextmanager
def within_memory(agent: Agent) -> Iterator[None]:
    """Where an array of an agent does not fit into memory, say so: an `ArgumentError`."""
    try:
        yield
    except MemoryError as error:
        expected = f"fit into the {in_words(free_memory())} of memory that are free"
        raise ArgumentError("agent", expected, agent, f"{agent!r}: {error}") from None


def first_state(agent: Agent, features: FeatureTable) -> Any:
    """The agent's first state, if there is memory for what will be written to it."""
    state, sizes = agent.init(features), list[int]()
    map_tree(lambda leaf: sizes.append(np.asarray(leaf).nbytes), state)  # zeros take no memory yet
    require_room("agent", sum(sizes), repr(agent))
    return state


def finite_plan(agent: Agent, state: Any, features: FeatureTable, key: Key) -> Any:
    """The agent's plan; a `FloatingPointError` if its numbers are not finite.

    It is called where NumPy warns of nothing.
    """
    try:
        plan = agent.plan(state, features, key)
    except (ArithmeticError, ValueError) as error:  # of linear algebra, or of Python's own numbers
        raise not_finite(agent) from error
    if not np.isfinite(plan.weights if plan.q is None else plan.q).all():
        raise not_finite(agent)
    return plan


def not_finite(agent: Agent) -> FloatingPointError:
    """The error of a decision that no finite number supports."""
    return FloatingPointError(
        "agent: its index is not finite; the ridge may be too small, or the radius too large, "
        f"for such features and rewards: {agent!r}"
    )
