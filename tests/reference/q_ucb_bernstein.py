"""UCB-Bernstein (Jin, Allen-Zhu, Bubeck & Jordan 2018, Algorithm 2), line by line, step by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from driftwise.base import Episode, Spec


def tables(
    played: Iterable[Episode],
    spec: Spec,
    *,
    scale: float,
    variance_scale: float,
    log_term: float,
    tight: bool = False,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Q `[H, S, A]` and V `[H, S]` at the beginning of each episode, along given trajectories."""
    horizon = spec.horizon
    most = [horizon - h if tight else horizon for h in range(horizon)]
    q = np.array([np.full((spec.num_states, spec.num_actions), each, dtype=float) for each in most])
    v = np.array([np.full(spec.num_states, each, dtype=float) for each in most])
    met: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    beta: dict[tuple[int, int, int], float] = defaultdict(float)
    for episode in played:
        yield q.copy(), v.copy()
        for h in range(horizon):
            s, a, s_next = int(episode.states[h]), int(episode.actions[h]), int(episode.successors[h])
            at = (h, s, a)
            ahead = v[h + 1, s_next] if h + 1 < horizon else 0.0
            met[at].append(ahead)
            t = len(met[at])
            alpha = (horizon + 1) / (horizon + t)
            variance = float(np.var(met[at]))
            rest = math.sqrt(horizon**7 * spec.num_states * spec.num_actions) * log_term / t
            bernstein = variance_scale * (math.sqrt(horizon * (variance + horizon) * log_term / t) + rest)
            last, beta[at] = beta[at], min(bernstein, scale * math.sqrt(horizon**3 * log_term / t))
            bonus = (beta[at] - (1 - alpha) * last) / (2 * alpha)
            q[at] = (1 - alpha) * q[at] + alpha * (episode.rewards[h] + ahead + bonus)
            v[h, s] = min(most[h], max(q[h, s]))
