"""Adversarial bandits as their papers print them: the EXP3 family, and one with linear rewards in blocks."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

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


def moment(arms: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """`Q = Σ p(a) aaᵀ`."""
    total = np.zeros((arms.shape[1], arms.shape[1]))
    for arm, chance in zip(arms, chances, strict=True):
        total += chance * np.outer(arm, arm)
    return total


def widths(arms: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """`‖a‖²` of every arm in the norm of the pseudo-inverse of Q."""
    inverse = np.linalg.pinv(moment(arms, chances), hermitian=True)
    return np.array([arm @ inverse @ arm for arm in arms])


def multiplied_design(arms: np.ndarray) -> np.ndarray:
    """Silvey, Titterington & Torsney 1978: chances times widths, until the largest is near the rank."""
    chances = np.full(len(arms), 1 / len(arms))
    rank = np.linalg.matrix_rank(arms)
    while (found := widths(arms, chances)).max() > 1.01 * rank:
        chances = chances * found / (chances @ found)
    return chances


def frank_wolfe_design(arms: np.ndarray, near: float = 1.01) -> np.ndarray:
    """Frank & Wolfe's steps towards the arm of the largest width, each as long as is best for `det Q`."""
    chances = np.full(len(arms), 1 / len(arms))
    rank = np.linalg.matrix_rank(arms)
    while (found := widths(arms, chances)).max() > near * rank:
        arm = int(found.argmax())
        step = (found[arm] / rank - 1) / (found[arm] - 1)
        chances = (1 - step) * chances
        chances[arm] += step
    return chances


class RestartAdv:
    """Cheung, Simchi-Levi & Zhu 2022, with EXP2 in each block of `period` rounds."""

    def __init__(self, arms: np.ndarray, period: int, scale: float = 1.0) -> None:
        self.arms, self.period, (self.num, self.dim) = arms, period, arms.shape
        self.step = scale * math.sqrt(math.log(self.num) / (3 * self.dim * period))
        self.mixing = min(1.0, self.step * self.dim)
        self.design, self.gains, self.age = multiplied_design(arms), np.zeros(self.num), 0

    def chances(self) -> np.ndarray:
        odds = np.array([math.exp(self.step * (gain - self.gains.max())) for gain in self.gains])
        return self.mixing * self.design + (1 - self.mixing) * odds / odds.sum()

    def learn(self, arm: int, reward: float) -> None:
        inverse = np.linalg.pinv(moment(self.arms, self.chances()), hermitian=True)
        for x in range(self.num):
            self.gains[x] += self.arms[x] @ inverse @ self.arms[arm] * reward
        self.age += 1
        if self.age % self.period == 0:
            self.gains = np.zeros(self.num)
