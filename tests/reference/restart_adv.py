"""An adversarial linear bandit in blocks, as the papers print it, with every sum written out."""

from __future__ import annotations

import math

import numpy as np


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
