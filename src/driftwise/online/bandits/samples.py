"""Features that a bandit is given: the arms of a decision, and samples that it did not decide on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent
from driftwise.base.times import moment_of, moments_of
from driftwise.base.validation import ArgumentError, as_array, require_array
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD, as_numbers, require_within
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.mirror_descent import MirrorDescent
from driftwise.parts.weighted_likelihood import WeightedLikelihood

LARGEST_WEIGHT = 1e6
LARGEST_SQUARE = LARGEST_FEATURE**2
FLOAT = np.dtype(np.float64)


class Samples(NamedTuple):
    """Features, rewards, weights and times."""

    features: np.ndarray  # [n, d]
    rewards: np.ndarray  # [n]
    weights: np.ndarray  # [n]
    times: np.ndarray  # [n] in seconds since 1970


def arms_of(features: Any, dim: int) -> np.ndarray:
    """The arms of a decision, checked."""
    if type(features) is np.ndarray and features.dtype is FLOAT and features.flags.c_contiguous:
        flat, shape = features.ravel(), features.shape  # the usual case, seen at a glance:
        if flat.size and len(shape) == 2 and shape[1] == dim and flat.dot(flat) <= LARGEST_SQUARE:
            return features
    arms = require_array("features", as_numbers(features), (None, dim))
    if not len(arms):
        raise ArgumentError("features", "offer at least one arm", arms.shape, f"the shape {arms.shape}")
    return require_within("features", arms, LARGEST_FEATURE)


def samples_of(features: Any, reward: Any, weight: Any, time: Any, dim: int) -> Samples:
    """One sample, or many, checked."""
    rows, single = as_numbers(features), as_array(features).ndim == 1
    rows = require_array("features", rows, (dim,) if single else (None, dim)).reshape(-1, dim)
    shape = () if single else (len(rows),)
    rewards = require_array("reward", as_numbers(reward), shape)
    weights = require_array("weight", weight, () if as_array(weight).ndim == 0 else shape)
    if time is None or as_array(time).ndim == 0:
        times = np.array(moment_of("time", time))
    else:
        times = moments_of("time", time, shape)
    if not len(rows):
        raise ArgumentError("features", "have at least one row", rows.shape, f"the shape {rows.shape}")
    require_within("features", rows, LARGEST_FEATURE)
    require_within("reward", rewards, LARGEST_REWARD)
    if weights.min() < 0:
        raise ArgumentError("weight", "be at least 0", weights.min().item())
    require_within("weight", weights, LARGEST_WEIGHT)
    weights, times = (np.broadcast_to(each, len(rows)) for each in (weights, times))
    return Samples(rows, rewards.reshape(-1), weights, times)


def takes_weights(agent: Agent) -> bool:
    """Whether a sample may be the mean of many rewards."""
    base = agent.base if isinstance(agent, MixtureOfMemories) else agent
    return isinstance(base, LeastSquares | MirrorDescent | WeightedLikelihood)
