"""Checked inputs of a bandit: its settings and samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.knowledge import name_needs
from driftwise.base.part import choice, count, member, record, scalar
from driftwise.base.times import to_seconds, to_timestamp, to_timestamps
from driftwise.base.validation import (
    ArgumentError,
    as_array,
    require_array,
    require_count,
    require_instance,
    require_number,
)
from driftwise.online.deciders.clock_decider import clock_of, uses_clock
from driftwise.online.limits import (
    LARGEST_FEATURE,
    LARGEST_REWARD,
    as_numbers,
    require_reward_range,
    require_within,
)

_LARGEST_WEIGHT = 1e6


@record
class BanditSettings:
    """All settings of a bandit but its metadata, which is the caller's."""

    algorithm: str
    agent: Agent = member(Agent)
    seed: int = count(at_least=0, bits=64)
    max_pending: int = count(bits=64)
    expire_after: int | None
    expire_after_seconds: Any  # a duration; kept in seconds
    epsilon: float = scalar(at_least=0, at_most=1)
    num_draws: int = count(bits=16)
    reward_range: Sequence[float] | None
    outside: Literal["refuse", "clip"] = choice("refuse", "clip", default="refuse")

    def __post_init__(self) -> None:
        algorithm, agent = require_instance("algorithm", self.algorithm, str), self.agent
        if agent.needs:
            needed = f"{algorithm!r}, which needs {name_needs(agent.needs)}"
            raise ArgumentError("algorithm", "learn from its own rewards alone", algorithm, needed)
        if not agent.sees_arms:
            got = f"{algorithm!r}, which does not"
            raise ArgumentError("algorithm", "know arms by their features", algorithm, got)
        if uses_clock(agent) and clock_of(agent) is None:
            got = f"{algorithm!r}, which has the clock within"
            raise ArgumentError("algorithm", "forget by the clock itself", algorithm, got)
        if self.expire_after is not None:
            require_count("expire_after", self.expire_after)
        if self.expire_after_seconds is not None:
            seconds = to_seconds("expire_after_seconds", self.expire_after_seconds)
            object.__setattr__(self, "expire_after_seconds", require_number("expire_after_seconds", seconds))
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", require_reward_range(self.reward_range))


class Samples(NamedTuple):
    """Features, rewards, weights and times of samples."""

    features: np.ndarray  # [n, d]
    rewards: np.ndarray  # [n]
    weights: np.ndarray  # [n]
    times: np.ndarray  # [n] in seconds since 1970


def require_samples(features: Any, reward: Any, weight: Any, time: Any, dim: int) -> Samples:
    """Return one sample, or many, checked."""
    rows, single = as_numbers(features), as_array(features).ndim == 1
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
