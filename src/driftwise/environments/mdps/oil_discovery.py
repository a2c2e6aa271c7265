"""Prospecting along a line for oil that moves."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from driftwise.base.arguments import Count, NonNegative
from driftwise.base.validation import require_number
from driftwise.environments.drift import Drift, anchor_numbers
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


class Setting(NamedTuple):
    """Where oil lies, how fast it thins out around there, and what moving costs."""

    centres: tuple[float, ...]
    sharpness: float
    moving_cost: float


PUBLISHED_CENTRE = 0.7 + math.pi / 60
SETTINGS = {"ours": Setting((0.8, 0.2), sharpness=5.0, moving_cost=0.2)} | {
    f"published_{sharpness}": Setting(
        (PUBLISHED_CENTRE, 1 - PUBLISHED_CENTRE), float(sharpness), moving_cost=1.0
    )
    for sharpness in (1, 10, 50)
}


@register
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
    r"""A line with oil around a place that moves: go there, and pay for the way.

    States and actions are places in [0, 1]: the middles of as many equal intervals. Action `a` in state `x`
    surveys `a`, where the next step starts, and earns
    `max(0, exp(−sharpness·|a − centre|) − moving_cost·|a − x|)`. With `noise`, the state reached is spread
    around `a` as a Gaussian of that standard deviation, cut to the line. Episodes start at the left end.

    Every anchor has its own centre: many of them, close together, make oil that wanders; a mixture of two
    distant ones is oil at both. A drift with fewer anchors than `centres` takes the first ones. Features are
    one-hot, so `dim = num_states·num_actions`; agents that need a metric have `positions`. The finer the
    grid, the closer to the continuous problem; values are exact on every grid.

    The `setting` has what is not given: `"ours"` is centres 0.8 and 0.2, sharpness 5, moving cost 0.2. The
    published ones have a sharpness of 1, 10 or 50, a moving cost of 1 and the centre `0.7 + π/60`; a second
    anchor's, the mirror image, is ours.

    Reference: the oil problem of Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement
    Learning in Metric Spaces", 2019, with its Laplace survey function. The grid and the drift are ours.
    """
    given = dict(centres=centres, sharpness=sharpness, moving_cost=moving_cost)
    chosen = SETTINGS[setting]._replace(**{name: each for name, each in given.items() if each is not None})
    thinning = require_number("sharpness", chosen.sharpness, at_least=0)
    cost = require_number("moving_cost", chosen.moving_cost, at_least=0)
    centres, drift = anchor_numbers("centres", chosen.centres, drift, at_least=0, at_most=1)
    require_models(
        (num_states, num_actions, num_states * num_actions, horizon),
        drift,
        num_states=num_states,
        num_actions=num_actions,
        horizon=horizon,
    )
    places, targets = middles(num_states), middles(num_actions)
    way = np.abs(targets - places[:, None])  # [S, A]
    kernel = np.broadcast_to(_arrivals(places, targets, noise), (num_states, num_actions, num_states))

    def anchor(centre: float) -> tuple[np.ndarray, np.ndarray]:
        return np.maximum(0, np.exp(-thinning * np.abs(targets - centre)) - cost * way), kernel

    anchors = [anchor(centre) for centre in centres]
    positions = np.stack(np.meshgrid(places, targets, indexing="ij"), axis=-1)
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards, positions=positions)


def middles(count: int) -> np.ndarray:
    """Midpoints of equal intervals of [0, 1]."""
    return (np.arange(count) + 0.5) / count


def _arrivals(places: np.ndarray, targets: np.ndarray, noise: float) -> np.ndarray:
    """Probabilities of the places reached from each target, `[A, S]`: without noise, of the nearest."""
    squared = (places - targets[:, None]) ** 2
    beyond = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / (2 * noise**2)) if noise else (beyond < 1e-12).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)
