"""Sentences of advice about a bandit, for its summary."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.expanding import MixtureOfMaps, map_features
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.base.types import FeatureTable, Moments
from driftwise.online.summary import Gauge

_ENOUGH = 20  # decisions for each arm, after which one that was never tried is remarkable
_FEW = 20  # waiting decisions, too few for a hint
_SAMPLES = 10  # for each dimension, before a hint says that features explain nothing
_CHANCE = 2.0  # times the mean of an F statistic without any effect
_UNKNOWN = 0.99  # share of the prior's variance in the direction of an arm


def find_hints(
    agent: Agent, state: Any, gauge: Gauge, arms: np.ndarray | None, num_decisions: int, num_waiting: int
) -> Iterator[str]:
    """Yield a sentence for each thing that the user may want to change; `arms` are of the last round."""
    if isinstance(agent, MixtureOfMaps) and arms is not None:
        blocks, (name, agent, state) = agent.blocks, agent.heaviest(state)
        arms = map_features(name, arms, blocks)
    moments = agent.moments(state)
    if moments is None or arms is None or len(arms) < 2 or moments.gram.shape[:-2] != (1,):
        return
    untried = _count_untried(agent, state, arms) if num_decisions >= _ENOUGH * len(arms) else 0
    if untried:
        yield (
            f"{untried} of the {len(arms)} arms of the last decision have features that were never tried in "
            f"{num_decisions} decisions: take one now and then with `arm=`, or explore with `epsilon=`."
        )
    memory = float(np.max(moments.weight))  # some count per direction
    if num_waiting >= _FEW and num_waiting > memory:
        yield (
            f"{num_waiting} decisions wait for rewards, more than the {memory:.0f} rewards that count: "
            "report rewards sooner, or set `expire_after` if many never come."
        )
    dim = arms.shape[1]
    noise = gauge.recent**2 * np.pi / 2  # of Gaussian errors with this mean size
    if memory >= _SAMPLES * dim and _variance_ratio(moments, dim, noise) < _CHANCE:
        yield (
            "The features explain no more of the rewards than chance would: add features that tell good arms "
            "from bad ones, or products of those you have, as `expand='auto'` of adaptive bandits does."
        )


def _variance_ratio(moments: Moments, dim: int, noise: float) -> float:
    """Return the F statistic of the first `dim` weights; infinite where there is no noise."""
    inverse = np.linalg.pinv(moments.gram[0])
    weights = (inverse @ moments.cross[0, :, 0])[:dim]
    square = weights @ np.linalg.pinv(inverse[:dim, :dim]) @ weights
    return float(square / (dim * noise)) if noise > 0 else np.inf


def _count_untried(agent: Agent, state: Any, arms: np.ndarray) -> int:
    """Return how many arms `[N, d]` the longest memory knows nothing about."""
    rows = arms
    if isinstance(agent, MixtureOfMemories):
        rows = agent.extend_table(FeatureTable(arms), state.unit).values
        agent, state = index_part(agent.base, -1), map_tree(lambda leaf: leaf[-1], state.base)
    moments = agent.moments(state)
    assert moments is not None
    squares = np.vecdot(rows[:, : arms.shape[1]], rows[:, : arms.shape[1]])
    variances = np.vecdot(rows @ np.linalg.pinv(moments.gram[0]), rows)
    return int(np.count_nonzero((squares > 0) & (moments.ridge * variances > _UNKNOWN * squares)))
