"""The EXP3 family as its papers print it: loops over arms, weights that are not in logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

Play = Sequence[tuple[int, float]]  # the arm drawn in each round, and its gain


def exp3(played: Play, *, num_arms: int, num_rounds: int) -> Iterator[list[float]]:
    """Auer et al. (2002), Figure 1 and Corollary 3.2: the probabilities of every round, along given draws."""
    gamma = min(1.0, math.sqrt(num_arms * math.log(num_arms) / ((math.e - 1) * num_rounds)))
    w = [1.0] * num_arms
    for arm, gain in played:
        p = _mixed(w, gamma)
        yield p
        w[arm] *= math.exp(gamma * (gain / p[arm]) / num_arms)


def exp3_p(played: Play, *, num_arms: int, num_rounds: int, delta: float) -> Iterator[list[float]]:
    """Auer et al. (2002), Figure 3 and Theorem 6.3."""
    alpha = 2 * math.sqrt(math.log(num_arms * num_rounds / delta))
    gamma = min(3 / 5, 2 * math.sqrt(3 / 5 * num_arms * math.log(num_arms) / num_rounds))
    w = [math.exp(alpha * gamma / 3 * math.sqrt(num_rounds / num_arms))] * num_arms
    for arm, gain in played:
        p = _mixed(w, gamma)
        yield p
        for i in range(num_arms):
            estimate = gain / p[i] if i == arm else 0.0
            upper = estimate + alpha / (p[i] * math.sqrt(num_arms * num_rounds))
            w[i] *= math.exp(gamma / (3 * num_arms) * upper)


def exp3_p_bubeck(played: Play, *, num_arms: int, num_rounds: int, delta: float) -> Iterator[list[float]]:
    """Bubeck & Cesa-Bianchi (2012), Section 3.2, by sums of the estimated gains."""
    beta = math.sqrt(math.log(num_arms / delta) / (num_rounds * num_arms))
    eta = 0.95 * math.sqrt(math.log(num_arms) / (num_rounds * num_arms))
    gamma = min(1.0, 1.05 * math.sqrt(num_arms * math.log(num_arms) / num_rounds))
    sums = [0.0] * num_arms
    for arm, gain in played:
        p = _mixed([math.exp(eta * total) for total in sums], gamma)
        yield p
        for i in range(num_arms):
            sums[i] += ((gain if i == arm else 0.0) + beta) / p[i]


def exp3_s(played: Play, *, num_arms: int, num_rounds: int, num_parts: int) -> Iterator[list[float]]:
    """Auer et al. (2002), Section 8 and Corollary 8.3, against sequences of that many constant parts."""
    alpha = 1 / num_rounds
    log = num_parts * math.log(num_arms * num_rounds)
    gamma = min(1.0, math.sqrt(num_arms * (log + math.e) / ((math.e - 1) * num_rounds)))
    w = [1.0] * num_arms
    for arm, gain in played:
        p = _mixed(w, gamma)
        yield p
        total = sum(w)
        for i in range(num_arms):
            estimate = gain / p[i] if i == arm else 0.0
            w[i] = w[i] * math.exp(gamma * estimate / num_arms) + math.e * alpha / num_arms * total


def _mixed(w: list[float], gamma: float) -> list[float]:
    return [(1 - gamma) * weight / sum(w) + gamma / len(w) for weight in w]
