"""A drifting MDP without episodes as arrays, and one step in it."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.base import random
from driftwise.base.arrays import namespace
from driftwise.base.random import keys_of
from driftwise.base.types import Agent, Array, Episode, FeatureTable, Key
from driftwise.environments.models.linear_mdp_world import mix
from driftwise.environments.world import Record, Standing


class Inputs(NamedTuple):
    """What a step needs to know of its model."""

    mixture: Array  # [J]
    gain: Array  # the best one


class ContinuingMdpWorld(NamedTuple):
    """Anchors of the models; a step is an episode of one step that starts where the last one ended."""

    table: FeatureTable
    reward: Array  # [J, S, A]
    cumulative_kernel: Array  # [J, S, A, S]
    start: Array  # the first state
    coin_rewards: Array  # whether rewards are coins of the mean's bias

    @property
    def shown(self) -> FeatureTable:
        return self.table

    def begin(self, agent: Agent) -> Standing:
        return Standing(agent.init(self.shown), self.start)

    def inputs(self, path: Array) -> Inputs:
        return Inputs(path[:, :-1], path[:, -1])

    def play(
        self, agent: Agent, state: Standing, inputs: Inputs, run_key: Key, t: Any
    ) -> tuple[Standing, Record, Episode]:
        xp, dtype, here = namespace(self.reward), self.reward.dtype, state.position
        for_environment, for_plan, for_action = keys_of(run_key, t)
        plan = agent.plan(state.learnt, self.table, for_plan)
        luck = random.uniform(for_environment, 2, dtype)
        action = agent.act(plan, 0, here, random.uniform(for_action, 1, dtype)[0])
        mean = mix(inputs.mixture, self.reward)[here, action]
        reward = xp.where(self.coin_rewards, xp.astype(luck[1] < mean, dtype), mean)
        successor = random.choose(mix(inputs.mixture, self.cumulative_kernel)[here, action], luck[0])
        features = self.table.values[here * self.reward.shape[-1] + action]
        episode = Episode(here[None], action[None], features[None], reward[None], successor[None])
        learnt = agent.update(state.learnt, plan, episode)
        return Standing(learnt, successor), Record(reward, mean, inputs.gain), episode
