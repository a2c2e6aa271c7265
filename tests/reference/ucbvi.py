"""UCBVI (Azar, Osband & Munos 2017, Algorithms 2 to 4), line by line, with the whole history in memory."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from driftwise.base import Episode, Spec
from tests.reference.plain import Planned, Weight, remember


def plan(
    history: Sequence[Episode],
    spec: Spec,
    *,
    scale: float,
    log_term: float,
    bonus: str,
    shared: bool,
    ceilings: Sequence[float],
    rewards: np.ndarray | None = None,
    previous: np.ndarray | None = None,
    weight: Weight = remember,
) -> Planned:
    """The plan of the next episode.

    In print steps are `shared`, rewards `[H, S, A]` are told, Q is at most the `previous` one, and all
    ceilings are H.
    """
    horizon, num_states, num_actions, t = spec.horizon, spec.num_states, spec.num_actions, len(history)
    q, estimates = np.zeros((2, horizon, num_states, num_actions))
    value = np.zeros(num_states)  # V_{h+1}
    for h in reversed(range(horizon)):
        for s in range(num_states):
            for a in range(num_actions):
                met = [  # (weight, reward, successor) of the visits
                    (weight(t, tau), episode.rewards[step], int(episode.successors[step]))
                    for tau, episode in enumerate(history)
                    for step in range(horizon)
                    if (shared or step == h) and (episode.states[step], episode.actions[step]) == (s, a)
                ]
                count = sum(w for w, _, _ in met)
                q[h, s, a] = ceilings[h]
                if count > 0:
                    kernel = [
                        sum(w for w, _, y in met if y == arrived) / count for arrived in range(num_states)
                    ]
                    learnt = sum(w * r for w, r, _ in met) / count
                    reward = learnt if rewards is None else rewards[h, s, a]
                    estimates[h, s, a] = reward + sum(p * v for p, v in zip(kernel, value, strict=True))
                    if bonus == "hoeffding":
                        b = 7 * horizon * log_term * math.sqrt(1 / count)
                    else:
                        reached = _visits(history, spec, h + 1, weight)
                        b = _bernstein(kernel, value, count, reached, spec, log_term)
                        if rewards is None:
                            b += math.sqrt(8 * log_term * learnt * (1 - learnt) / count)
                    q[h, s, a] = min(ceilings[h], estimates[h, s, a] + scale * b)
                if previous is not None:
                    q[h, s, a] = min(previous[h, s, a], q[h, s, a])
        value = np.array([max(q[h, s]) for s in range(num_states)])
    return Planned(q, q.max(axis=-1), q - estimates)


def _visits(history: Sequence[Episode], spec: Spec, h: int, weight: Weight) -> list[float] | None:
    """N' of every state at a step; nothing is uncertain after the last one."""
    if h == spec.horizon:
        return None
    return [
        sum(weight(len(history), tau) for tau, episode in enumerate(history) if episode.states[h] == y)
        for y in range(spec.num_states)
    ]


def _bernstein(
    kernel: Sequence[float],
    value: np.ndarray,
    count: float,
    reached: Sequence[float] | None,
    spec: Spec,
    log_term: float,
) -> float:
    horizon, mean = spec.horizon, sum(p * v for p, v in zip(kernel, value, strict=True))
    variance = sum(p * (v - mean) ** 2 for p, v in zip(kernel, value, strict=True))
    bonus = math.sqrt(8 * log_term * variance / count) + 14 * horizon * log_term / (3 * count)
    if reached is None:
        return bonus
    spread = 100**2 * horizon**3 * spec.num_states**2 * spec.num_actions * log_term**2
    gaps = [min(spread / n, horizon**2) if n > 0 else horizon**2 for n in reached]
    return bonus + math.sqrt(8 / count * sum(p * g for p, g in zip(kernel, gaps, strict=True)))
