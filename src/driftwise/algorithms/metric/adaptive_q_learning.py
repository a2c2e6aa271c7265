"""Adaptive Q-learning: a partition of states and actions that becomes finer where it matters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.knowledge import Positions
from driftwise.base.part import member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError, require_number
from driftwise.parts.policies import greedy_policy
from driftwise.theory.metric_tuning import partition_period


class PartitionState(NamedTuple):
    """The partition. All pairs of a square hold its values, so that cutting it changes a depth."""

    q: Array  # [H, N]
    bonus: Array  # [H, N] all bonuses that q contains
    count: Array  # [H, N] visits of the square, and of those it was cut from
    depth: Array  # [H, N] cuts that led to it: its sides are 2^−depth long
    tick: Array  # episodes since the last restart


@part
class AdaptiveQLearning(Agent):
    """Q-learning on a partition of the unit square that becomes finer where there are visits.

    The agent of `adaptive_q_learning`. Intervals are closed above, and the first also below; a `period` of 0
    never restarts.
    """

    spec: Spec = member(Spec)
    radius: Numeric = number(at_least=0)
    period: Numeric = number(at_least=0, integer=True, default=0)

    @property
    def needs(self) -> tuple[type, ...]:
        return (Positions,)

    def init(self, features: FeatureTable) -> PartitionState:
        positions: Array = features.get(Positions).array
        if (coordinates := positions.shape[-1]) != 2:
            raise ArgumentError("positions", "have 2 coordinates, of state and action", coordinates)
        return self._fresh(positions)

    def plan(self, state: PartitionState, features: FeatureTable, key: Key) -> Plan:
        xp, spec = namespace(state.q), self.spec
        q = state.q.reshape((spec.horizon, spec.num_states, -1))
        values = xp.minimum(xp.max(q, axis=-1), spec.horizon)
        weights = xp.zeros((spec.horizon, 0), dtype=q.dtype)
        return Plan(weights, state.bonus.reshape(q.shape), q, greedy_policy(q), values)

    def update(
        self, state: PartitionState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> PartitionState:
        positions: Array = features.get(Positions).array
        xp, horizon = namespace(state.q), self.spec.horizon
        pair, steps = episode.states * self.spec.num_actions + episode.actions, np.arange(self.spec.horizon)
        depth, count = state.depth[steps, pair][:, None], state.count[steps, pair][:, None] + 1
        sides = xp.astype(1 << depth, positions.dtype)[..., None]  # how many of them make one
        square = xp.maximum(xp.ceil(positions * sides), 1.0)  # [H, N, 2]
        here = xp.all(square == square[steps, pair][:, None], axis=-1)

        newest = self.radius / xp.sqrt(count)
        goal = (episode.rewards + plan.successor_values(episode.successors))[:, None] + newest
        share = (horizon + 1) / (horizon + count)
        learnt = PartitionState(
            q=xp.where(here, (1 - share) * state.q + share * goal, state.q),
            bonus=xp.where(here, (1 - share) * state.bonus + share * newest, state.bonus),
            count=xp.where(here, count, state.count),
            depth=xp.where(here & (count >= sides[..., 0] ** 2), depth + 1, state.depth),
            tick=state.tick + 1,
        )
        return where_tree(learnt.tick == self.period, self._fresh(positions), learnt)

    def _fresh(self, positions: Array) -> PartitionState:
        xp, horizon = namespace(positions), self.spec.horizon
        nothing = xp.zeros((horizon, len(positions)), dtype=positions.dtype)
        most, whole = nothing + horizon, xp.astype(nothing, xp.int32)
        return PartitionState(most, most, nothing, whole, xp.asarray(0, dtype=xp.int64))


def tune_adaptive_q_learning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float = 0.0,
    lipschitz: float = 1.0,
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""The radius of the theorem, $2\sqrt{H^3\log(4HK/\delta)} + 4L$, and a period of ours.

    The `variation` is that of the pair that moves most, `environment.variation(K, norm="pairs").total`.
    Where nothing varies the period is the whole run.
    """
    period = partition_period(num_episodes=num_episodes, variation=variation)
    delta = require_number("delta", delta, above=0, at_most=1)
    lipschitz = require_number("lipschitz", lipschitz, at_least=0)
    scale = require_number("beta_scale", beta_scale, at_least=0)
    noise = 2 * math.sqrt(spec.horizon**3 * math.log(4 * spec.horizon * num_episodes / delta))
    return dict(radius=scale * (noise + 4 * lipschitz), period=period)


@tuned_by(tune_adaptive_q_learning, "radius", "period")
@register(
    "none, or restarts",
    "UCB on squares that are cut in four",
    bound="H^(5/2) K^((d+1)/(d+2)) without drift, in dimension d",
)
def adaptive_q_learning(spec: Spec, *, radius: Numeric, period: Numeric | None = None) -> AdaptiveQLearning:
    r"""Optimistic Q-learning on an adaptive partition of the square of states and actions.

    Every step has its own partition, at first the whole square $B_0$ with $Q_h(B_0) = H$. In state $x$ the
    agent takes an action at random in the square $B$ of largest $Q_h(B)$ among those that meet $x$. At the
    $t$-th visit
    $$Q_h(B) \leftarrow (1-\alpha_t) Q_h(B) + \alpha_t \Bigl(r + V_{h+1}(x') + \frac{b}{\sqrt t}\Bigr), \qquad
      \alpha_t = \frac{H+1}{H+t}, \qquad V_h(x) = \min\{H, \max_{B \ni x} Q_h(B)\},$$

    and once $t \ge (1/\mathrm{diam}(B))^2$, with $\mathrm{diam}(B_0) = 1$, $B$ is cut in four that inherit
    $Q_h(B)$ and $t$. The agent needs `positions`; an environment without them is refused.

    Args:
      radius: $b \ge 0$; in theory $2\sqrt{H^3\log(4HK/\delta)} + 4L$.
      period: episodes after which everything restarts; never, unless given.
    When to use: states and actions are points of an interval, near ones are alike, and a table of all
    pairs would be too fine.
    When not: the problem drifts within an epoch. Squares keep what they learnt until the next restart.
    Reference: Sinclair, Banerjee & Yu 2019, Algorithm 1.
    Deviations from the paper: among equally good squares the action is drawn evenly from all their actions.
    Restarts are an addition.
    """
    return AdaptiveQLearning(spec, radius, 0 if period is None else period)
