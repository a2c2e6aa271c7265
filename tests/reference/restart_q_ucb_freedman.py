"""RestartQ-UCB with Freedman's bonus (Mao, Zhang, Zhu, Simchi-Levi & Başar 2021, Algorithm 2), step by step.

It keeps the numbers that the paper keeps sums of.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from driftwise.base import Episode, Spec
from tests.reference.restart_q_ucb import ends_of_stages


def tables(
    played: Iterable[Episode],
    spec: Spec,
    *,
    period: int,
    scale: float,
    reference_after: int,
    log_term: float,
    drift_bonus: float = 0.0,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Q `[H, S, A]` and V `[H, S]` at the beginning of each episode, along given trajectories."""
    horizon, iota = spec.horizon, log_term
    ends = ends_of_stages(horizon, 10**4)
    most = np.arange(horizon, 0, -1.0)
    q = v = v_ref = np.zeros(0)
    references, rewards, values, advantages = (defaultdict(list) for _ in range(4))
    arrivals = defaultdict(int)
    for k, episode in enumerate(played):
        if k % period == 0:  # a new epoch
            q = np.tile(most[:, None, None], (1, spec.num_states, spec.num_actions))
            v = np.tile(most[:, None], (1, spec.num_states))
            v_ref = np.full_like(v, horizon)
            for table in (references, rewards, values, advantages, arrivals):
                table.clear()
        yield q.copy(), v.copy()
        for h in range(horizon):
            s, a, s_next = int(episode.states[h]), int(episode.actions[h]), int(episode.successors[h])
            at = (h, s, a)
            ahead = v[h + 1, s_next] if h + 1 < horizon else 0.0
            reference = v_ref[h + 1, s_next] if h + 1 < horizon else 0.0
            references[at].append(reference)
            rewards[at].append(episode.rewards[h])
            values[at].append(ahead)
            advantages[at].append(ahead - reference)
            n, n_stage = len(references[at]), len(values[at])
            if n in ends:
                plain = math.sqrt(horizon**2 * iota / n_stage) + math.sqrt(iota / n_stage)
                width = (
                    2 * math.sqrt(np.var(references[at]) * iota / n)
                    + 2 * math.sqrt(np.var(advantages[at]) * iota / n_stage)
                    + 5 * horizon * iota / n
                    + 5 * horizon * iota / n_stage
                    + 5 * horizon * iota ** (3 / 4) / n ** (3 / 4)
                    + 5 * horizon * iota ** (3 / 4) / n_stage ** (3 / 4)
                    + math.sqrt(iota / n_stage)
                )
                reward = np.mean(rewards[at])
                split = reward + np.mean(references[at]) + np.mean(advantages[at])
                q[at] = min(
                    q[at],
                    reward + np.mean(values[at]) + scale * plain + 2 * drift_bonus,
                    split + 2 * scale * width + 4 * drift_bonus,
                )
                v[h, s] = max(q[h, s])
                for table in (rewards, values, advantages):
                    table[at] = []
            arrivals[h, s] += 1
            if arrivals[h, s] == reference_after:
                v_ref[h, s] = v[h, s]
