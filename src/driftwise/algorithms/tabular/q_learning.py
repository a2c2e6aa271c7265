"""Optimistic Q-learning: no model, only action values that come down as pairs are visited."""

from __future__ import annotations

from typing import Literal, NamedTuple

from driftwise.algorithms.tabular.acting import highest, require_all_actions
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.parts.counts import visited
from driftwise.parts.exploration import greedy_policy


class QState(NamedTuple):
    """Action values, and how often each was updated."""

    q: Array  # [H, S, A]
    count: Array  # [H, S, A]


@part
class OptimisticQLearning(Agent):
    """Every visit moves Q towards what was met, with a bonus that shrinks with the visits.

    At the t-th visit `Q ← (1−α)Q + α(r + V_{h+1}(s') + b)`, with `α = (H+1)/(H+t)`, `b = c√(H³ι/t)` and
    `V = min(max_a Q, H)`; Q starts at H. `clip="tight"` has `H−h+1` in the place of `H`. `log_term` is ι.
    """

    spec: Spec = member(Spec)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    clip: Literal["paper", "tight"] = choice("paper", "tight", default="paper")

    def init(self, features: FeatureTable) -> QState:
        require_all_actions(features)
        xp = namespace(features.values)
        q = highest(self.spec, features.values, tight=self.clip == "tight")
        return QState(q, xp.zeros_like(q))

    def plan(self, state: QState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.q)
        ceilings = highest(self.spec, state.q, tight=self.clip == "tight")
        width = self._bonus(xp.where(state.count > 0, state.count, 1.0))
        bonus = xp.where(state.count > 0, width, ceilings)
        return greedy_plan(state.q, bonus, ceilings)

    def update(self, state: QState, features: FeatureTable, plan: Plan, episode: Episode) -> QState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        count = state.count + here
        share = here * (horizon + 1) / (horizon + count)  # α, where it was
        goal = met(plan, episode) + self._bonus(xp.where(here > 0, count, 1.0))
        return QState((1 - share) * state.q + share * goal, count)

    def _bonus(self, count: Array) -> Array:
        return self.scale * namespace(count).sqrt(self.spec.horizon**3 * self.log_term / count)


class StagedState(NamedTuple):
    """Action values, and what the running stage of each pair has seen."""

    q: Array  # [H, S, A]
    bonus: Array  # [H, S, A] in the last update of q
    total: Array  # [H, S, A] sum of r + V_{h+1}(s') over the stage
    count: Array  # [H, S, A] visits in the stage
    length: Array  # [H, S, A] visits at which the stage ends
    tick: Array  # episodes since the last restart


@part
class StagedQLearning(Agent):
    """Q-learning in stages that grow by `1 + 1/H`, begun anew after every `period` episodes.

    A stage of a pair ends at its `n = e_i`-th visit, `e_1 = H` and `e_{i+1} = ⌊(1+1/H)e_i⌋`. Then
    `Q ← min(Q, mean of r + V_{h+1}(s') over the stage + c(√(H²ι/n) + √(ι/n)) + 2b_Δ)`, with `V = max_a Q`
    as it was at each visit. Q starts at `H−h+1`. `log_term` is ι, and `drift_bonus` is `b_Δ`.
    """

    spec: Spec = member(Spec)
    period: Numeric = number(at_least=1, integer=True)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    drift_bonus: Numeric = number(at_least=0, default=0.0)

    def init(self, features: FeatureTable) -> StagedState:
        require_all_actions(features)
        return self._fresh(features.values)

    def plan(self, state: StagedState, features: FeatureTable, key: Key) -> Plan:
        return greedy_plan(state.q, state.bonus, state.q)

    def update(self, state: StagedState, features: FeatureTable, plan: Plan, episode: Episode) -> StagedState:
        xp, horizon = namespace(state.q), self.spec.horizon
        here = visited(self.spec, episode)
        total, count = state.total + here * met(plan, episode), state.count + here
        over = (here > 0) & (count == state.length)
        size = xp.where(over, count, 1.0)
        bonus = self.scale * (horizon + 1) * xp.sqrt(self.log_term / size) + 2 * self.drift_bonus
        q = xp.where(over, xp.minimum(state.q, total / size + bonus), state.q)
        learnt = StagedState(
            q=q,
            bonus=xp.where(over, bonus, state.bonus),
            total=xp.where(over, 0.0, total),
            count=xp.where(over, 0.0, count),
            length=xp.where(over, count + xp.floor(count / horizon), state.length),
            tick=state.tick + 1,
        )
        return where_tree(learnt.tick == self.period, self._fresh(state.q), learnt)

    def _fresh(self, like: Array) -> StagedState:
        xp = namespace(like)
        q = highest(self.spec, like, tight=True)
        nothing, first = xp.zeros_like(q), xp.full_like(q, self.spec.horizon)
        return StagedState(q, q, nothing, nothing, first, xp.asarray(0, dtype=xp.int64))


def greedy_plan(q: Array, bonus: Array, ceilings: Array) -> Plan:
    """The policy that is greedy in Q, with values up to the ceilings."""
    xp = namespace(q)
    values = xp.max(xp.minimum(q, ceilings), axis=-1)
    return Plan(xp.zeros((q.shape[0], 0), dtype=q.dtype), bonus, q, greedy_policy(q), values)


def met(plan: Plan, episode: Episode) -> Array:
    """`r_h + V_{h+1}(s')` of each step, as `[H, 1, 1]`."""
    return (episode.rewards + plan.values_ahead(episode.successors))[:, None, None]
