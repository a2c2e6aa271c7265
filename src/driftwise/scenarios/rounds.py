"""All rounds of a run of a bandit scenario, drawn before anybody plays them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.types import FeatureTable, Key
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments import LinearBandit
from driftwise.environments.models.linear_bandit import LinearBanditWorld
from driftwise.scenarios.scenario import Scenario


class Rounds(NamedTuple):
    """The rounds of a run, its warm-up among them, as the simulator would meet them."""

    world: LinearBanditWorld
    theta: np.ndarray  # [T, d]
    arms: FeatureTable  # [T, A, d]
    means: np.ndarray  # [T, A]
    rewards: np.ndarray  # [T, A] that come back for each arm, some of them poisoned

    @classmethod
    def of(cls, scenario: Scenario, run: int) -> Rounds:
        environment = scenario.environment()
        if not isinstance(environment, LinearBandit):
            raise ArgumentError("scenario", "be one of a bandit", scenario.name)
        world, numbers = environment.world(), np.arange(scenario.warm_up + scenario.rounds)
        key = random.fold(run_key(scenario, run), random.ENVIRONMENT)
        theta, drawn = environment.at(numbers), world.draw(random.fold(key, numbers))
        means = world.means(drawn.arms, theta)
        rewards = world.reward(means, drawn.luck[:, None])
        if world.corruption is not None and drawn.chance is not None:
            best, nothing = means >= means.max(axis=-1, keepdims=True), np.zeros(())  # none has a budget
            rewards = world.corruption.corrupt(rewards, best, nothing, drawn.chance[:, None])
        return cls(world, theta, drawn.arms, means, rewards)

    def behind(self, taken: np.ndarray, lags: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Values of the arms taken in the last rounds, in worlds of some rounds before, and the best there.

        Both are `[lags, T]`, over the same T rounds, whose worlds before are rounds with a decision.
        """
        last = len(taken) - max(lags)
        arms, own, end = FeatureTable(self.arms.values[-last:]), taken[-last:, None], len(self.theta)
        means = [self.world.means(arms, self.theta[end - last - n : end - n]) for n in lags]
        values = [np.take_along_axis(each, own, axis=-1)[:, 0] for each in means]
        return np.array(values), np.array([each.max(axis=-1) for each in means])


def run_key(scenario: Scenario, run: int) -> Key:
    """The key of all that is drawn in a run."""
    return random.fold(random.key(scenario.seed), require_count("run", run, at_least=0, bits=32))
