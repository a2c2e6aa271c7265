"""DeepSea: one path of many leads to the treasure."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Seed, Several, Share
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


@register
def deep_sea(
    *,
    size: Several = 10,
    move_cost: Share = 0.01,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """A dive through a square of water: only `size` moves to the right in a row find the treasure.

    Each step sinks one row and moves one column left or right, from the left column of the top row on. Which
    of the two actions is right is drawn from `seed` for every cell, and drawn again for every anchor. A move
    to the right costs `move_cost/size`, and from the bottom right corner it finds 1: the best return is
    `1 − move_cost`, and uniform play finds the treasure with probability 2^−size.

    To keep rewards in [0, 1] all of them are raised by `move_cost/size`: a move to the left pays that much, a
    move to the right nothing, the treasure 1. Every return is thereby `move_cost` higher. The row is the
    step, so a state is a column; features are one-hot and `dim = 2·size`.

    Reference: Osband, Van Roy, Russo & Wen, "Deep Exploration via Randomized Value Functions", 2019, and
    Osband et al., "Behaviour Suite for Reinforcement Learning", 2020. New actions for every anchor are ours.
    """
    drift = checked_drift(drift)
    require_models((size, 2, 2 * size, size), drift, steps=size, size=size)
    rng = np.random.default_rng(seed)
    anchors = [_sea(rng.integers(2, size=(size, size)), move_cost) for _ in range(drift.num_anchors)]
    return tabular_mdp(anchors, horizon=size, drift=drift, rewards=rewards)


def _sea(right: np.ndarray, move_cost: float) -> tuple[np.ndarray, np.ndarray]:
    """Tables of every step from the action that is right, `[row, column]`."""
    size = len(right)
    reward = np.zeros((size, size, 2))
    kernel = np.zeros((size, size, 2, size))
    for row, column in np.ndindex(size, size):
        to_right = right[row, column]
        reward[row, column, 1 - to_right] = move_cost / size
        kernel[row, column, to_right, min(column + 1, size - 1)] = 1
        kernel[row, column, 1 - to_right, max(column - 1, 0)] = 1
    reward[-1, -1, right[-1, -1]] = 1
    return reward, kernel
