"""One episode of one agent in one world, written once for every engine."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise import planning, random
from driftwise.arrays import namespace, scan
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.regression import feature_table
from driftwise.types import Agent, Array, Episode, FeatureTable, Key, Model

ENVIRONMENT, PLANNING, ACTING = 0, 1, 2  # purposes: a run meets the same world, whoever acts in it


class World(NamedTuple):
    """An environment as arrays, with what sampling needs precomputed."""

    table: FeatureTable
    theta: Array  # [J, H, d]
    mu: Array  # [J, H, d, S]
    cumulative_mu: Array  # [J, H, d, S], so that φᵀ of it is the cumulative distribution
    cumulative_initial: Array  # [S]
    coin_rewards: Array  # whether rewards are coins of the mean's bias

    @property
    def features(self) -> Array:
        """`[S, A, d]`."""
        num_states, dim = self.mu.shape[-1], self.mu.shape[-2]
        return namespace(self.mu).reshape(self.table.values, (num_states, -1, dim))

    @classmethod
    def of(cls, environment: LinearMdp, dtype: Any = np.float64) -> World:
        return cls(
            table=feature_table(environment.features, dtype),
            theta=environment.theta.astype(dtype),
            mu=environment.mu.astype(dtype),
            cumulative_mu=np.cumsum(environment.mu, axis=-1).astype(dtype),
            cumulative_initial=np.cumsum(environment.initial).astype(dtype),
            coin_rewards=np.asarray(environment.rewards == "bernoulli"),
        )


class Record(NamedTuple):
    """What is kept of an episode."""

    start: Array  # first state
    reward: Array  # sum of the rewards seen
    value: Array  # exact V^π of the first state


def mix(weights: Array, anchors: Array) -> Array:
    """`Σ_j c_j · anchors[j]`."""
    return namespace(anchors).tensordot(weights, anchors, axes=1)


def play(
    agent: Agent, world: World, state: Any, mixture: Array, run_key: Key, t: Any
) -> tuple[Any, Record, Episode]:
    """Plan, act for H steps, learn; and evaluate the plan's policy exactly."""
    xp, dtype, features = namespace(world.theta), world.theta.dtype, world.features
    horizon = world.theta.shape[1]
    for_environment, for_plan, for_actions = (
        random.fold(random.fold(run_key, purpose), t) for purpose in (ENVIRONMENT, PLANNING, ACTING)
    )
    model = Model(mix(mixture, world.theta), mix(mixture, world.mu))
    cumulative_mu = mix(mixture, world.cumulative_mu)

    plan = agent.plan(state, world.table, for_plan)
    luck = random.uniform(for_environment, 1 + 2 * horizon, dtype)
    choices = random.uniform(for_actions, horizon, dtype)
    start = random.choose(world.cumulative_initial, luck[0])

    def step(s: Array, x: tuple) -> tuple[Array, tuple]:
        h, theta, cumulative, for_next, for_reward, for_action = x
        action = agent.act(plan, h, s, for_action)
        phi = features[s, action]
        mean = xp.sum(phi * theta)
        reward = xp.where(world.coin_rewards, xp.astype(for_reward < mean, dtype), mean)
        successor = random.choose(xp.sum(phi[:, None] * cumulative, axis=0), for_next)
        return successor, (s, action, phi, reward, successor)

    steps = xp.arange(horizon)
    xs = (steps, model.theta, cumulative_mu, luck[1::2], luck[2::2], choices)
    _, visited = scan(step, start, xs)
    episode = Episode(*visited)
    value = planning.policy_values(features, model, plan.policy)[0, start]
    return agent.update(state, plan, episode), Record(start, xp.sum(episode.rewards), value), episode
