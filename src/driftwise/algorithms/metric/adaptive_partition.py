"""Optimistic Q-learning on squares of states and actions that are cut in four where visits are many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.parts.exploration import greedy_policy


class PartitionState(NamedTuple):
    """The partition. All pairs of a square hold its values, so that cutting it changes a depth."""

    q: Array  # [H, N]
    count: Array  # [H, N] visits of the square, and of those it was cut from
    depth: Array  # [H, N] cuts that led to it: its sides are 2^−depth long
    tick: Array  # episodes since the last restart


@part
class AdaptiveQLearning(Agent):
    """Q-learning on a partition of the unit square that becomes finer where there are visits.

    At the t-th visit of a square `Q ← (1−α)Q + α(r + V_{h+1}(s') + radius/√t)`, with `α = (H+1)/(H+t)`; Q
    starts at H on the whole square. A square of depth ℓ with at least `4^ℓ` visits is cut in four that
    inherit what it knows. `V_h(s) = min(max Q, H)` over squares that meet the state, and the action is any
    within the best. Everything starts anew after every `period` episodes; 0 is never.

    Intervals are closed above, and the first also below.
    """

    spec: Spec = member(Spec)
    radius: Numeric = number(at_least=0)
    period: Numeric = number(at_least=0, integer=True, default=0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("positions",)

    def init(self, features: FeatureTable) -> PartitionState:
        positions: Array = features.positions
        if (coordinates := positions.shape[-1]) != 2:
            raise ArgumentError("positions", "have 2 coordinates, of state and action", coordinates)
        return self._fresh(positions)

    def plan(self, state: PartitionState, features: FeatureTable, key: Key) -> Plan:
        xp, spec = namespace(state.q), self.spec
        q = state.q.reshape((spec.horizon, spec.num_states, -1))
        values = xp.minimum(xp.max(q, axis=-1), spec.horizon)
        bonus = self._bonus(xp.maximum(state.count, 1.0)).reshape(q.shape)
        weights = xp.zeros((spec.horizon, 0), dtype=q.dtype)
        return Plan(weights, bonus, q, greedy_policy(q), values)

    def update(
        self, state: PartitionState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> PartitionState:
        positions: Array = features.positions
        xp, horizon = namespace(state.q), self.spec.horizon
        pair, steps = episode.states * self.spec.num_actions + episode.actions, np.arange(self.spec.horizon)
        depth, count = state.depth[steps, pair][:, None], state.count[steps, pair][:, None] + 1
        sides = xp.astype(1 << depth, positions.dtype)[..., None]  # how many of them make one
        square = xp.maximum(xp.ceil(positions * sides), 1.0)  # [H, N, 2]
        here = xp.all(square == square[steps, pair][:, None], axis=-1)

        goal = (episode.rewards + plan.values_ahead(episode.successors))[:, None] + self._bonus(count)
        share = (horizon + 1) / (horizon + count)
        learnt = PartitionState(
            q=xp.where(here, (1 - share) * state.q + share * goal, state.q),
            count=xp.where(here, count, state.count),
            depth=xp.where(here & (count >= sides[..., 0] ** 2), depth + 1, state.depth),
            tick=state.tick + 1,
        )
        return where_tree(learnt.tick == self.period, self._fresh(positions), learnt)

    def _bonus(self, count: Array) -> Array:
        return self.radius / namespace(count).sqrt(count)

    def _fresh(self, positions: Array) -> PartitionState:
        xp, horizon = namespace(positions), self.spec.horizon
        nothing = xp.zeros((horizon, len(positions)), dtype=positions.dtype)
        whole = xp.zeros((horizon, len(positions)), dtype=xp.int32)
        return PartitionState(nothing + horizon, nothing, whole, xp.asarray(0, dtype=xp.int64))
