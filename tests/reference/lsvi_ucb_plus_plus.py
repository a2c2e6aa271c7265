"""LSVI-UCB++ (He, Zhao, Zhou & Gu 2023, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Sums, cut, sums_of


class Planned(NamedTuple):
    upper: np.ndarray  # [H, S, A] Q
    lower: np.ndarray  # [H, S, A] Q̌
    variance: np.ndarray  # [H] σ̄² of the pairs visited
    switches: int  # so far


def tables(
    played: Sequence[Episode],
    features: np.ndarray,
    rewards: np.ndarray,
    *,
    radius: float,
    lower_radius: float,
    squares_radius: float,
    ridge: float,
    gap_scale: float = 1.0,
    width_scale: float = 1.0,
    reward_radius: float | None = None,
) -> Iterator[Planned]:
    """Each episode's tables, along given trajectories: features `[S, A, d]` and rewards `[H, S, A]`.

    With a `reward_radius` rewards are estimated from those seen.
    """
    horizon, num_states, num_actions = rewards.shape
    dim = features.shape[-1]
    upper, lower = np.full(rewards.shape, float(horizon)), np.zeros(rewards.shape)
    weights: list[list[float]] = []  # σ̄⁻² of each episode and step
    last, switches = [ridge**dim] * horizon, 0
    for k, episode in enumerate(played):

        def regression(h: int, targets: Sequence[Any], k: int = k) -> Sums:
            phis = [features[one.states[h], one.actions[h]] for one in played[:k]]
            return sums_of(zip([each[h] for each in weights], phis, targets, strict=True), ridge, dim)

        def regressed(h: int, values: np.ndarray, k: int = k) -> np.ndarray:
            return regression(h, [values[one.successors[h]] for one in played[:k]]).estimate

        def ahead(table: np.ndarray, h: int) -> np.ndarray:
            return table[h + 1].max(axis=-1) if h + 1 < horizon else np.zeros(num_states)

        paid = [regression(h, [one.rewards[h] for one in played[:k]]) for h in range(horizon)]
        sizes = [float(np.linalg.det(sums.gram)) for sums in paid]
        # a tie is one whatever the rounding
        if any(size >= (2 - 1e-9) * least for size, least in zip(sizes, last, strict=True)):
            last, switches = sizes, switches + 1
            upper, lower = upper.copy(), lower.copy()
            for h in reversed(range(horizon)):
                best, worst = regressed(h, ahead(upper, h)), regressed(h, ahead(lower, h))
                for s, a in np.ndindex(num_states, num_actions):
                    phi = features[s, a]
                    length, reward, doubt = paid[h].length(phi), rewards[h, s, a], 0.0
                    if reward_radius is not None:
                        reward, doubt = paid[h].estimate @ phi, reward_radius * length
                    above = reward + best @ phi + radius * length + doubt
                    below = reward + worst @ phi - lower_radius * length - doubt
                    upper[h, s, a] = min(above, upper[h, s, a], horizon)
                    lower[h, s, a] = max(below, lower[h, s, a], 0)
        variance = np.zeros(horizon)
        for h in range(horizon):
            phi = features[episode.states[h], episode.actions[h]]
            length = paid[h].length(phi)
            best = float(regressed(h, ahead(upper, h)) @ phi)
            worst = float(regressed(h, ahead(lower, h)) @ phi)
            square = float(regressed(h, ahead(upper, h) ** 2) @ phi)
            spread = cut(square, 0, horizon**2) - cut(best, 0, horizon) ** 2
            doubt = min(squares_radius * length, horizon**2)
            doubt += min(2 * horizon * lower_radius * length, horizon**2)
            gap = 4 * dim**3 * horizon**2 * (best - worst + 2 * lower_radius * length)
            gap = gap_scale * min(gap, dim**3 * horizon**3)
            deviation = max(
                math.sqrt(max(spread + doubt + gap + horizon, 0)),
                horizon,
                width_scale * 2 * dim**3 * horizon**2 * math.sqrt(length),
            )
            variance[h] = deviation**2
        weights.append([1 / each for each in variance])
        yield Planned(upper, lower, variance, switches)
