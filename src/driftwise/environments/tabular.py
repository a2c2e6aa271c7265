"""Models given as tables: with one-hot features any finite MDP is a linear one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from driftwise.drift import Drift
from driftwise.environments.linear_mdp import LinearMdp, RewardKind


def tabular_mdp(
    anchors: Iterable[tuple[np.ndarray, np.ndarray]],
    *,
    horizon: int,
    initial: np.ndarray,
    drift: Drift,
    rewards: RewardKind,
) -> LinearMdp:
    """Mean rewards `[S, A]` and probabilities `[S, A, S]` of each anchor, with one-hot features, `d = S·A`.

    Tables that differ from step to step have an axis more, `[H, S, A]` and `[H, S, A, S]`.
    """
    tables = list(anchors)
    num_states, num_actions = tables[0][0].shape[-2:]
    dim = num_states * num_actions
    per_step = (horizon, num_states, num_actions)
    reward = np.stack([np.broadcast_to(reward, per_step) for reward, _ in tables])
    kernel = np.stack([np.broadcast_to(kernel, (*per_step, num_states)) for _, kernel in tables])
    return LinearMdp(
        features=np.eye(dim).reshape(num_states, num_actions, dim),
        theta=reward.reshape(-1, horizon, dim),
        mu=kernel.reshape(-1, horizon, dim, num_states),
        initial=initial,
        drift=drift,
        rewards=rewards,
        successor_features=np.eye(num_states),  # which span every measure
    )
