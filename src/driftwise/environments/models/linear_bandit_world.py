"""A drifting linear bandit as arrays, and one round of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.base import random
from driftwise.base.arrays import namespace
from driftwise.base.random import keys_of
from driftwise.base.types import Agent, Array, Episode, FeatureTable, Key
from driftwise.environments.arms import Sampler
from driftwise.environments.world import Record

ARMS, NOISE = 0, 1  # below the purpose of the environment


class LinearBanditWorld(NamedTuple):
    """Arms, and what hides their rewards."""

    arms: Sampler
    example: FeatureTable  # the arms of some round
    noise_scale: Array
    coin_rewards: Array  # whether rewards are coins of the mean's bias; noise comes on top

    @property
    def shown(self) -> FeatureTable:
        return self.example

    def begin(self, agent: Agent) -> Any:
        return agent.init(self.shown)

    def inputs(self, path: Array) -> Array:
        return path

    def play(
        self, agent: Agent, state: Any, inputs: Array, run_key: Key, t: Any
    ) -> tuple[Any, Record, Episode]:
        xp, theta, dtype = namespace(inputs), inputs, inputs.dtype
        for_environment, for_plan, for_action = keys_of(run_key, t)
        arms = self.arms.draw(random.fold(for_environment, ARMS))
        luck = random.uniform(random.fold(for_environment, NOISE), 3, dtype)
        noise = self.noise_scale * random.gaussian(luck[:1], luck[1:2])[0]

        plan = agent.plan(state, arms, for_plan)
        start = xp.asarray(0, dtype=xp.int32)
        arm = agent.act(plan, 0, start, random.uniform(for_action, 1, dtype)[0])
        means = xp.sum(arms.values * theta, axis=-1)
        mean, features = means[arm], arms.values[arm]
        reward = xp.where(self.coin_rewards, xp.astype(luck[2] < mean, dtype), mean) + noise

        best = xp.max(means if arms.present is None else xp.where(arms.present, means, -xp.inf))
        record = Record(reward, xp.sum(plan.policy[0, 0] * means), best)
        episode = Episode(start[None], arm[None], features[None], reward[None], start[None])
        return agent.update(state, plan, episode), record, episode
