"""Prospecting along a line for oil that moves."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from driftwise.base.schema import Count, NonNegative
from driftwise.base.validation import require_number
from driftwise.environments.drift import Drift, require_anchor_numbers
from driftwise.environments.environment import register_environment, require_models
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.tabular import tabular_mdp

_PUBLISHED = (0.7 + math.pi / 60, 1 - (0.7 + math.pi / 60))
_SETTINGS = {  # where oil lies, how fast it thins out around there, and what moving costs
    "ours": ((0.8, 0.2), 5.0, 0.2),
    "published_1": (_PUBLISHED, 1.0, 1.0),
    "published_10": (_PUBLISHED, 10.0, 1.0),
    "published_50": (_PUBLISHED, 50.0, 1.0),
}


@register_environment
def oil_discovery(
    *,
    num_states: Count = 10,
    num_actions: Count = 10,
    horizon: Count = 5,
    setting: Literal["ours", "published_1", "published_10", "published_50"] = "ours",
    centres: tuple[float, ...] | None = None,
    sharpness: float | None = None,
    moving_cost: float | None = None,
    noise: NonNegative = 0.0,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A line with oil around a place that moves: go there, and pay for the way.

    States and actions are places in [0, 1]: the middles of as many equal intervals. Action `a` in state `x`
    surveys `a`, where the next step starts, and earns
    `max(0, exp(−sharpness·|a − centre|) − moving_cost·|a − x|)`. With `noise`, the state reached is spread
    around `a` as a Gaussian of that standard deviation, cut to the line. Episodes start at the left end.

    Each of `centres` is an anchor's, of which a drift takes the first ones; a mixture of two is oil at both.
    Features are one-hot, so `dim = num_states·num_actions`; agents that need a metric have `positions`.

    The `setting` has what is not given: `"ours"` is centres 0.8 and 0.2, sharpness 5, moving cost 0.2. The
    published ones have a sharpness of 1, 10 or 50, a moving cost of 1 and the centre `0.7 + π/60`; a second
    anchor's, the mirror image, is ours.

    Reference: the oil problem of Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement
    Learning in Metric Spaces", 2019, with its Laplace survey function. The grid and the drift are ours.
    """
    given = zip((centres, sharpness, moving_cost), _SETTINGS[setting], strict=True)
    where, thinning, cost = (usual if own is None else own for own, usual in given)
    thinning = require_number("sharpness", thinning, at_least=0)
    cost = require_number("moving_cost", cost, at_least=0)
    centres, drift = require_anchor_numbers("centres", where, drift, at_least=0, at_most=1)
    sizes = dict(num_states=num_states, num_actions=num_actions, horizon=horizon)
    require_models((num_states, num_actions, num_states * num_actions, horizon), drift, **sizes)
    places, targets = ((np.arange(count) + 0.5) / count for count in (num_states, num_actions))
    way = np.abs(targets - places[:, None])  # [S, A]
    squared = (places - targets[:, None]) ** 2
    beyond = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / (2 * noise**2)) if noise else (beyond < 1e-12).astype(float)
    arrivals = weights / weights.sum(axis=1, keepdims=True)  # [A, S]: without noise, at the nearest place
    kernel = np.broadcast_to(arrivals, (num_states, num_actions, num_states))
    found = [np.exp(-thinning * np.abs(targets - centre)) for centre in centres]
    anchors = [(np.maximum(0, oil - cost * way), kernel) for oil in found]
    positions = np.stack(np.meshgrid(places, targets, indexing="ij"), axis=-1)
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards, positions=positions)
