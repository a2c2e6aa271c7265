"""Least squares on features whose coordinates fall into blocks that no row mixes: one regression for each."""

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
    Spec,
)
from driftwise.parts.exploration import Ucb, Unperturbed
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import forecast_episode
from driftwise.parts.regression import empty_moments


@part
class BlockLeastSquares(Forecaster):
    """`base` where `Λ` is block-diagonal, `[H, B, m, m]`: the same up to rounding, for `1/B²` of the work.

    A state and an action with a feature of their own are blocks of one, and an action with features of its
    own is a block; `blocks_of` finds them.
    """

    base: LeastSquares = member(LeastSquares)

    @property
    def spec(self) -> Spec:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.spec

    @property
    def forgetting(self) -> Forgetting:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.base.forgetting

    @property
    def optimistic(self) -> bool:
        return self.base.optimistic

    def init(self, features: FeatureTable) -> Moments:
        horizon, num_states = self.spec.horizon, self.spec.num_states
        sample = self._sample(features.blocks, np.zeros((horizon, self.spec.dim)), np.zeros(horizon))
        uses = self.base.exploration.uses_gram_sq
        moments = empty_moments(sample, num_states if horizon > 1 else 0, self.base.ridge, gram_sq=uses)
        return self.forgetting.init(moments, sample)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        blocks, horizon, num_states = features.blocks, self.spec.horizon, self.spec.num_states
        inverse = spd_inverse(state.gram)
        bonus = self._bonus(inverse, state, blocks)
        weights, q = np.zeros((horizon, *blocks.order.shape)), bonus.reshape(horizon, num_states, -1).copy()
        values = np.zeros((horizon + 1, num_states))
        for h in reversed(range(horizon)):
            cross = state.cross[h].reshape(-1, state.cross.shape[-1])
            target = cross[:, 0] + (cross[:, 1:] @ values[h + 1] if horizon > 1 else 0.0)
            weights[h] = vecdot(inverse[h], target.reshape(len(inverse[h]), 1, -1))
            q[h] += blocks.at_rows(vecdot(blocks.rows, weights[h][:, None])).reshape(num_states, -1)
            values[h] = self.base.clipped(q[h].max(axis=-1), self.base.ceilings[h])
        plain = np.zeros((horizon, self.spec.dim))
        plain[:, blocks.order.ravel()] = weights.reshape(horizon, -1)
        return Plan(plain, bonus.reshape(q.shape), q, self.policy(q), values[:-1])

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        sample = self._sample(features.blocks, episode.features, episode.rewards, episode.successors)
        return self.forgetting.update(state, sample)

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        parts = episode.features[:, features.blocks.order]
        at = np.arange(len(parts)), np.abs(parts).max(axis=-1).argmax(axis=-1)  # the block of each step
        seen = parts[at], episode.rewards, plan.ahead, episode.successors
        return forecast_episode(state.gram[at], state.cross[at], *seen)

    def policy(self, q: Any) -> Any:
        return self.base.policy(q)

    def memory(self, state: Moments) -> Any:
        return self.base.memory(state)

    def moments(self, state: Moments) -> Moments:
        return state

    def _bonus(self, inverse: np.ndarray, state: Moments, blocks: Blocks) -> np.ndarray:
        """`β` times the width of each row: `[H, N]`."""
        exploration = self.base.exploration
        if not isinstance(exploration, Ucb):
            return np.zeros((len(inverse), len(blocks.place)))
        single = exploration.norm == "single" or state.gram_sq is None
        matrix = inverse if single else inverse @ state.gram_sq @ inverse
        squared = vecdot(blocks.rows @ matrix, blocks.rows)
        return exploration.radius * np.sqrt(np.maximum(blocks.at_rows(squared), 0))

    def _sample(
        self, blocks: Blocks, features: np.ndarray, rewards: np.ndarray, successors: Any = None
    ) -> Sample:
        """Steps with features `[H, d]` as samples of all blocks, of which all but one are 0: `[H, B]`."""
        parts = features[:, blocks.order]
        lead = parts.shape[:2]
        reached = np.zeros(len(parts), dtype=np.int32) if successors is None else successors
        paid, reached = (np.broadcast_to(each[:, None], lead) for each in (rewards, reached))
        return Sample(parts, paid, reached, np.ones(lead))


def blocks_of(features: np.ndarray) -> Blocks | None:
    """Blocks of equal size of the coordinates of rows `[N, d]`; None if there is but one, or sizes differ."""
    label = np.arange(features.shape[-1])
    for row in features != 0:
        met = np.unique(label[row])
        if len(met) > 1:
            label[np.isin(label, met)] = met[0]
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


def in_blocks(agent: Agent) -> Agent:
    """An agent with `BlockLeastSquares` in the place of the `LeastSquares` in it, if that does as well."""
    if isinstance(agent, LeastSquares):
        return BlockLeastSquares(agent) if _separable(agent) else agent
    if isinstance(agent, Wrapper) and (isinstance(agent, MixtureOfMemories) or not agent.needs):
        return dataclasses.replace(agent, base=in_blocks(agent.base))  # pyright: ignore
    return agent


def _separable(agent: LeastSquares) -> bool:
    """Whether plans need nothing but estimates and widths of rows."""
    exploration = agent.exploration
    plain = isinstance(exploration, Unperturbed) or (
        isinstance(exploration, Ucb) and not isinstance(exploration.radius, Radius)
    )
    return plain and not agent.needs and agent.noise is None and agent.caution is None
