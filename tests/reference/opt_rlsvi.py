"""OPT-RLSVI (Zanette et al. 2020, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base import Episode


class TextbookPlan(NamedTuple):
    weights: np.ndarray  # [H, d] θ̂, before the draw
    bonus: np.ndarray  # [H, S, A] what the index exceeds the estimate by
    q: np.ndarray  # [H, S, A] Q̄
    value: np.ndarray  # [S] V̄ of the first step


def plan(
    history: Sequence[Episode],
    features: np.ndarray,
    draws: np.ndarray,
    *,
    scale: float,
    lower: float,
    upper: float,
    ridge: float,
    weight: Callable[[int, int], float] = lambda t, tau: 1.0,
) -> TextbookPlan:
    """The Q̄ of an episode, from standard normal draws `[H, d]`; `weight(t, τ)` is 1 in the paper."""
    num_states, num_actions, dim = features.shape
    horizon, t = len(draws), len(history)
    weights = np.zeros((horizon, dim))
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    value = np.zeros(num_states)
    for h in reversed(range(horizon)):
        most = horizon - h
        gram, gram_sq, target = ridge * np.eye(dim), ridge * np.eye(dim), np.zeros(dim)
        for tau, episode in enumerate(history):
            phi, omega = episode.features[h], weight(t, tau)
            gram += omega * np.outer(phi, phi)
            gram_sq += omega**2 * np.outer(phi, phi)
            target += omega * phi * (episode.rewards[h] + value[episode.successors[h]])
        inverse = np.linalg.inv(gram)
        weights[h] = inverse @ target
        drawn = scale * inverse @ np.linalg.cholesky(gram_sq) @ draws[h]  # ξ
        for s in range(num_states):
            for a in range(num_actions):
                phi = features[s, a]
                norm = np.sqrt(phi @ inverse @ phi)
                linear = phi @ (weights[h] + drawn)
                if norm <= lower:
                    q[h, s, a] = linear
                elif norm >= upper:
                    q[h, s, a] = most
                else:
                    share = (norm - lower) / (upper - lower)
                    q[h, s, a] = share * most + (1 - share) * linear
                bonus[h, s, a] = q[h, s, a] - phi @ weights[h]
            value[s] = max(q[h, s])
    return TextbookPlan(weights, bonus, q, value)
