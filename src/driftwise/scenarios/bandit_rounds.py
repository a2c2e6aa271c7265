"""The rounds of a bandit scenario."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.types import FeatureTable
from driftwise.base.validation import ArgumentError, require_kind
from driftwise.environments import LinearBandit
from driftwise.scenarios.feedback import FEEDBACKS, Fate
from driftwise.scenarios.protocols import Context, Reward
from driftwise.scenarios.rounds import Rounds, run_key
from driftwise.scenarios.scenario import Scenario


class BanditRounds(Rounds):
    """Rounds with arms `[T, A, d]`, and the rewards `[T, A]` that come back for each of them."""

    def __init__(self, scenario: Scenario, run: int) -> None:
        environment = require_kind("environment", scenario.environment(), LinearBandit)
        self.spec, self.world = environment.spec, environment.world()
        key, numbers = run_key(scenario, run), np.arange(scenario.warm_up + scenario.rounds)
        drawn = self.world.draw(random.fold(random.fold(key, random.ENVIRONMENT), numbers))
        self.fate, self.path, self.arms = (
            Fate.of(key, len(numbers), 1),
            environment.at(numbers),
            drawn.arms.values,
        )
        means = self.means(numbers, numbers)
        rewards = self.world.reward(means, drawn.luck[:, None])
        best = means >= means.max(axis=-1, keepdims=True)
        self.rewards = FEEDBACKS[scenario.feedback].seen(rewards, best, self.fate.poison)

    def means(self, at: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        """Mean rewards of the arms of rounds `at` in the worlds of others, `[N, A]`."""
        return self.world.means(FeatureTable(self.arms[at]), self.path[worlds])

    def shown(self, number: int) -> Context:
        return Context(number, self.arms[number].copy())

    def checked(self, decided: Any) -> int:
        try:
            arm = operator.index(decided)
        except TypeError:
            arm = -1
        if not 0 <= arm < self.spec.num_actions:
            raise ArgumentError("policy", f"decide on an arm from 0 to {self.spec.num_actions - 1}", decided)
        return arm

    def told(self, number: int, decision: int) -> Reward:
        return Reward(number, self.arms[number].copy(), decision, float(self.rewards[number, decision]))

    def worth(
        self, decisions: np.ndarray, at: np.ndarray, worlds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        means = self.means(at, worlds)
        return np.take_along_axis(means, decisions[:, None], axis=-1)[:, 0], means.max(axis=-1)

    def chance(self, at: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        return self.means(at, worlds).mean(axis=-1)

    def frozen(self, taken: np.ndarray, changes: np.ndarray) -> np.ndarray:
        return self.worth(taken[changes], changes, changes)[0]  # arms are new in every round
