"""Optimistic policy optimisation: improve the policy a little after every episode, by mirror descent.

Transitions are a mixture of known kernels, so what is learnt is how the kernels mix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan, spd_inverse
from driftwise.base.part import member, number, part
from driftwise.base.types import (
    Array,
    Episode,
    FeatureTable,
    Forgetting,
    Key,
    Moments,
    Numeric,
    Plan,
    Radius,
    Sample,
    Spec,
)
from driftwise.parts.exploration import radius_at
from driftwise.parts.regression import empty_moments, linear, matvec, quadratic


class PolicyState(NamedTuple):
    """The regression of values on predictions, and the policy of the next episode."""

    moments: Moments  # gram [H, J, J], cross [H, J, 1]
    log_policy: Array  # [H, S, A], normalised


@part
class PolicyOptimisation(Agent):
    r"""Mirror descent on the policy, with an optimistic estimate of its action values.

    The kernels `ψ_j` of J anchors are known, and so are the rewards of the episode, once it is played. For
    `h = H … 1` the anchors predict `φ_h(s,a)_j = Σ_s' ψ_j(s'|s,a) V_{h+1}(s')`, and
    `Q_h = clip(r_h + φ_hᵀw_h + β √(φ_hᵀΛ_h⁻¹φ_h), [0, H−h+1])`, `V_h = Σ_a π_h Q_h`. The regression behind
    `w_h` and `Λ_h` is of the values `V_{h+1}(s')` that were met on the predictions `φ_h` made for them. Then
    `π ← π exp(αQ)`, normalised. `policy_period` is the number of episodes after which the policy is uniform
    again, 0 for never; what the regression forgets is up to `forgetting`.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    step_size: Numeric = number(at_least=0)
    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    ridge: Numeric = number(above=0, default=1.0)
    policy_period: Numeric = number(at_least=0, integer=True, default=0)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rewards", "measures")

    def init(self, features: FeatureTable) -> PolicyState:
        measures: Array = features.measures
        xp = namespace(measures)
        num_anchors, horizon, _, num_states = measures.shape
        steps = xp.zeros(horizon, dtype=measures.dtype)
        sample = Sample(
            features=xp.zeros((horizon, num_anchors), dtype=measures.dtype),
            reward=steps,
            successor=xp.zeros(horizon, dtype=xp.int32),
            count=steps,
        )
        moments = empty_moments(sample, 0, self.ridge, gram_sq=False)
        even = xp.zeros((horizon, num_states, self.spec.num_actions), dtype=measures.dtype)
        return PolicyState(self.forgetting.init(moments, sample), normalised(even))

    def plan(self, state: PolicyState, features: FeatureTable, key: Key) -> Plan:
        xp, moments = namespace(state.log_policy), state.moments
        horizon, num_states, num_actions = state.log_policy.shape
        policy = xp.exp(state.log_policy)
        inverse = spd_inverse(moments.gram)
        weights = matvec(inverse, moments.cross[..., 0])
        radius = xp.broadcast_to(radius_at(self.radius, moments), (horizon, 1))
        most = xp.asarray(np.arange(horizon, 0, -1), dtype=policy.dtype)  # that can be had from each step on

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            policy, rewards, measures, inverse, weights, radius, most = x
            predictions = FeatureTable(features.values @ (measures @ value).T)  # φᵀμ_j V: P is never built
            squared = quadratic(predictions, inverse)
            bonus = radius * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))
            index = rewards + linear(predictions, weights) + bonus
            q = xp.reshape(xp.clip(index, 0, most), (num_states, num_actions))
            value = xp.sum(policy * q, axis=-1)
            return value, (xp.reshape(bonus, q.shape), q, value)

        measures = xp.moveaxis(features.measures, 1, 0)  # [H, J, d, S]
        xs = (policy, features.rewards, measures, inverse, weights, radius, most)
        start = xp.zeros(num_states, dtype=policy.dtype)
        _, (bonus, q, values) = scan(step, start, xs, reverse=True)
        return Plan(weights, bonus, q, policy, values)

    def update(self, state: PolicyState, features: FeatureTable, plan: Plan, episode: Episode) -> PolicyState:
        xp = namespace(plan.q)
        measures: Array = features.measures
        ahead = xp.concat([plan.values[1:], xp.zeros_like(plan.values[:1])])  # [H, S]
        backed = xp.sum(xp.moveaxis(measures, 1, 0) * ahead[:, None, None, :], axis=-1)  # [H, J, d]
        sample = Sample(
            features=matvec(backed, episode.features),  # φᵀμ_j V: the predictions for the pairs visited
            reward=plan.values_ahead(episode.successors),
            successor=episode.successors,
            count=xp.ones_like(episode.rewards),
        )
        moments = self.forgetting.update(state.moments, sample)
        period = xp.asarray(self.policy_period)
        over = (period > 0) & (moments.tick % xp.where(period > 0, period, 1) == 0)
        improved = state.log_policy + self.step_size * plan.q
        return PolicyState(moments, normalised(xp.where(over, xp.zeros_like(improved), improved)))


def normalised(logits: Array) -> Array:
    """Logarithms of the probabilities that are proportional to `exp(logits)`, over the last axis."""
    xp = namespace(logits)
    below = logits - xp.max(logits, axis=-1, keepdims=True)
    return below - xp.log(xp.sum(xp.exp(below), axis=-1, keepdims=True))
