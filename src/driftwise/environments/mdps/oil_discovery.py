"""Prospecting along a line for oil that moves."""

from __future__ import annotations

import dataclasses

import numpy as np

from driftwise.base.arguments import Count, NonNegative
from driftwise.environments.drift import Drift, anchor_numbers
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


@register
def oil_discovery(
    *,
    num_states: Count = 10,
    num_actions: Count = 10,
    horizon: Count = 5,
    centres: tuple[float, ...] = (0.8, 0.2),
    sharpness: NonNegative = 5.0,
    moving_cost: NonNegative = 0.2,
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

    Reference: the oil problem of Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement
    Learning in Metric Spaces", 2019, with its Laplace survey function. The grid and the drift are ours.
    """
    centres, drift = anchor_numbers("centres", centres, drift, at_least=0, at_most=1)
    places, targets = middles(num_states), middles(num_actions)
    way = np.abs(targets - places[:, None])  # [S, A]
    kernel = np.broadcast_to(_arrivals(places, targets, noise), (num_states, num_actions, num_states))

    def anchor(centre: float) -> tuple[np.ndarray, np.ndarray]:
        return np.maximum(0, np.exp(-sharpness * np.abs(targets - centre)) - moving_cost * way), kernel

    anchors = [anchor(centre) for centre in centres]
    environment = tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)
    positions = np.stack(np.meshgrid(places, targets, indexing="ij"), axis=-1)
    return dataclasses.replace(environment, positions=positions)


def middles(count: int) -> np.ndarray:
    """Midpoints of equal intervals of [0, 1]."""
    return (np.arange(count) + 0.5) / count


def _arrivals(places: np.ndarray, targets: np.ndarray, noise: float) -> np.ndarray:
    """Probabilities of the places reached from each target, `[A, S]`: without noise, of the nearest."""
    squared = (places - targets[:, None]) ** 2
    beyond = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / (2 * noise**2)) if noise else (beyond < 1e-12).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)
