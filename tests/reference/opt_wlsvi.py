"""OPT-WLSVI (Touati & Vincent 2020, Algorithm 1), line by line, with the whole history in memory."""

from collections.abc import Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, sums_of


def plan(
    history: Sequence[Episode],
    features: np.ndarray,
    horizon: int,
    *,
    rate: float,
    radius: float | Sequence[float],
    ridge: float,
    norm: str = "sandwich",
    clip: str = "paper",
    literal: bool = False,
    shared: bool = False,
) -> Planned:
    """Lines 4–9. `literal` keeps the printed weights `η^{−τ}`, which overflow; else times `η^{t−1}`.

    `radius` may be one for each step. `shared` steps have one regression, on the samples of them all.
    """
    num_states, num_actions, dim = features.shape
    seen, radii = len(history), np.broadcast_to(radius, horizon)  # t − 1 episodes
    weights, values = np.zeros((horizon, dim)), np.zeros((horizon + 1, num_states))
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    first = rate**-seen if literal else 1.0  # what the regulariser is multiplied by
    decay = [rate ** (-tau if literal else seen - tau) for tau in range(1, seen + 1)]
    for h in reversed(range(horizon)):
        samples = [
            (weight, episode.features[step], episode.rewards[step] + values[h + 1, episode.successors[step]])
            for weight, episode in zip(decay, history, strict=True)
            for step in (range(horizon) if shared else [h])
        ]
        gram, gram_sq, target = sums_of(samples, ridge * first, dim)
        gram_sq = gram_sq + ridge * (first**2 - first) * np.eye(dim)
        inverse = np.linalg.inv(gram)
        weights[h] = inverse @ target
        shape = inverse @ gram_sq @ inverse if norm == "sandwich" else inverse
        for s, a in np.ndindex(num_states, num_actions):
            bonus[h, s, a] = radii[h] * np.sqrt(features[s, a] @ shape @ features[s, a])
            q[h, s, a] = features[s, a] @ weights[h] + bonus[h, s, a]
        values[h] = np.minimum(q[h].max(axis=-1), horizon - h if clip == "tight" else horizon)
        if clip != "paper":
            values[h] = np.maximum(0.0, values[h])
    return Planned(q, values[:-1], bonus, weights)
