"""Weighted maximum likelihood through a link, from the most recent samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from driftwise.base.arrays import (
    identity_like,
    namespace,
    order_after,
    spd_inverse,
    spd_solve,
    while_loop,
    write_at,
)
from driftwise.base.part import MAX_BITS, choice, count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Sample, Spec
from driftwise.parts.exploration import Exploration, ExploringAgent
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.links import Link
from driftwise.parts.mirror_descent import project_to_ball
from driftwise.parts.policies import bandit_plan
from driftwise.parts.regression import empty_moments, linear

_DECREMENT = 1e-7  # Newton's method stops below this decrement; the error is about its square
_MOVE = 1e-11  # steps on the sphere stop below this length, in units of its radius
_SLACK = 1 + 1e-10  # factor by which a step may increase the distance: near a minimum it is all rounding
_MAX_STEPS = 200  # of either iteration; a few are usual


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
        zeros = xp.zeros((1, dim), dtype=dtype)
        sample = Sample(zeros, zeros[:, 0], xp.zeros(1, dtype=xp.int32), zeros[:, 0])
        ring, counts = xp.zeros((self.capacity, dim), dtype=dtype), xp.zeros(self.capacity, dtype=dtype)
        memory = Likelihood(ring, counts, zeros[0], zeros[0])
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
            return total, curvature + ridge * identity_like(learnt.gram)

        estimate = solve_likelihood(sums, learnt.cross[0, :, 0], state.memory.estimate)
        theta = estimate
        if self.within == "ball":
            inverse = spd_inverse(order_after(learnt.gram[0], estimate[:, None]))
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

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[1] > _DECREMENT) & (carry[2] < _MAX_STEPS)

    return while_loop(unfinished, newton, newton((start, start[0], xp.asarray(0))))[0]


def project_likelihood(sums: GradientSums, inverse: Array, estimate: Array, bound: Numeric) -> Array:
    """Return the θ of the ball that minimises `‖G(θ̂) − G(θ)‖` in the norm of a matrix.

    These are Gauss-Newton steps, minimised exactly on the ball; a step without progress is halved.
    """
    xp = namespace(estimate)
    aim, length = sums(estimate)[0], xp.sqrt(xp.sum(estimate**2))

    def distance(total: Array) -> Array:
        return (aim - total) @ inverse @ (aim - total)

    def on_sphere(point: Array) -> Array:
        return bound * point / xp.sqrt(xp.sum(point**2))

    def step(carry: Any) -> Any:
        theta, size, _, steps = carry
        total, jacobian = sums(theta)
        free = theta + spd_solve(jacobian, aim - total)
        metric = order_after(jacobian @ inverse @ jacobian, free[:, None])
        way = project_to_ball(metric[None], free[None], bound)[0] - theta
        other = on_sphere(theta + size * way)
        improves = distance(sums(other)[0]) <= _SLACK * distance(total)
        length, size_after = size * xp.sqrt(xp.sum(way**2)), xp.where(improves, xp.ones_like(size), size / 2)
        return xp.where(improves, other, theta), size_after, length, steps + 1

    def unfinished(carry: Any) -> Array:
        return (carry[2] > _MOVE * bound) & (carry[3] < _MAX_STEPS)

    outside = length > bound
    start = xp.where(outside, on_sphere(xp.where(outside, estimate, xp.ones_like(estimate))), estimate)
    first = start, xp.ones_like(length), xp.where(outside, length, 0 * length), xp.asarray(0)
    return while_loop(unfinished, step, first)[0]
