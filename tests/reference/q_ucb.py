"""UCB-Hoeffding (Jin, Allen-Zhu, Bubeck & Jordan 2018, Algorithm 1), line by line, step by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from driftwise.base import Episode, Spec


def tables(
    played: Iterable[Episode], spec: Spec, *, scale: float, log_term: float, tight: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Q `[H, S, A]` and V `[H, S]` at the beginning of each episode, along given trajectories."""
    horizon = spec.horizon
    most = [horizon - h if tight else horizon for h in range(horizon)]
    q = np.array([np.full((spec.num_states, spec.num_actions), each, dtype=float) for each in most])
    v = np.array([np.full(spec.num_states, each, dtype=float) for each in most])
    num_visits: dict[tuple[int, int, int], int] = defaultdict(int)
    for episode in played:
        yield q.copy(), v.copy()
        for h in range(horizon):
            s, a, s_next = int(episode.states[h]), int(episode.actions[h]), int(episode.successors[h])
            num_visits[h, s, a] += 1
            t = num_visits[h, s, a]
            bonus = scale * math.sqrt(horizon**3 * log_term / t)
            alpha = (horizon + 1) / (horizon + t)
            ahead = v[h + 1, s_next] if h + 1 < horizon else 0.0
            q[h, s, a] = (1 - alpha) * q[h, s, a] + alpha * (episode.rewards[h] + ahead + bonus)
            v[h, s] = min(most[h], max(q[h, s]))
