"""The bidirectional combination lock."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.arguments import Seed, Several
from driftwise.base.validation import require_number
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


@register
def combination_lock(
    *,
    horizon: Several = 5,
    drift: Drift | None = None,
    changing: Literal["ends", "start"] = "ends",
    intended: float = 0.98,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """Two locks of `horizon − 1` positions; one wrong action and the way to the end is lost.

    The first action chooses a lock. In a lock one action (drawn from `seed`) moves on, the other falls
    into a sink that pays `1/(8H)` a step; either happens as intended with probability `intended`, else
    the opposite happens. The right action at the last position pays: 1 in the good lock, 1/4 in the other.

    Two anchors. With `changing="ends"` they differ in which lock is good; with `changing="start"` in
    where the first action leads: the lock it names with probability `intended`, or the other one.
    States: 0 is the start, 1 … H−1 the first lock, H … 2H−2 the second, 2H−1 the sink. Features are
    one-hot, so `dim = 4H`.

    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021 (with horizon 5, 5000 episodes, an abrupt swap of the ends
    every 1000 episodes, or a gradual change of the start).
    """
    drift = checked_drift(drift, 2, "a lock and its mirror image")
    require_models((2 * horizon, 2, 4 * horizon, horizon), drift, horizon=horizon)
    intended = require_number("intended", intended, above=0, at_most=1)
    right = np.random.default_rng(seed).integers(2, size=(2, horizon - 1))
    anchors = [_locks(horizon, right, intended, other, changing) for other in range(drift.num_anchors)]
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)


def _locks(
    horizon: int, right: np.ndarray, intended: float, other: int, changing: str
) -> tuple[np.ndarray, np.ndarray]:
    num_states = 2 * horizon
    start, sink = 0, num_states - 1
    reward = np.zeros((num_states, 2))
    kernel = np.zeros((num_states, 2, num_states))
    reward[sink] = 1 / (8 * horizon)
    kernel[sink, :, sink] = 1
    good = other if changing == "ends" else 0
    swapped = other if changing == "start" else 0
    for lock in (0, 1):
        positions = 1 + lock * (horizon - 1) + np.arange(horizon - 1)
        kernel[start, lock ^ swapped, positions[0]] += intended
        kernel[start, 1 - lock ^ swapped, positions[0]] += 1 - intended
        for depth, state in enumerate(positions):
            last = depth == horizon - 2
            onwards = sink if last else positions[depth + 1]
            for action in (0, 1):
                moves = intended if action == right[lock, depth] else 1 - intended
                kernel[state, action, onwards] += moves
                kernel[state, action, sink] += 1 - moves
            if last:
                reward[state, right[lock, depth]] = 1.0 if lock == good else 0.25
    return reward, kernel
