"""OPT-RLSVI (Zanette et al. 2020, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, remember, sums_of


def plan(
    history: Sequence[Episode],
    features: np.ndarray,
    draws: np.ndarray,
    *,
    scale: float,
    lower: float,
    upper: float,
    ridge: float,
    weight: Weight = remember,
) -> Planned:
    """The Q̄ of an episode, from standard normal draws `[H, d]`; the weights are θ̂, before the draw."""
    num_states, num_actions, dim = features.shape
    horizon, t = len(draws), len(history)
    weights, values = np.zeros((horizon, dim)), np.zeros((horizon + 1, num_states))
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    for h in reversed(range(horizon)):
        targets = [one.rewards[h] + values[h + 1, one.successors[h]] for one in history]
        samples = [(weight(t, tau), one.features[h], targets[tau]) for tau, one in enumerate(history)]
        sums = sums_of(samples, ridge, dim)
        weights[h], most = sums.estimate, horizon - h
        drawn = scale * np.linalg.inv(sums.gram) @ np.linalg.cholesky(sums.gram_sq) @ draws[h]  # ξ
        for s, a in np.ndindex(num_states, num_actions):
            phi = features[s, a]
            norm, linear = sums.length(phi), phi @ (weights[h] + drawn)
            if norm <= lower:
                q[h, s, a] = linear
            elif norm >= upper:
                q[h, s, a] = most
            else:
                share = (norm - lower) / (upper - lower)
                q[h, s, a] = share * most + (1 - share) * linear
            bonus[h, s, a] = q[h, s, a] - phi @ weights[h]
        values[h] = q[h].max(axis=-1)
    return Planned(q, values[:-1], bonus, weights)
