r"""Weighted maximum likelihood through a link, from the newest samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from driftwise.base.agent import Agent
from driftwise.base.arrays import after, identity_like, namespace, repeat_while, spd_inverse, spd_solve, write
from driftwise.base.part import choice, member, number, part, reserve
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Sample, Spec
from driftwise.parts.exploration import Exploration, bandit_plan
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.links import Link
from driftwise.parts.mirror_descent import in_ball
from driftwise.parts.regression import empty_moments, linear

DECREMENT = 1e-7  # of Newton's last step, whose error is the square of it
MOVE = 1e-11  # of the last step on the sphere, in units of its radius
ROUNDING = 1 + 1e-10  # a minimum is flat: near it distances say less than steps
MAX_STEPS = 200  # of either; a few are usual


class Likelihood(NamedTuple):
    """The samples that still count, and the estimates."""

    features: Array  # [W, d], a ring
    counts: Array  # [W] rewards that each sample is the mean of
    estimate: Array  # [d] θ̂, of maximum likelihood
    theta: Array  # [d] θ̂, or its projection


@part
class WeightedLikelihood(Agent):
    r"""A bandit's parameter by weighted maximum likelihood, kept in or out of a ball.

    $\hat\theta$ solves $\kappa\theta + \sum_s \eta^{t-1-s}(\mu(x_s^\top\theta) - r_s)x_s = 0$, by Newton's
    method from the estimate before. The mean of $n$ rewards that came at once counts $n$ times. The sums over
    $s$ have the newest `capacity` samples. With `within="ball"` an estimate longer than $S$ gives way to the
    point of the ball nearest to it in $\|G(\hat\theta) - G(\theta)\|_{\Lambda^{-1}}$, where $G(\theta) =
    \kappa\theta + \sum_s\eta^{t-1-s}\mu(x_s^\top\theta)x_s$. The index is $\mu(x^\top\theta)$ and the
    perturbation.

    `ridge` is that of $\Lambda$, `likelihood_ridge` $\kappa$, `norm_bound` $S$.
    """

    spec: Spec = member(Spec)
    link: Link = member(Link)
    forgetting: ExponentialWeights = member(ExponentialWeights)
    exploration: Exploration = member(Exploration)
    ridge: Numeric = number(above=0)
    likelihood_ridge: Numeric = number(above=0)
    norm_bound: Numeric = number(above=0)
    within: Literal["ball", "space"] = choice("ball", "space", default="space")
    capacity: int = reserve(default=1024)

    @property
    def optimistic(self) -> bool:
        return self.exploration.optimistic

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.link.reward_range

    def init(self, features: FeatureTable) -> Moments:
        xp, dim, dtype = namespace(features.values), self.spec.dim, features.values.dtype
        zeros = xp.zeros((1, dim), dtype=dtype)
        sample = Sample(zeros, zeros[:, 0], xp.zeros(1, dtype=xp.int32), zeros[:, 0])
        moments = empty_moments(sample, 0, self.ridge, gram_sq=False)
        ring = xp.zeros((self.capacity, dim), dtype=dtype)
        counts = xp.zeros(self.capacity, dtype=dtype)
        return moments._replace(memory=Likelihood(ring, counts, zeros[0], zeros[0]))

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
        ring, counts = write(state.memory.features, slot, x[0]), write(state.memory.counts, slot, count[0])
        ages = (state.tick - xp.arange(self.capacity)) % self.capacity
        decayed = xp.asarray(self.forgetting.rate, dtype=x.dtype) ** xp.astype(ages, x.dtype)
        weights = counts * xp.where(ages <= state.tick, decayed, xp.zeros_like(decayed))

        def sums(theta: Array) -> tuple[Array, Array]:
            """`G(θ)` and its Jacobian."""
            z, ridge = ring @ theta, self.likelihood_ridge
            curvature = (ring.T * (weights * self.link.slope(z))) @ ring
            total = ridge * theta + (weights * self.link.mean(z)) @ ring
            return total, curvature + ridge * identity_like(learnt.gram)

        estimate = maximised(sums, learnt.cross[0, :, 0], state.memory.estimate)
        theta = estimate
        if self.within == "ball":
            inverse = spd_inverse(after(learnt.gram[0], estimate[:, None]))
            theta = in_ball_of_sums(sums, inverse, estimate, self.norm_bound)
        return learnt._replace(memory=Likelihood(ring, counts, estimate, theta))

    def moments(self, state: Moments) -> Moments:
        return state


Sums = Callable[[Array], tuple[Array, Array]]


def maximised(sums: Sums, aim: Array, start: Array) -> Array:
    """The θ with `G(θ) = aim`, by Newton's method; steps are damped where the model may be wrong."""
    xp = namespace(start)

    def newton(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        theta, _, steps = carry
        total, jacobian = sums(theta)
        step = spd_solve(jacobian, total - aim)
        decrement = xp.sqrt(xp.maximum(xp.sum((total - aim) * step), xp.zeros_like(step[0])))
        damping = xp.where(decrement > 0.5, 1 + decrement, xp.ones_like(decrement))
        return theta - step / damping, decrement, steps + 1

    def unfinished(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[1] > DECREMENT) & (carry[2] < MAX_STEPS)

    return repeat_while(unfinished, newton, newton((start, start[0], xp.asarray(0))))[0]


def in_ball_of_sums(sums: Sums, inverse: Array, estimate: Array, bound: Numeric) -> Array:
    """The θ of the ball that minimises `‖G(θ̂) − G(θ)‖` in the norm of a matrix.

    G is invertible, so that for an estimate outside it lies on the sphere. Steps are those of Gauss and
    Newton, whose model is minimised on the ball exactly; one that gains nothing is halved.
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
        metric = after(jacobian @ inverse @ jacobian, free[:, None])
        way = in_ball(metric[None], free[None], bound)[0] - theta
        other = on_sphere(theta + size * way)
        better = distance(sums(other)[0]) <= ROUNDING * distance(total)
        move = size * xp.sqrt(xp.sum(way**2))
        return xp.where(better, other, theta), xp.where(better, xp.ones_like(size), size / 2), move, steps + 1

    def unfinished(carry: Any) -> Array:
        return (carry[2] > MOVE * bound) & (carry[3] < MAX_STEPS)

    outside = length > bound
    start = xp.where(outside, on_sphere(xp.where(outside, estimate, xp.ones_like(estimate))), estimate)
    first = start, xp.ones_like(length), xp.where(outside, length, 0 * length), xp.asarray(0)
    return repeat_while(unfinished, step, first)[0]
