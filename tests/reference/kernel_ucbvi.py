"""Kernel-UCBVI and KeRNS (Domingues et al. 2021) from the definition, with the whole history in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, remember


def distance(first: np.ndarray, second: np.ndarray) -> float:
    return sum(abs(one - other) for one, other in zip(first, second, strict=True))


def plans(
    played: Sequence[Episode],
    positions: np.ndarray,
    *,
    bandwidth: float,
    radius: float,
    lipschitz: float,
    ridge: float,
    bias_scale: float,
    weight: Weight = remember,
) -> Iterator[Planned]:
    """What is planned for each episode. Positions `[S, A, 2]`; the weight is χ."""
    num_states, num_actions, _ = positions.shape
    horizon = len(played[0].states)
    pairs = [(x, a) for x in range(num_states) for a in range(num_actions)]
    for k in range(len(played)):
        bonus = np.zeros((horizon, num_states, num_actions))
        q, values = np.zeros_like(bonus), np.zeros((horizon + 1, num_states))
        for h in reversed(range(horizon)):
            history = [(int(one.states[h]), int(one.actions[h])) for one in played[:k]]
            raised = {}
            for pair in pairs:
                count, total = ridge, 0.0
                for s, visited in enumerate(history):
                    near = distance(positions[pair], positions[visited]) / bandwidth
                    w = weight(k, s) * math.exp(-(near**2) / 2)
                    count += w
                    total += w * (played[s].rewards[h] + values[h + 1, played[s].successors[h]])
                bonus[h][pair] = (
                    radius / math.sqrt(count) + ridge * horizon / count + bias_scale * lipschitz * bandwidth
                )
                raised[pair] = total / count + bonus[h][pair]
            for pair in pairs:
                reached = [
                    raised[visited] + lipschitz * distance(positions[pair], positions[visited])
                    for visited in history
                ]
                q[h][pair] = min(reached, default=horizon - h)
            for x in range(num_states):
                values[h, x] = min(max(q[h, x]), horizon - h)
        yield Planned(q, values[:-1], bonus)
