"""OPPO (Cai, Yang, Jin & Wang 2019, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, cut, remember, sums_of


def evaluations(
    played: Sequence[Episode],
    rewards: Sequence[np.ndarray],
    kernels: np.ndarray,
    *,
    step_size: float,
    radius: float,
    ridge: float,
    weight: Weight = remember,
    policy_restarts: Callable[[int], bool] = lambda k: False,
) -> Iterator[Planned]:
    """Each episode's policy and its evaluation, along given trajectories.

    Rewards `[S, A]` for each step of each episode, kernels ψ `[J, H, S, A, S]`.
    """
    num_anchors, horizon, num_states, num_actions, _ = kernels.shape
    uniform = np.full((horizon, num_states, num_actions), 1 / num_actions)
    policy, q = uniform, np.zeros_like(uniform)  # π⁰ and Q⁰
    met: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(horizon)]  # φ of visited pairs, V after
    for k, episode in enumerate(played):
        if policy_restarts(k):
            policy = uniform
        else:  # policy improvement
            policy = policy * np.exp(step_size * q)
            policy = policy / policy.sum(axis=-1, keepdims=True)
        value, weights = np.zeros((horizon + 1, num_states)), np.zeros((horizon, num_anchors))
        q, bonus = np.zeros_like(uniform), np.zeros_like(uniform)
        for h in reversed(range(horizon)):
            sums = sums_of(((weight(k, tau), *one) for tau, one in enumerate(met[h])), ridge, num_anchors)
            weights[h] = sums.estimate  # least squares
            for s, a in np.ndindex(num_states, num_actions):
                phi = np.array([kernels[j, h, s, a] @ value[h + 1] for j in range(num_anchors)])
                bonus[h, s, a] = radius * sums.length(phi)
                q[h, s, a] = cut(rewards[k][h, s, a] + phi @ weights[h] + bonus[h, s, a], 0.0, horizon - h)
                if (s, a) == (episode.states[h], episode.actions[h]):
                    met[h].append((phi, value[h + 1, episode.successors[h]]))
            value[h] = [policy[h, s] @ q[h, s] for s in range(num_states)]
        yield Planned(q, value[:-1], bonus, weights, policy)
