"""A drifting linear MDP as arrays, and one episode in it."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.base import random
from driftwise.base.arrays import namespace, scan, sweep_over
from driftwise.base.random import keys_of
from driftwise.base.types import Agent, Array, Episode, FeatureTable, Key, Model
from driftwise.environments import planning
from driftwise.environments.world import Record

MODEL_ENTRIES = 4_000_000  # how much of a path of models is laid out at once


class Inputs(NamedTuple):
    """What an episode needs to know of its model."""

    mixture: Array  # [J]
    optimal_values: Array  # [S] V* of the first step


class LinearMdpWorld(NamedTuple):
    """Anchors of the models, with what sampling needs precomputed."""

    table: FeatureTable
    theta: Array  # [J, H, d]
    mu: Array  # [J, H, d, S]
    cumulative_mu: Array  # [J, H, d, S], so that φᵀ of it is the cumulative distribution
    cumulative_initial: Array  # [S]
    coin_rewards: Array  # whether rewards are coins of the mean's bias

    @property
    def shown(self) -> FeatureTable:
        return self.table._replace(rewards=self.theta[0] @ self.table.values.T)

    @property
    def features(self) -> Array:
        """`[S, A, d]`."""
        num_states, dim = self.mu.shape[-1], self.mu.shape[-2]
        return namespace(self.mu).reshape(self.table.values, (num_states, -1, dim))

    def model(self, mixture: Array) -> Model:
        return Model(mix(mixture, self.theta), mix(mixture, self.mu))

    def begin(self, agent: Agent) -> Any:
        return agent.init(self.shown)

    def inputs(self, path: Array) -> Inputs:
        def optimal(mixture: Array) -> Array:
            return planning.optimal_values(self.features, self.model(mixture))[0]

        return Inputs(path, sweep_over(optimal, path, at_once=max(1, MODEL_ENTRIES // self.mu[0].size)))

    def play(
        self, agent: Agent, state: Any, inputs: Inputs, run_key: Key, t: Any
    ) -> tuple[Any, Record, Episode]:
        xp, dtype, features = namespace(self.theta), self.theta.dtype, self.features
        horizon = self.theta.shape[1]
        for_environment, for_plan, for_actions = keys_of(run_key, t)
        model = self.model(inputs.mixture)
        cumulative_mu = mix(inputs.mixture, self.cumulative_mu)

        told = self.table._replace(rewards=model.theta @ self.table.values.T)
        plan = agent.plan(state, told, for_plan)
        luck = random.uniform(for_environment, 1 + 2 * horizon, dtype)
        choices = random.uniform(for_actions, horizon, dtype)
        start = random.choose(self.cumulative_initial, luck[0])

        def step(s: Array, x: tuple) -> tuple[Array, tuple]:
            h, theta, cumulative, for_next, for_reward, for_action = x
            action = agent.act(plan, h, s, for_action)
            phi = features[s, action]
            mean = xp.sum(phi * theta)
            reward = xp.where(self.coin_rewards, xp.astype(for_reward < mean, dtype), mean)
            successor = random.choose(xp.sum(phi[:, None] * cumulative, axis=0), for_next)
            return successor, (s, action, phi, reward, successor)

        steps = xp.arange(horizon)
        xs = (steps, model.theta, cumulative_mu, luck[1::2], luck[2::2], choices)
        _, visited = scan(step, start, xs)
        episode = Episode(*visited)
        value = planning.policy_values(features, model, plan.policy)[0, start]
        record = Record(xp.sum(episode.rewards), value, inputs.optimal_values[start])
        return agent.update(state, plan, episode), record, episode


def mix(weights: Array, anchors: Array) -> Array:
    """`Σ_j c_j · anchors[j]`."""
    return namespace(anchors).tensordot(weights, anchors, axes=1)
