"""Regression of rewards through a link: online mirror descent, and weighted maximum likelihood."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from driftwise.base import ArgumentError, Forecast, Forecaster, Forgetting, Sample
from driftwise.base.arrays import compute_after, namespace, spd_inverse, spd_solve, while_loop, write_at
from driftwise.base.part import MAX_BITS, choice, count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec
from driftwise.parts.exploration import Exploration, ExploringAgent, bandit_plan
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.links import Link
from driftwise.parts.regression import empty_moments, linear, matvec

Step = Literal["descent", "mean"]
_PRECISION, _MAX_MULTIPLIERS = 1e-14, 60  # of a projection by Newton's method; about five steps are usual
_DECREMENT = 1e-7  # Newton's method stops below this decrement; the error is about its square
_MOVE = 1e-11  # steps on the sphere stop below this length, in units of its radius
_SLACK = 1 + 1e-10  # factor by which a step may increase the distance: near a minimum it is all rounding
_MAX_STEPS = 200  # of the iterations for a likelihood; a few are usual


@part
class MirrorDescent(ExploringAgent, Forecaster):
    r"""A bandit's parameter by mirror descent through a link, with exponential weights.

    With $A = \eta H + (1-\eta)\lambda I$ and $c = A^{-1}\eta H\theta$, a reward $r$ of features $x$ makes
    $$\tilde A = A + \zeta\tfrac{\mu'(x^\top c)}g xx^\top, \qquad
      \theta^+ = \Pi\Bigl(c - \zeta\tilde A^{-1}x\,\tfrac{\mu(x^\top c) - r}g\Bigr), \qquad
      H^+ = A + \tfrac{\mu'(x^\top\theta^+)}g xx^\top,$$
    where $\Pi$ projects onto the ball of radius $S$ in the norm of $\tilde A$. The moments have $H$ as `gram`
    and $H\theta$ as `cross`; their `memory` is $D \leftarrow \eta D + \log(\det H^+/\det A)$. The policy acts
    on $x^\top\theta$ and the perturbation; index and bonus are in units of rewards, behind the link.

    `step="mean"` moves the forecast $\mu(x^\top c)$ by the share $k/(1+k)$ of its error, along $A^{-1}x$,
    with $k = \zeta\mu'\|x\|^2_{A^{-1}}/g$, and scales $A$ along $x$ by the change of $\mu'$: samples count
    with the slope at the present estimate. For one-hot features $\mu$ is the mean of rewards.

    `step_size` is $\zeta$, `dispersion` $g$, or $g/n$ for a mean of $n$ rewards, `norm_bound` $S$.
    """

    spec: Spec = member(Spec)
    link: Link = member(Link)
    forgetting: Forgetting = member(Forgetting)
    exploration: Exploration = member(Exploration)
    ridge: Numeric = number(above=0)
    norm_bound: Numeric = number(above=0)
    step_size: Numeric = number(at_least=1)
    dispersion: Numeric = number(above=0, default=1.0)
    step: Step = choice(*get_args(Step), default="descent")

    def __post_init__(self) -> None:
        if not isinstance(self.forgetting, ExponentialWeights | NoForgetting):
            raise ArgumentError("forgetting", "be exponential weights, or none", self.forgetting)

    @property
    def rate(self) -> Numeric:
        """The forgetting rate η."""
        return self.forgetting.rate if isinstance(self.forgetting, ExponentialWeights) else 1.0

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.link.reward_range

    def init(self, features: FeatureTable) -> Moments:
        moments = empty_moments(_empty_sample(features.values, self.spec.dim), 0, self.ridge, gram_sq=False)
        return moments._replace(memory=namespace(moments.gram).zeros_like(moments.gram[:, 0, 0]))

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        inverse = spd_inverse(state.gram)
        theta = matvec(inverse, state.cross[..., 0])
        z = linear(features, theta)
        index = z + self.exploration.perturb(inverse, state, features, key)
        q = self.link.mean(index)
        return bandit_plan(theta, q, q - self.link.mean(z), self.exploration.policy, features, index)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        x, reward = episode.features, episode.rewards  # [1, d] and [1]
        dispersion, empty = self.dispersion, _empty_sample(x, self.spec.dim)
        if episode.counts is not None:
            dispersion, empty = dispersion / episode.counts, empty._replace(count=episode.counts)
        decayed = self.forgetting.update(state, empty)  # A and ηHθ
        gram, theta, gain = mirror_step(self, decayed.gram, decayed.cross, x, reward, dispersion)
        memory = self.rate * state.memory + namespace(x).log1p(gain)
        return decayed._replace(gram=gram, cross=matvec(gram, theta)[..., None], memory=memory)

    def forecast(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        xp, x = namespace(episode.features), episode.features
        inverse = spd_inverse(state.gram)
        z = xp.sum(x * matvec(inverse, state.cross[..., 0]), axis=-1)
        width = xp.sum(x * matvec(inverse, x), axis=-1)
        variance = self.link.slope(z) * width / self.dispersion  # of the mean, in units of gμ'
        forecast = Forecast(episode.rewards - self.link.mean(z), variance)
        return forecast if episode.counts is None else forecast.scale_by_counts(episode.counts)


def mirror_step(
    agent: Any, gram: Array, cross: Array, x: Array, reward: Array, dispersion: Numeric
) -> tuple[Array, Array, Array]:
    r"""$H^+$, $\theta^+$ and $\det H^+/\det A - 1$ after a reward, from $A$ and $Ac$.

    The agent, or a test, has a `link`, a `step`, a `step_size` and a `norm_bound`.
    """
    xp, inverse = namespace(x), spd_inverse(gram)
    centre = matvec(inverse, cross[..., 0])  # c
    along = matvec(inverse, x)  # A⁻¹x
    z, width = xp.sum(x * centre, axis=-1), xp.sum(x * along, axis=-1)
    outer = x[..., :, None] * x[..., None, :]
    move, curvature = mirror_move(agent.link, agent.step, z, width, reward, agent.step_size / dispersion)
    metric = gram + curvature[..., None, None] * outer
    theta = project_to_ball(metric, centre + move[..., None] * along, agent.norm_bound)
    gain = mirror_gain(agent.link, agent.step, z, xp.sum(x * theta, axis=-1), width, dispersion)
    return gram + gain[..., None, None] * outer, theta, gain * width


def mirror_move(
    link: Link, step: Step, z: Array, width: Array, reward: Numeric, strength: Numeric
) -> tuple[Array, Array]:
    """Return the multiple of `A⁻¹x` that is added to `c`, and `ζμ'(z)/g`; `strength` is `ζ/g`."""
    mean, curvature = link.mean(z), strength * link.slope(z)
    if step == "descent":  # Ã⁻¹x = A⁻¹x/(1 + ζμ'‖x‖²/g)
        return strength * (reward - mean) / (1 + curvature * width), curvature
    share = curvature * width / (1 + curvature * width)
    return (link.inverse(mean + share * (reward - mean)) - z) / (width + (width == 0)), curvature


def mirror_gain(link: Link, step: Step, z: Array, moved: Array, width: Array, dispersion: Numeric) -> Array:
    """Return the multiple of `xxᵀ` that is added to `A`, where `z` has moved."""
    slope = link.slope(moved)
    scaling = (slope / link.slope(z) - 1) / (width + (width == 0)) if step == "mean" else 0.0
    return slope / dispersion + scaling


def least_ridge(link: Link, dim: int, norm_bound: Numeric) -> np.ndarray:
    r"""$\max\{14d\zeta R^2, 6\zeta RSk_\mu/g\}$ for $g = 1$, the least ridge in theory; 1 if $R = 0$."""
    bound, curved = np.asarray(norm_bound, dtype=float), link.self_concordance
    step_size = 1 + curved * bound
    steep = 6 * curved * bound * link.slopes(bound)[1]
    return step_size * np.maximum(14 * dim * curved**2, steep) if curved else np.ones_like(bound)


def project_to_ball(metric: Array, point: Array, bound: Numeric) -> Array:
    """Return the `v` with `‖v‖ ≤ bound` nearest to points `[..., d]` in the norm of metrics `[..., d, d]`.

    For points outside of the ball it is `v = Q(e q/(e + ρ))` with `M = Q diag(e) Qᵀ`, `q = Qᵀu` and the
    multiplier `ρ > 0` at which `‖v‖ = bound`. Since `1/‖v‖` is concave in ρ, Newton's steps never go too far.
    """
    xp = namespace(point)
    outside = xp.sum(point**2, axis=-1, keepdims=True) > bound**2

    def projected(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        values, vectors = xp.linalg.eigh(metric)
        pulled = values * xp.sum(vectors * point[..., :, None], axis=-2)  # e q

        def newton(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            multiplier, _, steps = carry
            squares = (pulled / (values + multiplier)) ** 2
            squared = xp.sum(squares, axis=-1, keepdims=True)
            slope = xp.sum(squares / (values + multiplier), axis=-1, keepdims=True)
            change = xp.where(outside, squared / slope * (xp.sqrt(squared) / bound - 1), 0 * squared)
            return multiplier + change, change, steps + 1

        multiplier, _, _ = while_loop(
            lambda carry: xp.any(carry[1] > _PRECISION * carry[0]) & (carry[2] < _MAX_MULTIPLIERS),
            newton,
            newton((0 * point[..., :1], 0 * point[..., :1], xp.asarray(0))),
        )
        nearest = matvec(vectors, pulled / (values + multiplier))
        return xp.where(outside, nearest, point), xp.zeros_like(outside)

    return while_loop(lambda carry: xp.any(carry[1]), projected, (point, outside))[0]


def _empty_sample(like: Array, dim: int) -> Sample:
    """A sample with zero features: absorbing it forgets and counts, and changes nothing else."""
    xp = namespace(like)
    zeros = xp.zeros((1, dim), dtype=like.dtype)
    return Sample(zeros, zeros[:, 0], xp.zeros(1, dtype=xp.int32), 1 + zeros[:, 0])


class Likelihood(NamedTuple):
    """Recent samples and the estimates."""

    features: Array  # [W, d], a ring
    counts: Array  # [W] rewards that each sample is the mean of
    estimate: Array  # [d] θ̂, of maximum likelihood
    theta: Array  # [d] θ̂, or its projection


@part
class WeightedLikelihood(ExploringAgent):
    r"""A bandit's parameter by weighted maximum likelihood, kept in or out of a ball.

    $\hat\theta$ solves $\kappa\theta + \sum_s \eta^{t-1-s}(\mu(x_s^\top\theta) - r_s)x_s = 0$, a sum over the
    newest `capacity` samples. With `within="ball"` an estimate longer than $S$ = `norm_bound` is replaced by
    the nearest point of the ball in $\|G(\hat\theta) - G(\theta)\|_{\Lambda^{-1}}$, where $G(\theta) =
    \kappa\theta + \sum_s\eta^{t-1-s}\mu(x_s^\top\theta)x_s$. The index is $\mu(x^\top\theta)$ and the
    perturbation. `ridge` is that of $\Lambda$, `likelihood_ridge` $\kappa$.
    """

    spec: Spec = member(Spec)
    link: Link = member(Link)
    forgetting: ExponentialWeights = member(ExponentialWeights)
    exploration: Exploration = member(Exploration)
    ridge: Numeric = number(above=0)
    likelihood_ridge: Numeric = number(above=0)
    norm_bound: Numeric = number(above=0)
    within: Literal["ball", "space"] = choice("ball", "space", default="space")
    capacity: int = count(at_least=0, bits=MAX_BITS, default=1024, largest=True)

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.link.reward_range

    def init(self, features: FeatureTable) -> Moments:
        xp, dim, dtype = namespace(features.values), self.spec.dim, features.values.dtype
        sample = _empty_sample(features.values, dim)
        ring, counts = xp.zeros((self.capacity, dim), dtype=dtype), xp.zeros(self.capacity, dtype=dtype)
        memory = Likelihood(ring, counts, sample.features[0], sample.features[0])
        return empty_moments(sample, 0, self.ridge, gram_sq=False)._replace(memory=memory)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        theta = state.memory.theta[None]
        bonus = self.exploration.perturb(spd_inverse(state.gram), state, features, key)
        index = self.link.mean(linear(features, theta)) + bonus
        return bandit_plan(theta, index, bonus, self.exploration.policy, features)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        xp, x = namespace(episode.features), episode.features
        count = xp.ones_like(episode.rewards) if episode.counts is None else episode.counts
        learnt = self.forgetting.update(state, Sample(x, episode.rewards, episode.successors, count))
        slot = state.tick % self.capacity
        ring = write_at(state.memory.features, slot, x[0])
        counts = write_at(state.memory.counts, slot, count[0])
        ages = (state.tick - xp.arange(self.capacity)) % self.capacity
        decayed = xp.asarray(self.forgetting.rate, dtype=x.dtype) ** xp.astype(ages, x.dtype)
        weights = counts * xp.where(ages <= state.tick, decayed, xp.zeros_like(decayed))

        def sums(theta: Array) -> tuple[Array, Array]:
            z, ridge = ring @ theta, self.likelihood_ridge
            curvature = (ring.T * (weights * self.link.slope(z))) @ ring
            total = ridge * theta + (weights * self.link.mean(z)) @ ring
            return total, curvature + ridge * xp.eye(self.spec.dim, dtype=x.dtype)

        estimate = solve_likelihood(sums, learnt.cross[0, :, 0], state.memory.estimate)
        theta = estimate
        if self.within == "ball":
            inverse = spd_inverse(compute_after(learnt.gram[0], estimate[:, None]))
            theta = project_likelihood(sums, inverse, estimate, self.norm_bound)
        return learnt._replace(memory=Likelihood(ring, counts, estimate, theta))


GradientSums = Callable[[Array], tuple[Array, Array]]  # θ to `G(θ)` and its Jacobian


def solve_likelihood(sums: GradientSums, aim: Array, start: Array) -> Array:
    """Return the θ with `G(θ) = aim`, by damped Newton steps."""
    xp = namespace(start)

    def newton(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        total, jacobian = sums(carry[0])
        step = spd_solve(jacobian, total - aim)
        decrement = xp.sqrt(xp.maximum(xp.sum((total - aim) * step), xp.zeros_like(step[0])))
        damping = xp.where(decrement > 0.5, 1 + decrement, xp.ones_like(decrement))
        return carry[0] - step / damping, decrement, carry[2] + 1

    first = newton((start, start[0], xp.asarray(0)))
    return while_loop(lambda carry: (carry[1] > _DECREMENT) & (carry[2] < _MAX_STEPS), newton, first)[0]


def project_likelihood(sums: GradientSums, inverse: Array, estimate: Array, bound: Numeric) -> Array:
    """Return the θ of the ball with the least `‖G(θ̂) − G(θ)‖`, by Gauss-Newton steps; a bad one is halved."""
    xp, aim = namespace(estimate), sums(estimate)[0]
    length = xp.sqrt(xp.sum(estimate**2))

    def distance(total: Array) -> Array:
        return (aim - total) @ inverse @ (aim - total)

    def on_sphere(point: Array) -> Array:
        return bound * point / xp.sqrt(xp.sum(point**2))

    def step(carry: Any) -> Any:
        theta, size, _, steps = carry
        total, jacobian = sums(theta)
        free = theta + spd_solve(jacobian, aim - total)
        metric = compute_after(jacobian @ inverse @ jacobian, free[:, None])
        move = project_to_ball(metric[None], free[None], bound)[0] - theta
        candidate = on_sphere(theta + size * move)
        improves = distance(sums(candidate)[0]) <= _SLACK * distance(total)
        length, size_after = size * xp.sqrt(xp.sum(move**2)), xp.where(improves, xp.ones_like(size), size / 2)
        return xp.where(improves, candidate, theta), size_after, length, steps + 1

    outside = length > bound
    start = xp.where(outside, on_sphere(xp.where(outside, estimate, xp.ones_like(estimate))), estimate)
    first = start, xp.ones_like(length), xp.where(outside, length, 0 * length), xp.asarray(0)
    return while_loop(lambda carry: (carry[2] > _MOVE * bound) & (carry[3] < _MAX_STEPS), step, first)[0]
