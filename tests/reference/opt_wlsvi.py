"""OPT-WLSVI (Touati & Vincent 2020, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base import Episode


class TextbookPlan(NamedTuple):
    weights: np.ndarray  # [H, d]
    bonus: np.ndarray  # [H, S, A]
    q: np.ndarray  # [H, S, A]
    value: np.ndarray  # [S], of the first step


def plan(
    history: Sequence[Episode],
    features: np.ndarray,
    horizon: int,
    *,
    rate: float,
    radius: float,
    ridge: float,
    norm: str = "sandwich",
    clip: str = "paper",
    literal: bool = False,
    shared: bool = False,
) -> TextbookPlan:
    """Lines 4–9. `literal` keeps the printed weights `η^{−τ}`, which overflow; else times `η^{t−1}`.

    `shared` steps have one regression, on the samples of them all.
    """
    num_states, num_actions, dim = features.shape
    seen = len(history)  # t − 1
    weights = np.zeros((horizon, dim))
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    value = np.zeros(num_states)
    for h in reversed(range(horizon)):
        regulariser = ridge * rate**-seen if literal else ridge
        regulariser_sq = ridge * rate ** (-2 * seen) if literal else ridge
        gram, gram_sq = regulariser * np.eye(dim), regulariser_sq * np.eye(dim)
        target = np.zeros(dim)
        for tau, episode in enumerate(history, start=1):
            weight = rate**-tau if literal else rate ** (seen - tau)
            for step in range(horizon) if shared else [h]:
                phi = episode.features[step]
                gram += weight * np.outer(phi, phi)
                gram_sq += weight**2 * np.outer(phi, phi)
                target += weight * phi * (episode.rewards[step] + value[episode.successors[step]])
        inverse = np.linalg.inv(gram)
        weights[h] = inverse @ target
        for s in range(num_states):
            for a in range(num_actions):
                phi = features[s, a]
                shape = inverse @ gram_sq @ inverse if norm == "sandwich" else inverse
                bonus[h, s, a] = radius * np.sqrt(phi @ shape @ phi)
                q[h, s, a] = phi @ weights[h] + bonus[h, s, a]
            value[s] = min(max(q[h, s]), horizon - h if clip == "tight" else horizon)
            if clip != "paper":
                value[s] = max(0.0, value[s])
    return TextbookPlan(weights, bonus, q, value)
