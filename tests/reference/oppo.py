"""OPPO (Cai, Yang, Jin & Wang 2019, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base import Episode


class Evaluated(NamedTuple):
    policy: np.ndarray  # [H, S, A]
    weights: np.ndarray  # [H, J]
    bonus: np.ndarray  # [H, S, A]
    q: np.ndarray  # [H, S, A]
    value: np.ndarray  # [H + 1, S]


def evaluations(
    played: Sequence[Episode],
    rewards: Sequence[np.ndarray],
    kernels: np.ndarray,
    *,
    step_size: float,
    radius: float,
    ridge: float,
    weight: Callable[[int, int], float] = lambda k, tau: 1.0,
    policy_restarts: Callable[[int], bool] = lambda k: False,
) -> Iterator[Evaluated]:
    """Each episode's policy and its evaluation, along given trajectories.

    Rewards `[S, A]` for each step of each episode, kernels ψ `[J, H, S, A, S]`. `weight(k, tau)` is that of
    episode τ < k in the sums of the regression, which the paper leaves at one.
    """
    num_anchors, horizon, num_states, num_actions, _ = kernels.shape
    uniform = np.full((horizon, num_states, num_actions), 1 / num_actions)
    policy, q = uniform, np.zeros_like(uniform)  # π⁰ and Q⁰
    visited: list[list[np.ndarray]] = []  # φ at the visited pairs, for each episode and step
    met: list[list[float]] = []  # V at the states that followed
    for k, episode in enumerate(played):
        if policy_restarts(k):
            policy = uniform
        else:  # policy improvement
            policy = policy * np.exp(step_size * q)
            policy = policy / policy.sum(axis=-1, keepdims=True)
        value = np.zeros((horizon + 1, num_states))
        weights = np.zeros((horizon, num_anchors))
        q, bonus = np.zeros_like(uniform), np.zeros_like(uniform)
        phis, targets = [np.zeros(num_anchors)] * horizon, [0.0] * horizon
        for h in reversed(range(horizon)):
            gram, target = ridge * np.eye(num_anchors), np.zeros(num_anchors)
            for tau in range(k):  # least squares
                phi = visited[tau][h]
                gram += weight(k, tau) * np.outer(phi, phi)
                target += weight(k, tau) * phi * met[tau][h]
            weights[h] = np.linalg.solve(gram, target)
            for s in range(num_states):
                for a in range(num_actions):
                    phi = np.array([kernels[j, h, s, a] @ value[h + 1] for j in range(num_anchors)])
                    bonus[h, s, a] = radius * np.sqrt(phi @ np.linalg.solve(gram, phi))
                    estimate = rewards[k][h, s, a] + phi @ weights[h] + bonus[h, s, a]
                    q[h, s, a] = max(0.0, min(estimate, horizon - h))
                    if (s, a) == (episode.states[h], episode.actions[h]):
                        phis[h] = phi
                value[h, s] = sum(policy[h, s, a] * q[h, s, a] for a in range(num_actions))
            targets[h] = value[h + 1, episode.successors[h]]
        visited.append(phis)
        met.append(targets)
        yield Evaluated(policy, weights, bonus, q, value)
