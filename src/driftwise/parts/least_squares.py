"""Weighted least-squares value iteration: the agent behind most recipes.

An algorithm is a choice of forgetting and exploration; the loop is written here, once.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.agent import Forecaster
from driftwise.base.arrays import after, namespace, scan, spd_inverse
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import (
    Array,
    Episode,
    FeatureTable,
    Forecast,
    Forgetting,
    Key,
    Moments,
    Numeric,
    Plan,
    Spec,
    WeightFunction,
)
from driftwise.base.validation import ArgumentError
from driftwise.parts.caution import Caution
from driftwise.parts.exploration import Exploration
from driftwise.parts.noise import LearntNoise, forecast_episode
from driftwise.parts.regression import empty_moments, episode_sample, linear, matvec


@part
class LeastSquares(Forecaster):
    """Backward induction on the weighted ridge regression of every step.

    For `h = H … 1`: `w_h = Λ_h⁻¹ (cross_r + cross_P V_{h+1})`, `Q_h = φᵀw_h + perturbation`,
    `V_h = clip(max_a Q_h)`. The policy acts on the unclipped `Q_h`, ties at random.

    `clip="paper"` is `min(·, H)` (Algorithm 1, line 8); `"tight"` is `[0, H−h+1]`, the range that values of
    step h can have, which keeps optimism; `"range"` is `[0, H]`; `"none"` leaves values as they are.

    `rewards="known"` takes the episode's rewards as known and learns transitions only.
    `successors="features"` knows features ψ of successors that span their measures: `V_{h+1}` is replaced
    by its projection onto them. `steps="shared"` pools the data of all steps, for models that do not depend
    on h. `noise` learns the noise's scale, and exploration is in units of it. `caution` gives samples of
    little-known directions less weight, in `Λ̃` the square of it. What corruption did is bounded in the norm
    of `Λ⁻¹` alone: exploration is then of single norms, or `CautiousUcb`.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    exploration: Exploration = member(Exploration)
    ridge: Numeric = number(above=0, default=1.0)
    clip: Literal["paper", "tight", "range", "none"] = choice(
        "paper", "tight", "range", "none", default="paper"
    )
    rewards: Literal["learnt", "known"] = choice("learnt", "known", default="learnt")
    successors: Literal["all", "features"] = choice("all", "features", default="all")
    steps: Literal["apart", "shared"] = choice("apart", "shared", default="apart")
    noise: LearntNoise | None = member(LearntNoise, default=None)
    caution: Caution | None = member(Caution, default=None)

    def __post_init__(self) -> None:
        exploration = self.exploration
        if self.caution is not None and exploration.uses_gram_sq and not exploration.covers_corruption:
            expected = "be a CautiousUcb, or make no use of Λ̃ (norm='single'), where there is caution"
            raise ArgumentError("exploration", expected, exploration)
        if self.steps == "shared" and not isinstance(self.forgetting, WeightFunction):
            expected = "be a weight function, which leaves the ridge whole, where steps are shared"
            raise ArgumentError("forgetting", expected, self.forgetting)

    @property
    def needs(self) -> tuple[str, ...]:
        asked = {
            "rewards": self.rewards == "known",
            "projection": self.successors == "features",
            "shared_steps": self.steps == "shared",
        }
        return tuple(name for name, needed in asked.items() if needed)

    @property
    def optimistic(self) -> bool:
        return self.exploration.optimistic

    def init(self, features: FeatureTable) -> Moments:
        xp, dtype = namespace(features.values), features.values.dtype
        horizon, dim = self.spec.horizon, self.spec.dim
        steps, nowhere = xp.zeros(horizon, dtype=dtype), xp.zeros(horizon, dtype=xp.int32)
        share = None if self.caution is None else steps
        nothing = Episode(nowhere, nowhere, xp.zeros((horizon, dim), dtype=dtype), steps, nowhere)
        sample = episode_sample(self.spec, features, nothing, steps[:1], share)
        num_successors = self.spec.num_states if horizon > 1 else 0  # what follows the last step is 0
        moments = empty_moments(sample, num_successors, self.ridge, gram_sq=self.exploration.uses_gram_sq)
        moments = self.forgetting.init(moments, sample)
        noise = None if self.noise is None else self.noise.init(self.forgetting, steps)
        return moments._replace(noise=noise)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        moments = self._moments(state)
        inverse = spd_inverse(moments.gram)
        gram_sq = None if moments.gram_sq is None else after(moments.gram_sq, inverse)
        moments = Moments(after(moments.gram, inverse), gram_sq, *moments[2:])
        bonus = self.exploration.perturb(inverse, moments, features, key)
        if self.noise is not None:
            bonus = bonus * self.noise.deviation(state.noise)[:, None]
        doubt = self.exploration.doubt(inverse, moments, features)
        return self._backward_induction(inverse, moments.cross, bonus, doubt, features)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        forecast = None if self.noise is None else self.forecast(state, features, plan, episode)
        return self._absorbed(state, features, episode, forecast)

    def learn(
        self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode
    ) -> tuple[Forecast, Moments]:
        forecast = self.forecast(state, features, plan, episode)
        return forecast, self._absorbed(state, features, episode, forecast)

    def _absorbed(
        self, state: Moments, features: FeatureTable, episode: Episode, forecast: Forecast | None
    ) -> Moments:
        """The state after an episode; noise is learnt from the forecast for it."""
        rewards, counts, share = episode.rewards, episode.counts, None
        if counts is None:
            counts = namespace(rewards).ones_like(rewards[:1])  # for all steps: less to keep
        if self.caution is not None:
            share = self.caution.shares(self._moments(state).gram, episode.features)
        sample = episode_sample(self.spec, features, episode, counts, share)
        learnt = self.forgetting.update(state._replace(noise=None), sample)
        if self.noise is None or forecast is None:
            return learnt
        return learnt._replace(noise=self.noise.update(self.forgetting, state.noise, forecast.squares))

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        moments = self._moments(state)
        cross, rewards, ahead = moments.cross, episode.rewards, plan.ahead
        if self.rewards == "known":
            cross = namespace(cross).concat([0 * cross[..., :1], cross[..., 1:]], axis=-1)
            rewards = 0 * rewards
        if self.successors == "features":
            ahead = matvec(features.projection, ahead)
        found = forecast_episode(moments.gram, cross, episode.features, rewards, ahead, episode.successors)
        return found if episode.counts is None else found.of_means(episode.counts)

    def _moments(self, state: Moments) -> Moments:
        return pooled(state) if self.steps == "shared" else state

    def policy(self, q: Array) -> Array:
        return self.exploration.policy(q)

    def chances(self, plan: Plan, key: Key) -> Array:
        return self.exploration.chances(plan.q[0, 0], plan.bonus[0, 0], key)

    def memory(self, state: Moments) -> Array:
        return state.weight

    def moments(self, state: Moments) -> Moments:
        return state

    @property
    def ceilings(self) -> np.ndarray:
        """Largest value of each step that `clip` leaves: `[H]`."""
        horizon = self.spec.horizon
        return np.arange(horizon, 0, -1) if self.clip == "tight" else np.full(horizon, horizon)

    def clipped(self, values: Array, ceiling: Numeric) -> Array:
        """Values of a step, cut as `clip` says."""
        if self.clip == "none":
            return values
        return namespace(values).clip(values, -np.inf if self.clip == "paper" else 0.0, ceiling)

    def _backward_induction(
        self, inverse: Array, cross: Array, perturbation: Array, doubt: Array | None, features: FeatureTable
    ) -> Plan:
        xp, dtype = namespace(inverse), inverse.dtype
        horizon, num_states = self.spec.horizon, self.spec.num_states

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            inverse, cross, perturbation, ceiling, *extras = x
            if self.successors == "features":
                value = matvec(features.projection, value)
            target = cross[:, 0] if self.rewards == "learnt" else 0 * cross[:, 0]
            if horizon > 1:
                target = target + matvec(cross[:, 1:], value)
            weights = matvec(inverse, target)
            index = linear(features, weights) + perturbation
            if self.rewards == "known":
                index = index + extras.pop(0)
            if doubt is not None:
                index, perturbation = doubted(index, perturbation, *extras)
            if features.present is not None:
                index = xp.where(features.present, index, -xp.inf)
            q = index.reshape((num_states, -1))  # a bandit may offer any number of arms
            value = self.clipped(q.max(axis=-1), ceiling)
            return value, (weights, perturbation, q, self.exploration.policy(q), value)

        xs = [inverse, cross, perturbation, xp.asarray(self.ceilings, dtype=dtype)]
        if self.rewards == "known":
            xs.append(features.rewards)
        if doubt is not None:
            xs += [doubt, xp.arange(horizon, 0, -1, dtype=dtype)]
        if len(inverse) < horizon:  # one for all steps
            xs = [xp.broadcast_to(each, (horizon, *each.shape[1:])) for each in xs]
        start = xp.zeros(num_states, dtype=dtype)
        _, (weights, bonus, q, policy, values) = scan(step, start, tuple(xs), reverse=True)
        return Plan(weights, bonus.reshape(q.shape), q, policy, values)


def doubted(index: Array, perturbation: Array, share: Array, most: Numeric) -> tuple[Array, Array]:
    """Index and perturbation where a share of the index gives way to the most that can be had."""
    mixed = share * most + (1 - share) * index
    return mixed, perturbation + (mixed - index)


def pooled(moments: Moments) -> Moments:
    """The moments of all steps together, with one ridge: a leading axis of one."""
    gram, gram_sq, cross, ridge = moments[:4]
    xp = namespace(gram)
    extra = (gram.shape[0] - 1) * ridge * xp.eye(gram.shape[-1], dtype=gram.dtype)

    def together(array: Array) -> Array:
        return xp.sum(array, axis=0, keepdims=True)

    return moments._replace(
        gram=together(gram) - extra,
        gram_sq=None if gram_sq is None else together(gram_sq) - extra,
        cross=together(cross),
    )
