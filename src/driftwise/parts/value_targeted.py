"""Value-targeted regression: for `P_h = Σ_j c_j ψ_{j,h}`, `P_h V = Σ_j c_j (ψ_j V)` is linear in `c`."""

import math
from typing import Literal, NamedTuple

from driftwise.base import Agent, AnchorMeasures, Forgetting, MeanRewards, Radius, Sample, Spec
from driftwise.base.arrays import namespace, scan, spd_inverse, vecdot
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan
from driftwise.parts.exploration import greedy_policy, radius_at, width
from driftwise.parts.regression import empty_moments, linear, matvec, step_ceilings


class ValueSums(NamedTuple):
    """Regressions of values, and of their squares if samples are weighted by variance."""

    moments: Moments  # gram [H, J, J], cross [H, J, 1]
    squares: Moments | None


@part
class VarianceWeights:
    """Radii with which the variance of a value is estimated: of the values, and of their squares."""

    values: Numeric | Radius = number(at_least=0, or_part=Radius, default=0.0)
    squares: Numeric | Radius = number(at_least=0, or_part=Radius, default=0.0)


@part
class ValueTargeted(Agent):
    """Optimistic planning with the mixture of known kernels that fits the observed values.

    `V(s')/H` is regressed on `x(s,a)_j = ψ_j V(s,a)/(H√J)`, no longer than one, with the V of the sample's
    episode. The parameter is `√J c` for the mixture c. `clip="range"` clips values to `[0, H]`, `"tight"`
    those of step h to `[0, H−h+1]`; the policy acts on the unclipped index. With `weights`, a sample counts
    by the inverse of an upper estimate of its value's variance.
    """

    needs = (MeanRewards, AnchorMeasures)
    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    radius: Numeric | Radius = number(at_least=0, or_part=Radius)
    ridge: Numeric = number(above=0, default=1.0)
    clip: Literal["range", "tight"] = choice("range", "tight", default="range")
    weights: VarianceWeights | None = member(VarianceWeights, default=None)

    def init(self, features: FeatureTable) -> ValueSums:
        if self.weights is None:
            return ValueSums(empty_mixture(self.forgetting, features, self.ridge), None)
        finer = self.ridge / self.spec.horizon**4  # as squares up to H⁴ would have with the ridge itself
        moments = empty_mixture(self.forgetting, features, self.ridge, shares=True)
        return ValueSums(moments, empty_mixture(self.forgetting, features, finer))

    def plan(self, state: ValueSums, features: FeatureTable, key: Key) -> Plan:
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

        measures = xp.moveaxis(scale_measures(features).get(AnchorMeasures).array, 1, 0)  # [H, J, d, S]
        ceilings = xp.asarray(step_ceilings(horizon, tight=self.clip == "tight"), dtype=dtype)
        xs = (features.get(MeanRewards).array, measures, inverse, weights, radius, ceilings)
        start = xp.zeros(num_states, dtype=dtype)
        _, (bonus, q, policy, values) = scan(step, start, xs, reverse=True)
        return Plan(weights, bonus, q, policy, values)

    def update(self, state: ValueSums, features: FeatureTable, plan: Plan, episode: Episode) -> ValueSums:
        values = self.sample(features, plan, episode)
        if state.squares is None:
            return ValueSums(self.forgetting.update(state.moments, values), None)
        squares = self.sample(features, plan, episode, power=2)
        estimate, error = self.variances(state, values, squares)
        share = 1 / namespace(estimate).clip(estimate + error, 1 / values.features.shape[-1], None)
        learnt = self.forgetting.update(state.moments, values._replace(share=share))
        return ValueSums(learnt, self.forgetting.update(state.squares, squares))

    def sample(self, features: FeatureTable, plan: Plan, episode: Episode, power: int = 1) -> Sample:
        """Return the sample of `(V/H)^power` for each step."""
        values = (plan.next_values / self.spec.horizon) ** power
        return value_sample(scale_measures(features), values, episode)

    def variances(self, state: ValueSums, values: Sample, squares: Sample) -> tuple[Array, Array]:
        """Return estimates of the variances of `V/H` and bounds on their errors, `[H]` each."""
        assert self.weights is not None
        assert state.squares is not None
        xp = namespace(values.features)
        mean, mean_width = forecast_values(state.moments, values, self.weights.values)
        square, square_width = forecast_values(state.squares, squares, self.weights.squares)
        error = xp.clip(2 * mean_width, None, 1) + xp.clip(square_width, None, 1)
        return xp.clip(square, 0, 1) - xp.clip(mean, 0, 1) ** 2, error


def scale_measures(features: FeatureTable) -> FeatureTable:
    """Divide the J measures of a table by √J."""
    measures = features.get(AnchorMeasures).array
    return features.with_extras(AnchorMeasures(measures / math.sqrt(len(measures))))


def forecast_values(moments: Moments, sample: Sample, radius: Numeric | Radius) -> tuple[Array, Array]:
    """Estimates of a sample's targets, and the radius times the widths in its directions: `[H]` each."""
    xp, phi = namespace(moments.gram), sample.features
    inverse, weights = mixture_estimate(moments)
    widths = xp.sqrt(xp.clip(vecdot(phi, matvec(inverse, phi)), 0, None))
    return vecdot(phi, weights), radius_at(radius, moments)[..., 0] * widths


def expected_values(features: FeatureTable, measures: Array, value: Array) -> FeatureTable:
    """`φᵀμ_j V` of one step for every pair and kernel, `[N, J]`, with measures `[J, d, S]`."""
    return FeatureTable(features.values @ (measures @ value).T)


def value_sample(features: FeatureTable, values: Array, episode: Episode) -> Sample:
    """Values `[H, S]` of the states that followed, with what the kernels expected of them, for each step."""
    measures: Array = features.get(AnchorMeasures).array
    xp = namespace(values)
    backed = xp.sum(xp.moveaxis(measures, 1, 0) * values[:, None, None, :], axis=-1)  # [H, J, d]
    reached = values[xp.arange(len(values)), episode.successors]
    ones = xp.ones_like(episode.rewards)
    return Sample(matvec(backed, episode.features), reached, episode.successors, ones)


def empty_mixture(
    forgetting: Forgetting, features: FeatureTable, ridge: Numeric, *, shares: bool = False
) -> Moments:
    """Moments of no samples: gram `[H, J, J]` and cross `[H, J, 1]`; samples may have `shares`."""
    measures: Array = features.get(AnchorMeasures).array
    xp, (num_kernels, horizon) = namespace(measures), measures.shape[:2]
    steps, states = xp.zeros(horizon, dtype=measures.dtype), xp.zeros(horizon, dtype=xp.int32)
    phi = xp.zeros((horizon, num_kernels), dtype=measures.dtype)
    sample = Sample(phi, steps, states, steps, steps if shares else None)
    return forgetting.init(empty_moments(sample, 0, ridge, gram_sq=False), sample)


def mixture_estimate(moments: Moments) -> tuple[Array, Array]:
    """`Λ⁻¹`, and the estimate `Λ⁻¹b` of the mixture, for each step: `[H, J, J]` and `[H, J]`."""
    inverse = spd_inverse(moments.gram)
    return inverse, matvec(inverse, moments.cross[..., 0])
