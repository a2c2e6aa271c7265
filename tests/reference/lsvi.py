"""OPT-RLSVI, MatrixRL and LSVI-UCB++ by their papers, line by line, with the whole history in memory."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Sums, Weight, cut, remember, sums_of


def opt_rlsvi(
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
    """Zanette et al. 2020, Algorithm 1: the Q̄ of an episode, from normal draws `[H, d]`.

    The weights are θ̂, before the draw.
    """
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


def core_matrix(
    transitions: Sequence[tuple[float, np.ndarray, int]], psi: np.ndarray, dim: int, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """`A_n` and `M_n` from (weight, φ, s') of the transitions, with `K_ψ⁻¹` as it is printed."""
    gram, products = ridge * np.eye(dim), np.zeros((dim, psi.shape[1]))
    kernel = sum((np.outer(row, row) for row in psi), np.zeros((psi.shape[1], psi.shape[1])))
    for weight, phi, successor in transitions:
        gram += weight * np.outer(phi, phi)
        products += weight * np.outer(phi, psi[successor]) @ np.linalg.inv(kernel)
    return gram, np.linalg.inv(gram) @ products


def matrix_rl(
    history: Sequence[Episode],
    features: np.ndarray,
    psi: np.ndarray,
    rewards: np.ndarray,
    *,
    radius: float,
    ridge: float,
    shared: bool,
    weight: Weight = remember,
) -> Planned:
    """Yang & Wang 2020, Algorithm 1: the Q for rewards `[H, S, A]`; steps are shared in print."""
    num_states, num_actions, dim = features.shape
    horizon, t = len(rewards), len(history)
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    values = np.zeros((horizon + 1, num_states))
    for h in reversed(range(horizon)):
        transitions = [
            (weight(t, tau), episode.features[step], int(episode.successors[step]))
            for tau, episode in enumerate(history)
            for step in range(horizon)
            if shared or step == h
        ]
        gram, core = core_matrix(transitions, psi, dim, ridge)
        ahead = sum(psi[s] * values[h + 1, s] for s in range(num_states))  # Ψᵀ V
        for s, a in np.ndindex(num_states, num_actions):
            phi = features[s, a]
            bonus[h, s, a] = radius * np.sqrt(phi @ np.linalg.inv(gram) @ phi)
            q[h, s, a] = rewards[h, s, a] + phi @ core @ ahead + bonus[h, s, a]
        values[h] = [min(max(0.0, max(row)), horizon) for row in q[h]]
    return Planned(q, values[:-1], bonus)


class Tables(NamedTuple):
    upper: np.ndarray  # [H, S, A] Q
    lower: np.ndarray  # [H, S, A] Q̌
    variance: np.ndarray  # [H] σ̄² of the pairs visited
    switches: int  # so far


def lsvi_ucb_plus_plus(
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
) -> Iterator[Tables]:
    """He, Zhao, Zhou & Gu 2023, Algorithm 1: each episode's tables, along given trajectories.

    Features `[S, A, d]`, rewards `[H, S, A]`; with a `reward_radius` they are estimated from those seen.
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

        def regressed(h: int, table: np.ndarray, k: int = k, power: int = 1) -> np.ndarray:
            ahead = table[h + 1].max(axis=-1) if h + 1 < horizon else np.zeros(num_states)
            return regression(h, [ahead[one.successors[h]] ** power for one in played[:k]]).estimate

        paid = [regression(h, [one.rewards[h] for one in played[:k]]) for h in range(horizon)]
        sizes = [float(np.linalg.det(sums.gram)) for sums in paid]
        # a tie is one whatever the rounding
        if any(size >= (2 - 1e-9) * least for size, least in zip(sizes, last, strict=True)):
            last, switches = sizes, switches + 1
            upper, lower = upper.copy(), lower.copy()
            for h in reversed(range(horizon)):
                best, worst = regressed(h, upper), regressed(h, lower)
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
            length, best, worst = paid[h].length(phi), regressed(h, upper) @ phi, regressed(h, lower) @ phi
            square = regressed(h, upper, power=2) @ phi
            total = cut(square, 0, horizon**2) - cut(best, 0, horizon) ** 2 + horizon
            total += min(squares_radius * length, horizon**2)
            total += min(2 * horizon * lower_radius * length, horizon**2)
            gap = 4 * dim**3 * horizon**2 * (best - worst + 2 * lower_radius * length)
            total += gap_scale * min(gap, dim**3 * horizon**3)
            least = width_scale * 2 * dim**3 * horizon**2 * math.sqrt(length)
            variance[h] = max(math.sqrt(max(total, 0)), horizon, least) ** 2
        weights.append([1 / each for each in variance])
        yield Tables(upper, lower, variance, switches)
