"""RestartQ-UCB (Mao, Zhang, Zhu, Simchi-Levi & Başar 2021, Algorithm 1), line by line, step by step."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from driftwise.base import Episode, Spec


def ends_of_stages(horizon: int, up_to: int) -> set[int]:
    """`L`: the numbers of visits `e_1 + … + e_j` at which stages end."""
    ends, length, total = set(), horizon, 0
    while total <= up_to:
        total += length
        ends.add(total)
        length = math.floor((1 + 1 / horizon) * length + 1e-9)  # (1 + 1/H) e is a whole number for e = H
    return ends


def tables(
    played: Iterable[Episode],
    spec: Spec,
    *,
    period: int,
    scale: float,
    log_term: float,
    drift_bonus: float = 0.0,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Q `[H, S, A]` and V `[H, S]` at the beginning of each episode, along given trajectories."""
    horizon = spec.horizon
    ends = ends_of_stages(horizon, 10**4)
    most = np.arange(horizon, 0, -1.0)
    q = v = np.zeros(0)
    num_visits, in_stage = defaultdict(int), defaultdict(int)
    reward_sum, value_sum = defaultdict(float), defaultdict(float)
    for k, episode in enumerate(played):
        if k % period == 0:  # a new epoch
            q = np.tile(most[:, None, None], (1, spec.num_states, spec.num_actions))
            v = np.tile(most[:, None], (1, spec.num_states))
            for table in (num_visits, in_stage, reward_sum, value_sum):
                table.clear()
        yield q.copy(), v.copy()
        for h in range(horizon):
            s, a, s_next = int(episode.states[h]), int(episode.actions[h]), int(episode.successors[h])
            at = (h, s, a)
            reward_sum[at] += episode.rewards[h]
            value_sum[at] += v[h + 1, s_next] if h + 1 < horizon else 0.0
            num_visits[at] += 1
            in_stage[at] += 1
            if num_visits[at] in ends:
                n = in_stage[at]
                bonus = scale * (math.sqrt(horizon**2 * log_term / n) + math.sqrt(log_term / n))
                q[at] = min(q[at], reward_sum[at] / n + value_sum[at] / n + bonus + 2 * drift_bonus)
                v[h, s] = max(q[h, s])
                in_stage[at], reward_sum[at], value_sum[at] = 0, 0.0, 0.0
