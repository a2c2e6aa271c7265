"""Value-targeted regression: the agent behind recipes for mixtures of known kernels."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan, vecdot
from driftwise.base.part import choice, member, number, part
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
from driftwise.parts.exploration import greedy_policy, radius_at, width
from driftwise.parts.known_kernels import empty_mixture, expected_values, mixture_estimate, value_sample
from driftwise.parts.regression import linear, matvec


class Targets(NamedTuple):
    """The regression of values, and that of their squares where samples are weighted by variances."""

    moments: Moments  # gram [H, J, J], cross [H, J, 1]
    squares: Moments | None


@part
class VarianceWeights:
    """Radii with which the variance of a value is estimated: of the values, and of their squares."""

    values: Numeric | Radius = number(at_least=0, or_part=Radius, default=0.0)
    squares: Numeric | Radius = number(at_least=0, or_part=Radius, default=0.0)


@part
class ValueTargeted(Agent):
    """Optimistic planning with the mixture of known kernels that explains the values met so far.

    Values are divided by H and kernels by √J, so that features are no longer than one:
    `x(s,a)_j = ψ_j V(s,a)/(H√J)`, and `V(s')/H` is regressed on them. The parameter is `√J c` for the mixture
    c. Old samples keep the V of their own episode. `clip="range"` cuts values to `[0, H]`, `"tight"` those of
    step h to `[0, H−h+1]`; the policy acts on the index that is not cut.

    `weights` weigh a sample by the inverse of an upper estimate of its value's variance.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    ridge: Numeric = number(above=0, default=1.0)
    clip: Literal["range", "tight"] = choice("range", "tight", default="range")
    weights: VarianceWeights | None = member(VarianceWeights, default=None)

    @property
    def needs(self) -> tuple[str, ...]:
        return ("rewards", "measures")

    @property
    def ceilings(self) -> np.ndarray:
        """Largest value of each step that `clip` leaves: `[H]`."""
        horizon = self.spec.horizon
        return np.arange(horizon, 0, -1) if self.clip == "tight" else np.full(horizon, horizon)

    def init(self, features: FeatureTable) -> Targets:
        if self.weights is None:
            return Targets(empty_mixture(self.forgetting, features, self.ridge), None)
        finer = self.ridge / self.spec.horizon**4  # as squares up to H⁴ would have with the ridge itself
        return Targets(
            empty_mixture(self.forgetting, features, self.ridge, shares=True),
            empty_mixture(self.forgetting, features, finer),
        )

    def plan(self, state: Targets, features: FeatureTable, key: Key) -> Plan:
        moments, (num_states, horizon) = state.moments, (self.spec.num_states, self.spec.horizon)
        xp, dtype = namespace(moments.gram), moments.gram.dtype
        inverse, weights = mixture_estimate(moments)
        radius = xp.broadcast_to(radius_at(self.radius, moments), (horizon, 1))

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            rewards, measures, inverse, weights, radius, ceiling = x
            expected = expected_values(features, measures, value / horizon)
            bonus = horizon * radius * width(inverse, moments, expected, "single")
            index = rewards + horizon * linear(expected, weights) + bonus
            q = xp.reshape(index, (num_states, -1))
            value = xp.clip(xp.max(q, axis=-1), 0, ceiling)
            return value, (xp.reshape(bonus, q.shape), q, greedy_policy(q), value)

        measures = xp.moveaxis(scaled(features).measures, 1, 0)  # [H, J, d, S]
        ceilings = xp.asarray(self.ceilings, dtype=dtype)
        xs = (features.rewards, measures, inverse, weights, radius, ceilings)
        start = xp.zeros(num_states, dtype=dtype)
        _, (bonus, q, policy, values) = scan(step, start, xs, reverse=True)
        return Plan(weights, bonus, q, policy, values)

    def update(self, state: Targets, features: FeatureTable, plan: Plan, episode: Episode) -> Targets:
        values = self.sample(features, plan, episode)
        if self.weights is None or state.squares is None:
            return Targets(self.forgetting.update(state.moments, values), None)
        squares = self.sample(features, plan, episode, power=2)
        estimate, doubt = self.variances(state, values, squares)
        least = 1 / values.features.shape[-1]
        values = values._replace(share=1 / namespace(estimate).clip(estimate + doubt, least, None))
        return Targets(
            self.forgetting.update(state.moments, values), self.forgetting.update(state.squares, squares)
        )

    def sample(self, features: FeatureTable, plan: Plan, episode: Episode, power: int = 1) -> Sample:
        """The sample of `V/H` or of a power of it, for each step."""
        return value_sample(scaled(features), (plan.ahead / self.spec.horizon) ** power, episode)

    def variances(self, state: Targets, values: Sample, squares: Sample) -> tuple[Array, Array]:
        """Estimates of the variances of `V/H`, and how far they may be off: `[H]` each."""
        assert self.weights is not None
        assert state.squares is not None
        xp = namespace(values.features)
        mean, mean_doubt = forecast(state.moments, values, self.weights.values)
        square, square_doubt = forecast(state.squares, squares, self.weights.squares)
        doubt = xp.clip(2 * mean_doubt, None, 1) + xp.clip(square_doubt, None, 1)
        return xp.clip(square, 0, 1) - xp.clip(mean, 0, 1) ** 2, doubt


def scaled(features: FeatureTable) -> FeatureTable:
    """A table whose J measures are divided by √J."""
    assert features.measures is not None
    return features._replace(measures=features.measures / math.sqrt(len(features.measures)))


def forecast(moments: Moments, sample: Sample, radius: Numeric | Radius) -> tuple[Array, Array]:
    """Estimates of a sample's targets, and the radius times the widths in its directions: `[H]` each."""
    xp, phi = namespace(moments.gram), sample.features
    inverse, weights = mixture_estimate(moments)
    widths = xp.sqrt(xp.clip(vecdot(phi, matvec(inverse, phi)), 0, None))
    return vecdot(phi, weights), radius_at(radius, moments)[..., 0] * widths
