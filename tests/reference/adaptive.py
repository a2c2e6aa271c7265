"""A mixture of memories by its definition: every sum over the whole history, Student's t from SciPy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from driftwise.base.types import Episode


class Memory:
    """A ridge regression with exponential weights for each step, in a window, and the noise it has learnt."""

    def __init__(
        self,
        rate: float,
        ridge: float,
        *,
        count: float,
        scale: float,
        max_degrees: float,
        window: float = math.inf,
    ) -> None:
        self.rate, self.ridge, self.count, self.scale = rate, ridge, count, scale
        self.max_degrees, self.window = max_degrees, window
        self.history: list[Episode] = []
        self.squares: list[np.ndarray] = []  # [H] e²/(1+v) of each episode

    def variance(self, h: int) -> float:
        """`s²`."""
        weights, squares = self._weights(), [each[h] for each in self.squares]
        prior = self.scale**2 if self.scale else (float(np.mean(squares)) if squares else 1.0)
        return (
            self.count * prior + sum(w * q for w, q in zip(weights, squares, strict=True))
        ) / self.degrees()

    def degrees(self) -> float:
        """`ν`."""
        return self.count + sum(self._weights())

    def expected(self, h: int, phi: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """`m` and `v` for values `[H+1, S]`."""
        gram, target = self.ridge * np.eye(len(phi)), np.zeros(len(phi))
        for weight, episode in zip(self._weights(), self.history, strict=True):
            past = episode.features[h]
            gram += weight * np.outer(past, past)
            target += weight * past * (episode.rewards[h] + values[h + 1, episode.successors[h]])
        return float(phi @ np.linalg.solve(gram, target)), float(phi @ np.linalg.solve(gram, phi))

    def learn(self, episode: Episode, values: np.ndarray) -> float:
        """The score of an episode over all steps, which is then learnt from."""
        score, squares = 0.0, []
        for h, phi in enumerate(episode.features):
            mean, spread = self.expected(h, phi, values)
            error = episode.rewards[h] + values[h + 1, episode.successors[h]] - mean
            variance = self.variance(h)
            if variance > 0:
                width = math.sqrt(variance * (1 + spread))
                score += float(student.logpdf(error, min(self.degrees(), self.max_degrees), scale=width))
            squares.append(error**2 / (1 + spread))
        self.history.append(episode)
        self.squares.append(np.array(squares))
        return score

    def _weights(self) -> list[float]:
        ages = range(len(self.history), 0, -1)
        return [self.rate ** (age - 1) * (age <= self.window) for age in ages]


def fixed_share(scores: Sequence[Sequence[float]], prior: Sequence[float], share: float) -> list[list[float]]:
    """The weights before each round and after the last, as Herbster & Warmuth (1998) define them."""
    weights = [list(prior)]
    for t, round_scores in enumerate(scores, start=1):
        raised = [w * math.exp(score) for w, score in zip(weights[-1], round_scores, strict=True)]
        alpha = share or 1 / (t + 1)
        total = sum(raised)
        weights.append([(1 - alpha) * u / total + alpha * p for u, p in zip(raised, prior, strict=True)])
    return weights


def best_sequence(scores: np.ndarray, prior: np.ndarray, shares: Sequence[float]) -> float:
    """The right side of the guarantee, least over all sequences of experts: try every one of them."""
    num_rounds, num_experts = scores.shape
    best = math.inf
    for code in range(num_experts**num_rounds):
        chosen = [code // num_experts**t % num_experts for t in range(num_rounds)]
        cost = -sum(scores[t, j] for t, j in enumerate(chosen)) - math.log(prior[chosen[0]])
        for t in range(1, num_rounds):
            stays = (1 - shares[t - 1]) * (chosen[t] == chosen[t - 1])
            cost -= math.log(stays + shares[t - 1] * prior[chosen[t]])
        best = min(best, cost)
    return best
