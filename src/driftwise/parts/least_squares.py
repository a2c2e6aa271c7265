"""Weighted least-squares value iteration: the agent behind most recipes."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np

from driftwise.base import ArgumentError, Forecast, Forecaster, Forgetting, Numeric, Spec, WeightFunction
from driftwise.base.arrays import compute_after, map_tree, namespace, scan, spd_inverse, spd_products, vecdot
from driftwise.base.knowledge import MeanRewards, SharedSteps, SuccessorProjection
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Plan, Sample, WaitingDecisions
from driftwise.parts.exploration import Exploration, ExploringAgent
from driftwise.parts.noise import LearntNoise, forecast_episode
from driftwise.parts.regression import empty_moments, episode_sample, linear, matvec, step_ceilings


@part
class Caution:
    r"""Sample weights $w = \min\{1, \alpha/\|\phi\|_{\Lambda^{-1}}\}$, with the $\Lambda$ before a batch.

    Corruptions $c_\tau$ of the rewards then change the estimate by at most
    $\|\sum_\tau w_\tau\phi_\tau c_\tau\|_{\Lambda^{-1}} \le \alpha\sum_\tau|c_\tau|$ (He, Zhou, Zhang & Gu
    2022). With exponential weights of rate $\eta$ they are forgotten at half the rate: the bound is
    $\alpha\,\eta^{-1/2} \sum_\tau \eta^{(t-1-\tau)/2}\,|c_\tau|$, since $\Lambda_t \succeq
    \eta^{t-\tau}\Lambda_\tau$.
    """

    alpha: Numeric = number(above=0)

    def shares(self, gram: Array, features: Array) -> Array:
        """Return `w` of each step, from grams `[H, d, d]` and features `[H, d]`."""
        xp = namespace(gram)
        norms = xp.sqrt(xp.maximum(spd_products(gram, features[..., None, :])[..., 0], 0))
        return self.alpha / xp.maximum(norms, xp.asarray(self.alpha, dtype=norms.dtype))


@part
class LeastSquares(ExploringAgent, Forecaster):
    r"""Backward induction on the weighted ridge regression of every step.

    For `h = H … 1`: `w_h = Λ_h⁻¹ (cross_r + cross_P V_{h+1})`, `Q_h = φᵀw_h + perturbation`,
    `V_h = clip(max_a Q_h)`. The policy acts on the unclipped `Q_h`, ties at random.

    `clip="paper"` is `min(·, H)` (Algorithm 1, line 8); `"tight"` is `[0, H−h+1]`, the range that values of
    step h can have, which keeps optimism; `"range"` is `[0, H]`; `"none"` does not clip.

    `rewards="known"` learns transitions only. `successors="features"` knows features ψ of successors that
    span their measures, and projects `V_{h+1}` onto them. `steps="shared"` pools the data of all steps, for
    models that do not depend on h. `noise` learns the noise scale $s_h$, the unit of exploration;
    `unit="value"` adds $\sqrt\lambda(H-h+1)$ to it, so that a pair never tried is worth all that can follow.
    `caution` down-weights samples in uncertain directions (with the squared weight in `Λ̃`); exploration must
    then use single norms or be `CautiousUcb`.

    `prior="learnt"` explores as if weights had the prior $N(0, \tau^2I)$ instead of $N(0, s^2/\lambda\,I)$
    where that is wider. The error of $\phi^\top w$ then has the variance
    $s^2\phi^\top\Lambda^{-1}\tilde\Lambda\Lambda^{-1}\phi$ with

    $$\tilde\Lambda = \Lambda + \rho I, \qquad \rho = \lambda\,(\lambda\tau^2/s^2 - 1)_+, \qquad
      \tau^2 = \|w\|^2/\sqrt r, \qquad r = d - \lambda\,\mathrm{tr}\,\Lambda^{-1},$$

    which takes the place of the sums of squared weights. So directions that were never tried stay worth
    trying when the noise turns out to be small. $\|w\|^2/r$ is the mean square of the weights that are
    known, $\|w\|^2$ a bound for all directions; $\tau^2$ lies between them.
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
    unit: Literal["noise", "value"] = choice("noise", "value", default="noise")
    caution: Caution | None = member(Caution, default=None)
    prior: Literal["given", "learnt"] = choice("given", "learnt", default="given")

    def __post_init__(self) -> None:
        if self.prior == "learnt" and (self.noise is None or not self.exploration.uses_gram_sq):
            expected = "be 'given' without noise, or where exploration does not use the norm of Λ⁻¹Λ̃Λ⁻¹"
            raise ArgumentError("prior", expected, self.prior)
        covered = self.exploration.covers_corruption or not self.exploration.uses_gram_sq
        if self.caution is not None and not covered:
            expected = "be CautiousUcb, or have norm='single', when caution is given"
            raise ArgumentError("exploration", expected, self.exploration)
        if self.steps == "shared" and not isinstance(self.forgetting, WeightFunction):
            expected = "be a weight function, which leaves the ridge unchanged, when steps='shared'"
            raise ArgumentError("forgetting", expected, self.forgetting)

    @property
    def counts_waiting(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.prior == "learnt"

    @property
    def needs(self) -> tuple[type, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        is_needed = self.rewards == "known", self.successors == "features", self.steps == "shared"
        return tuple(itertools.compress((MeanRewards, SuccessorProjection, SharedSteps), is_needed))

    def init(self, features: FeatureTable) -> Moments:
        xp, dtype = namespace(features.values), features.values.dtype
        horizon, dim = self.spec.horizon, self.spec.dim
        steps, states = xp.zeros(horizon, dtype=dtype), xp.zeros(horizon, dtype=xp.int32)
        share = None if self.caution is None else steps
        example = Episode(states, states, xp.zeros((horizon, dim), dtype=dtype), steps, states)
        sample = episode_sample(self.spec, features, example, steps[:1], share)
        num_successors = self.spec.num_states if horizon > 1 else 0  # values after the last step are 0
        keeps = self.exploration.uses_gram_sq and self.prior == "given"
        moments = empty_moments(sample, num_successors, self.ridge, gram_sq=keeps)
        return self.forgetting.init(moments, sample)._replace(noise=self.initial_noise(steps))

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        moments = self._moments(state)
        inverse = spd_inverse(moments.gram)
        gram_sq = None if moments.gram_sq is None else compute_after(moments.gram_sq, inverse)
        moments = Moments(compute_after(moments.gram, inverse), gram_sq, *moments[2:])
        if self.noise is not None and self.prior == "learnt":
            excess = prior_excess(inverse, moments, self.noise.variance(state.noise.errors))
            identity = namespace(inverse).eye(self.spec.dim, dtype=inverse.dtype)
            moments = moments._replace(gram_sq=moments.gram + excess[:, None, None] * identity)
        wide, waiting = inverse, features.find(WaitingDecisions)
        if waiting is not None:  # samples without rewards make estimates no better, but surer soon
            gram, gram_sq = (sums if sums is None else sums + waiting.gram for sums in moments[:2])
            wide, moments = spd_inverse(gram), moments._replace(gram=gram, gram_sq=gram_sq)
        bonus = self.exploration.perturb(wide, moments, features, key)
        if self.noise is not None:
            bonus = bonus * self.exploration_unit(state)[:, None]
        doubt = self.exploration.doubt(inverse, moments, features)
        return self._backward_induction(inverse, moments.cross, bonus, doubt, features)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        forecast = None if self.noise is None else self.forecast(state, features, plan, episode)
        return self._absorb(state, features, episode, forecast)

    def learn(
        self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode
    ) -> tuple[Forecast, Moments]:
        forecast = self.forecast(state, features, plan, episode)
        return forecast, self._absorb(state, features, episode, forecast)

    def _absorb(
        self, state: Moments, features: FeatureTable, episode: Episode, forecast: Forecast | None
    ) -> Moments:
        counts, share = episode.counts, None
        if counts is None:
            counts = namespace(episode.rewards).ones_like(episode.rewards[:1])  # for all steps: less to keep
        if self.caution is not None:
            share = self.caution.shares(self._moments(state).gram, episode.features)
        sample = episode_sample(self.spec, features, episode, counts, share)
        return self.update_moments(state, sample, None if forecast is None else forecast.squares)

    def initial_noise(self, steps: Array) -> Any:
        """Return the noise before the first sample, if it is learnt; `steps` `[H]` are zeros."""
        return None if self.noise is None else self.noise.init(self.forgetting, steps)

    def update_moments(self, state: Moments, sample: Sample, squares: Array | None) -> Moments:
        """Return the moments after a sample, with the noise after the squared errors of its forecast."""
        learnt = self.forgetting.update(state._replace(noise=None), sample)
        if self.noise is None or squares is None:
            return learnt
        return learnt._replace(noise=self.noise.update(self.forgetting, state.noise, squares))

    def exploration_unit(self, state: Moments) -> Array:
        """Return what exploration is multiplied by in each step, `[H]`; 1 where no noise is learnt."""
        if self.noise is None:
            return namespace(state.gram).ones(len(state.gram), dtype=state.gram.dtype)
        noise = self.noise.deviation(state.noise.errors)
        if self.unit == "noise":
            return noise
        xp = namespace(noise)
        return noise + xp.sqrt(state.ridge) * xp.asarray(self.ceilings, dtype=noise.dtype)

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        gram, _, cross = self._moments(state)[:3]
        rewards, values = episode.rewards, plan.next_values
        if self.rewards == "known":
            cross = namespace(cross).concat([0 * cross[..., :1], cross[..., 1:]], axis=-1)
            rewards = 0 * rewards
        if self.successors == "features":
            values = matvec(features.get(SuccessorProjection).array, values)
        forecast = forecast_episode(gram, cross, episode.features, rewards, values, episode.successors)
        return forecast if episode.counts is None else forecast.scale_by_counts(episode.counts)

    def _moments(self, state: Moments) -> Moments:
        return pool_steps(state) if self.steps == "shared" else state

    def action_probabilities(self, plan: Plan, key: Key) -> Array:
        return self.exploration.action_probabilities(plan.q[0, 0], plan.bonus[0, 0], key)

    @property
    def ceilings(self) -> np.ndarray:
        """Largest value that `clip` allows in each step, `[H]`."""
        return step_ceilings(self.spec.horizon, tight=self.clip == "tight")

    def clip_values(self, values: Array, ceiling: Numeric) -> Array:
        """Clip the values of a step as `clip` says."""
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
                value = matvec(features.get(SuccessorProjection).array, value)
            target = cross[:, 0] if self.rewards == "learnt" else 0 * cross[:, 0]
            if horizon > 1:
                target = target + matvec(cross[:, 1:], value)
            weights = matvec(inverse, target)
            index = linear(features, weights) + perturbation
            if self.rewards == "known":
                index = index + extras.pop(0)
            if doubt is not None:
                index, perturbation = mix_with_ceiling(index, perturbation, *extras)
            if features.present is not None:
                index = xp.where(features.present, index, -xp.inf)
            q = index.reshape((num_states, -1))  # a bandit may offer any number of arms
            value = self.clip_values(q.max(axis=-1), ceiling)
            return value, (weights, perturbation, q, self.exploration.policy(q), value)

        xs = [inverse, cross, perturbation, xp.asarray(self.ceilings, dtype=dtype)]
        if self.rewards == "known":
            xs.append(features.get(MeanRewards).array)
        if doubt is not None:
            xs += [doubt, xp.arange(horizon, 0, -1, dtype=dtype)]
        if len(inverse) < horizon:  # one for all steps
            xs = [xp.broadcast_to(array, (horizon, *array.shape[1:])) for array in xs]
        start = xp.zeros(num_states, dtype=dtype)
        _, (weights, bonus, q, policy, values) = scan(step, start, tuple(xs), reverse=True)
        return Plan(weights, bonus.reshape(q.shape), q, policy, values)


def mix_with_ceiling(q: Array, perturbation: Array, share: Array, ceiling: Numeric) -> tuple[Array, Array]:
    """Index and perturbation where a share of the index is replaced by the largest possible value."""
    mixed = share * ceiling + (1 - share) * q
    return mixed, perturbation + (mixed - q)


def prior_excess(inverse: Array, moments: Moments, variance: Array) -> Array:
    """Return `ρ` of `prior="learnt"` for each step, from inverses `[H, d, d]` and noise variances `[H]`."""
    xp, ridge = namespace(inverse), moments.ridge
    weights = matvec(inverse, moments.cross[..., 0])
    rank = inverse.shape[-1] - ridge * xp.linalg.trace(inverse)
    size = vecdot(weights, weights) / xp.sqrt(xp.maximum(rank, xp.ones_like(rank)))  # τ²
    scale = xp.where(variance > 0, variance, xp.ones_like(variance))
    return ridge * xp.maximum((variance > 0) * (ridge * size / scale - 1), 0.0)


def pool_steps(moments: Moments) -> Moments:
    """Sum the moments over all steps, with one ridge; the leading axis has length one."""
    xp, gram = namespace(moments.gram), moments.gram
    extra = (gram.shape[0] - 1) * moments.ridge * xp.eye(gram.shape[-1], dtype=gram.dtype)
    gram, gram_sq, cross = map_tree(lambda sums: xp.sum(sums, axis=0, keepdims=True), moments[:3])
    return Moments(gram - extra, None if gram_sq is None else gram_sq - extra, cross, *moments[3:])
