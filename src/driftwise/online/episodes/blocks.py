"""Least squares on features whose coordinates fall into blocks that no row mixes, one regression each."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent, Forecaster, Wrapper
from driftwise.base.arrays import spd_inverse, vecdot
from driftwise.base.part import member, part
from driftwise.base.types import (
    Blocks,
    Episode,
    FeatureTable,
    Forecast,
    Forgetting,
    Key,
    Moments,
    Plan,
    Radius,
    Sample,
)
from driftwise.parts import LeastSquares, Ucb, Unperturbed
from driftwise.parts.noise import forecast_episode
from driftwise.parts.regression import empty_moments


@part
class BlockLeastSquares(Wrapper, Forecaster):
    """`base` where `Λ` is block-diagonal, `[H, B, m, m]`: the same up to rounding, for `1/B²` of the work.

    One-hot features are blocks of one, and an action with features of its own is a block; `find_blocks` finds
    them.
    """

    base: LeastSquares = member(LeastSquares)

    @property
    def forgetting(self) -> Forgetting:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.forgetting

    def init(self, features: FeatureTable) -> Moments:
        horizon, num_states = self.spec.horizon, self.spec.num_states
        steps = np.zeros((horizon, self.spec.dim)), np.zeros(horizon), np.zeros(horizon, dtype=np.int32)
        sample = _sample(features.get(Blocks), *steps)
        uses = self.base.exploration.uses_gram_sq
        moments = empty_moments(sample, num_states if horizon > 1 else 0, self.base.ridge, gram_sq=uses)
        return self.forgetting.init(moments, sample)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        blocks, horizon, num_states = features.get(Blocks), self.spec.horizon, self.spec.num_states
        inverse = spd_inverse(state.gram)
        bonus, exploration = np.zeros((horizon, len(blocks.place))), self.base.exploration
        if isinstance(exploration, Ucb):  # β times the width of each row
            single = exploration.norm == "single" or state.gram_sq is None
            matrix = inverse if single else inverse @ state.gram_sq @ inverse
            squared = np.maximum(blocks.at_rows(vecdot(blocks.rows @ matrix, blocks.rows)), 0)
            bonus = exploration.radius * np.sqrt(squared)
        weights, q = np.zeros((horizon, *blocks.order.shape)), bonus.reshape(horizon, num_states, -1).copy()
        values = np.zeros((horizon + 1, num_states))
        for h in reversed(range(horizon)):
            cross = state.cross[h].reshape(-1, state.cross.shape[-1])
            target = cross[:, 0] + (cross[:, 1:] @ values[h + 1] if horizon > 1 else 0.0)
            weights[h] = vecdot(inverse[h], target.reshape(len(inverse[h]), 1, -1))
            q[h] += blocks.at_rows(vecdot(blocks.rows, weights[h][:, None])).reshape(num_states, -1)
            values[h] = self.base.clip_values(q[h].max(axis=-1), self.base.ceilings[h])
        plain = np.zeros((horizon, self.spec.dim))
        plain[:, blocks.order.ravel()] = weights.reshape(horizon, -1)
        return Plan(plain, bonus.reshape(q.shape), q, self.policy(q), values[:-1])

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        sample = _sample(features.get(Blocks), episode.features, episode.rewards, episode.successors)
        return self.forgetting.update(state, sample)

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        parts = episode.features[:, features.get(Blocks).order]
        at = np.arange(len(parts)), np.abs(parts).max(axis=-1).argmax(axis=-1)  # the block of each step
        seen = parts[at], episode.rewards, plan.next_values, episode.successors
        return forecast_episode(state.gram[at], state.cross[at], *seen)

    def policy(self, q: Any) -> Any:
        return self.base.policy(q)

    def memory(self, state: Moments) -> Any:
        return self.base.memory(state)

    def moments(self, state: Moments) -> Moments:
        return state


def _sample(blocks: Blocks, features: np.ndarray, rewards: np.ndarray, successors: np.ndarray) -> Sample:
    """Return steps with features `[H, d]` as samples `[H, B]` of blocks, all but one of them 0."""
    lead = len(features), len(blocks.order)
    paid, reached = (np.broadcast_to(values[:, None], lead) for values in (rewards, successors))
    return Sample(features[:, blocks.order], paid, reached, np.ones(lead))


def find_blocks(features: np.ndarray) -> Blocks | None:
    """Return the blocks of the coordinates of rows `[N, d]`; None if there is one, or sizes differ."""
    label = np.arange(features.shape[-1])
    for row in features != 0:
        joined = np.unique(label[row])
        if len(joined) > 1:
            label[np.isin(label, joined)] = joined[0]
    names, sizes = np.unique(label, return_counts=True)
    if len(names) == 1 or sizes.min() < sizes.max():
        return None
    order = np.argsort(label, kind="stable").reshape(len(names), -1)
    parts = features[:, order]  # [N, B, m]
    block = np.abs(parts).max(axis=-1).argmax(axis=-1)  # rows of zeros belong to any
    num = np.bincount(block, minlength=len(names))
    slot = np.empty(len(features), dtype=np.int64)
    by_block = np.argsort(block, kind="stable")
    slot[by_block] = np.arange(len(features)) - np.repeat(np.cumsum(num) - num, num)
    rows = np.zeros((len(names), num.max(), order.shape[-1]))
    rows[block, slot] = parts[np.arange(len(parts)), block]
    return Blocks(order, rows, block * num.max() + slot)


def with_blocks(agent: Agent) -> Agent:
    """Return the agent with `BlockLeastSquares` in the place of its `LeastSquares`, if that is equivalent."""
    if isinstance(agent, LeastSquares):  # plans that need nothing but estimates and widths of rows
        exploration, extras = agent.exploration, (agent.noise, agent.caution)
        fixed = isinstance(exploration, Ucb) and not isinstance(exploration.radius, Radius)
        plain = (fixed or isinstance(exploration, Unperturbed)) and extras == (None, None)
        return BlockLeastSquares(agent) if plain and not agent.needs else agent
    if isinstance(agent, Wrapper) and (isinstance(agent, MixtureOfMemories) or not agent.needs):
        return dataclasses.replace(agent, base=with_blocks(agent.base))  # pyright: ignore
    return agent
