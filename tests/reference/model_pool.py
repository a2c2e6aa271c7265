"""dLinUCB (Wu, Iyer & Wang 2018, Algorithm 1) as lists of objects."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np


class Slave:
    """A LinUCB model that keeps all samples it took and all judgements on it."""

    def __init__(self, dim: int) -> None:
        self.arms: list[np.ndarray] = []
        self.rewards: list[float] = []
        self.errors: list[bool] = []
        self.dim = dim

    def prediction(self, x: np.ndarray, *, noise_scale: float, delta: float, ridge: float) -> tuple:
        """The estimate and the bonus B_t(m, x)."""
        gram = ridge * np.eye(self.dim) + sum(np.outer(arm, arm) for arm in self.arms)
        target = np.array(self.rewards) @ np.reshape(self.arms, (-1, self.dim))
        information = self.dim * math.log(1 + len(self.arms) / (ridge * self.dim))
        radius = math.sqrt(ridge) + noise_scale * math.sqrt(2 * math.log(1 / delta) + information)
        return x @ np.linalg.solve(gram, target), radius * math.sqrt(x @ np.linalg.solve(gram, x))

    def badness(self, window: int, badness_delta: float) -> tuple[float, float]:
        """The share of errors among the newest `window`, and its confidence width."""
        recent = self.errors[-window:] or [False]
        return sum(recent) / len(recent), math.sqrt(math.log(1 / badness_delta) / (2 * len(recent)))


class Master:
    """The pool, oldest model first."""

    def __init__(
        self,
        dim: int,
        *,
        noise_scale: float,
        delta: float = 0.01,
        window: int = 200,
        admit_share: float = 0.2,
        badness_delta: float = 0.01,
        ridge: float = 1.0,
        capacity: int = 8,
    ) -> None:
        self.dim, self.capacity = dim, capacity
        self.assumed: dict[str, float] = dict(noise_scale=noise_scale, delta=delta, ridge=ridge)
        self.judging: dict[str, Any] = dict(window=window, badness_delta=badness_delta)
        self.window, self.discard_level, self.admit_level = window, delta, admit_share * delta
        self.margin = noise_scale * NormalDist().inv_cdf(1 - delta / 2)
        self.models = [Slave(dim)]
        self.num_created, self.num_overflows = 1, 0

    def arm(self, arms: np.ndarray) -> int:
        """Lines 4–6: the model of least badness by its lower confidence bound, and its optimistic arm."""

        def lower_bound(model: Slave) -> float:
            badness, width = model.badness(**self.judging)
            return badness - math.sqrt(math.log(self.window)) * width

        chosen = min(self.models, key=lower_bound)  # the first of those that tie: the oldest
        return int(np.argmax([sum(chosen.prediction(x, **self.assumed)) for x in arms]))

    def learn(self, x: np.ndarray, reward: float) -> None:
        """Lines 7–25."""
        create, kept = True, []
        for model in self.models:
            estimate, bonus = model.prediction(x, **self.assumed)
            wrong = abs(estimate - reward) > bonus + self.margin
            if not wrong:
                model.arms.append(x)
                model.rewards.append(reward)
            model.errors.append(wrong)
            badness, width = model.badness(**self.judging)
            if badness < self.admit_level + width:
                create = False
            if badness < self.discard_level + width:
                kept.append(model)
        if create:
            if len(kept) == self.capacity:
                kept.remove(max(kept, key=lambda model: model.badness(**self.judging)[0]))
                self.num_overflows += 1
            kept.append(Slave(self.dim))
            self.num_created += 1
        self.models = kept
