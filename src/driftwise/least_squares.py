"""Weighted least-squares value iteration: the agent behind most recipes.

An algorithm is a choice of forgetting and exploration; the loop is written here, once.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.arrays import namespace, scan, spd_inverse
from driftwise.parts import choice, member, number, part
from driftwise.random import choose
from driftwise.regression import empty_moments, linear, matvec
from driftwise.types import (
    Array,
    Episode,
    Exploration,
    FeatureTable,
    Forgetting,
    Key,
    Moments,
    Numeric,
    Plan,
    Sample,
    Spec,
)


@part
class LeastSquares:
    """Backward induction on the weighted ridge regression of every step.

    For `h = H … 1`: `w_h = Λ_h⁻¹ (cross_r + cross_P V_{h+1})`, `Q_h = φᵀw_h + perturbation`,
    `V_h = clip(max_a Q_h)`. The policy acts on the unclipped `Q_h`, ties at random.

    `clip="paper"` is `min(·, H)` (Algorithm 1, line 8); `clip="tight"` is `[0, H−h+1]`, the range
    that values of step h can have, which keeps optimism.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    exploration: Exploration = member(Exploration)
    ridge: Numeric = number(above=0, default=1.0)
    clip: Literal["paper", "tight"] = choice("paper", "tight", default="paper")

    def init(self, features: FeatureTable) -> Moments:
        xp, dtype = namespace(features.values), features.values.dtype
        steps = xp.zeros(self.spec.horizon, dtype=dtype)
        shown = Sample(
            features=xp.zeros((self.spec.horizon, self.spec.dim), dtype=dtype),
            reward=steps,
            successor=xp.zeros(self.spec.horizon, dtype=xp.int32),
            count=steps,
        )
        moments = empty_moments(
            shown, self.spec.num_states, self.ridge, gram_sq=self.exploration.uses_gram_sq
        )
        return self.forgetting.init(moments, shown)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        inverse = spd_inverse(state.gram)
        bonus = self.exploration.perturb(inverse, state, features, key)
        return self._backward_induction(inverse, state.cross, bonus, features)

    def act(self, plan: Plan, h: int | Array, state: Array, uniform: Array) -> Array:
        probabilities = plan.policy[h, state]
        return choose(namespace(probabilities).cumulative_sum(probabilities), uniform)

    def update(self, state: Moments, plan: Plan, episode: Episode) -> Moments:
        count = namespace(episode.rewards).ones_like(episode.rewards)
        sample = Sample(episode.features, episode.rewards, episode.successors, count)
        return self.forgetting.update(state, sample)

    def _backward_induction(
        self, inverse: Array, cross: Array, perturbation: Array, features: FeatureTable
    ) -> Plan:
        xp = namespace(inverse)
        horizon, num_states = self.spec.horizon, self.spec.num_states
        tight = self.clip == "tight"
        ceilings = np.arange(horizon, 0, -1) if tight else np.full(horizon, horizon)
        floor = 0.0 if tight else -np.inf

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, Array, Array]]:
            inverse, cross, perturbation, ceiling = x
            weights = matvec(inverse, cross[:, 0] + matvec(cross[:, 1:], value))
            index = linear(features, weights) + perturbation
            if features.present is not None:
                index = xp.where(features.present, index, -xp.inf)
            q = xp.reshape(index, (num_states, -1))  # a bandit may offer any number of arms
            value = xp.clip(xp.max(q, axis=-1), floor, ceiling)
            return value, (weights, q, self.exploration.policy(q))

        xs = (inverse, cross, perturbation, xp.asarray(ceilings, dtype=inverse.dtype))
        start = xp.zeros(num_states, dtype=inverse.dtype)
        value, (weights, q, policy) = scan(step, start, xs, reverse=True)
        return Plan(weights, xp.reshape(perturbation, q.shape), q, policy, value)
