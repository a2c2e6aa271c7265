"""OPPO, UCRL-VTR and UCRL-VTR+ by their papers, line by line, with the whole history in memory."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, cut, remember, sums_of


def oppo(
    played: Sequence[Episode],
    rewards: Sequence[np.ndarray],
    kernels: np.ndarray,
    *,
    step_size: float,
    radius: float,
    ridge: float,
    weight: Weight = remember,
    policy_restarts: Callable[[int], bool] = lambda k: False,
) -> Iterator[Planned]:
    """Cai, Yang, Jin & Wang 2019, Algorithm 1: each episode's policy and its evaluation.

    Rewards `[S, A]` for each step of each episode, kernels ψ `[J, H, S, A, S]`.
    """
    num_anchors, horizon, num_states, num_actions, _ = kernels.shape
    uniform = np.full((horizon, num_states, num_actions), 1 / num_actions)
    policy, q = uniform, np.zeros_like(uniform)  # π⁰ and Q⁰
    met: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(horizon)]  # φ of visited pairs, V after
    for k, episode in enumerate(played):
        if policy_restarts(k):
            policy = uniform
        else:  # policy improvement
            policy = policy * np.exp(step_size * q)
            policy = policy / policy.sum(axis=-1, keepdims=True)
        value, weights = np.zeros((horizon + 1, num_states)), np.zeros((horizon, num_anchors))
        q, bonus = np.zeros_like(uniform), np.zeros_like(uniform)
        for h in reversed(range(horizon)):
            sums = sums_of(((weight(k, tau), *one) for tau, one in enumerate(met[h])), ridge, num_anchors)
            weights[h] = sums.estimate  # least squares
            for s, a in np.ndindex(num_states, num_actions):
                phi = np.array([kernels[j, h, s, a] @ value[h + 1] for j in range(num_anchors)])
                bonus[h, s, a] = radius * sums.length(phi)
                q[h, s, a] = cut(rewards[k][h, s, a] + phi @ weights[h] + bonus[h, s, a], 0.0, horizon - h)
                if (s, a) == (episode.states[h], episode.actions[h]):
                    met[h].append((phi, value[h + 1, episode.successors[h]]))
            value[h] = [policy[h, s] @ q[h, s] for s in range(num_states)]
        yield Planned(q, value[:-1], bonus, weights, policy)


class Past(NamedTuple):
    """A sample of one step: features and targets of values and of squares, and its weight."""

    phi: np.ndarray
    target: float
    phi_square: np.ndarray
    target_square: float
    weight: float


def ucrl_vtr(
    played: Sequence[Episode],
    rewards: Sequence[np.ndarray],
    kernels: np.ndarray,
    *,
    ridge: float,
    radius: Callable[[int, np.ndarray], float],
    variance_radii: tuple[Callable[[int], float], Callable[[int], float]] | None = None,
    weight: Weight = remember,
    tight: bool = False,
) -> Iterator[tuple[Planned, np.ndarray]]:
    """Ayoub et al. 2020 and Zhou, Gu & Szepesvári 2021: each episode's plan.

    With it comes σ̄² of the pairs visited, 1 without weights: `[H]`. Rewards `[H, S, A]` of each episode,
    kernels `[J, H, S, A, S]`. `radius(k, gram)` is that of episode k = 0, 1, …; with `variance_radii`, of the
    mean and of the square, samples are weighted by `1/σ̄²`.
    """
    num, horizon, num_states, num_actions, _ = kernels.shape
    kernels = kernels / math.sqrt(num)
    past: list[list[Past]] = [[] for _ in range(horizon)]
    for k, episode in enumerate(played):
        value, theta = np.zeros((horizon + 1, num_states)), np.zeros((horizon, num))
        q, bonus = np.zeros((2, horizon, num_states, num_actions))
        sums = [sums_of([], ridge, num)] * horizon
        for h in reversed(range(horizon)):
            samples = [(weight(k, tau) * one.weight, *one[:2]) for tau, one in enumerate(past[h])]
            sums[h] = sums_of(samples, ridge, num)
            theta[h] = sums[h].estimate
            for s, a in np.ndindex(num_states, num_actions):
                phi = np.array([kernels[j, h, s, a] @ value[h + 1] for j in range(num)])
                bonus[h, s, a] = radius(k, sums[h].gram) * sums[h].length(phi)
                q[h, s, a] = rewards[k][h, s, a] + theta[h] @ phi + bonus[h, s, a]
            value[h] = [max(cut(each, 0, horizon - h if tight else horizon) for each in row) for row in q[h]]
        variance = np.ones(horizon)
        for h in range(horizon):
            s, a, successor = episode.states[h], episode.actions[h], episode.successors[h]
            phi = np.array([kernels[j, h, s, a] @ value[h + 1] for j in range(num)])
            phi_square = np.array([kernels[j, h, s, a] @ value[h + 1] ** 2 for j in range(num)])
            if variance_radii is not None:
                squares = sums_of(
                    ((weight(k, tau), *one[2:4]) for tau, one in enumerate(past[h])), ridge, num
                )
                of_mean, of_square = (each(k) for each in variance_radii)
                most = horizon**2
                variance[h] = (
                    cut(squares.estimate @ phi_square, 0, most) - cut(theta[h] @ phi, 0, horizon) ** 2
                )
                variance[h] += min(most, 2 * horizon * of_mean * sums[h].length(phi))
                variance[h] += min(most, of_square * squares.length(phi_square))
                variance[h] = max(most / num, variance[h])
            target = value[h + 1, successor]
            past[h].append(Past(phi, target, phi_square, target**2, 1 / variance[h]))
        yield Planned(q, value[:-1], bonus, theta), variance


def hoeffding_radius(horizon: int, ridge: float, bound: float, failure: float) -> Callable:
    """`√λB + (H/2)√(2 log(1/δ') + log(det Σ/λ^J))`, where `failure` is `log(1/δ')`."""

    def radius(k: int, gram: np.ndarray) -> float:
        information = math.log(np.linalg.det(gram) / ridge ** len(gram))
        return math.sqrt(ridge) * bound + horizon / 2 * math.sqrt(2 * failure + information)

    return radius


def bernstein_radii(num: int, horizon: int, ridge: float, bound: float, delta: float) -> tuple:
    """`β̂`, `β̌` and `β̃` of UCRL-VTR+ as functions of the episode, which is counted from 0."""

    def term(k: int) -> float:
        return math.log(4 * (k + 1) ** 2 * horizon / delta)

    def information(k: int) -> float:
        return math.log(1 + (k + 1) / ridge) * term(k)

    def of_squares(k: int) -> float:
        inside = num * horizon**4 * math.log(1 + (k + 1) * horizon**4 / (num * ridge)) * term(k)
        return 8 * math.sqrt(inside) + 4 * horizon**2 * term(k) + math.sqrt(ridge) * bound

    def ending(k: int) -> float:
        return 4 * math.sqrt(num) * term(k) + math.sqrt(ridge) * bound

    return (
        lambda k: 8 * math.sqrt(num * information(k)) + ending(k),
        lambda k: 8 * num * math.sqrt(information(k)) + ending(k),
        of_squares,
    )
