"""Tests for a change that compare confidence sets before and within windows of dyadic lengths."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import identity_like, namespace, order_after, spd_inverse
from driftwise.base.part import count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.change_tests import ChangeTest, TestOutcome
from driftwise.parts.links import Link, Logistic
from driftwise.parts.mirror_descent import mirror_step
from driftwise.parts.radii import log_determinant
from driftwise.parts.regression import matvec, quadratic
from driftwise.theory.confidence import descent_radius, ellipsoid_radius

_BINARY_NOISE = 0.5  # sub-Gaussian scale of a variable in {0, 1}


class EllipsoidState(NamedTuple):
    """Regressions on the data before each of L windows, within each window, and since the restart."""

    gram: Array  # [2L+1, H, d, d]
    cross: Array  # [2L+1, H, d, 1+J]
    order: Array  # [L+1] index i of the regression of each window, and of all data
    num_started: Array  # regressions started so far
    age: Array  # episodes since the restart
    ridge: Array
    inverse: Array  # [H, d, d] of the gram of all data

    def restart(self) -> EllipsoidState:
        xp, ridge = namespace(self.gram), self.ridge * identity_like(self.gram)
        orders = self.num_started + xp.cumulative_sum(xp.ones_like(self.order))
        gram, inverse = 0 * self.gram + ridge, 0 * self.inverse + ridge / self.ridge**2
        return EllipsoidState(gram, 0 * self.cross, orders, orders[-1], 0 * self.age, self.ridge, inverse)

    def restart_windows(self, ended: Array) -> EllipsoidState:
        """Restart the windows `[L]` that have `ended`; all earlier data becomes their prefix."""
        xp, num, here = namespace(self.gram), len(ended), ended[:, None, None, None]
        starts = xp.astype(ended, xp.int64)
        orders = xp.where(ended, self.num_started + xp.cumulative_sum(starts), self.order[:-1])

        def shift(sums: Array, empty: Array) -> Array:
            before, within = xp.where(here, sums[-1:], sums[:num]), xp.where(here, empty, sums[num:-1])
            return xp.concat([before, within, sums[-1:]])

        return self._replace(
            gram=shift(self.gram, self.ridge * identity_like(self.gram)),
            cross=shift(self.cross, xp.zeros_like(self.ridge)),
            order=xp.concat([orders, self.order[-1:]]),
            num_started=self.num_started + xp.sum(starts),
        )


class WindowTest(ChangeTest):
    r"""Confidence sets before and within windows of dyadic lengths; an alarm if two of them are disjoint.

    Window $j$ starts at the last multiple of $2^j$ episodes after the restart; the data before it is its
    prefix. An alarm is raised if for some $j$ and some row $a$

    $$|a^\top(\hat\theta_p - \hat\theta_w)| > \beta_p\|a\|_{V_p^{-1}} + \beta_w\|a\|_{V_w^{-1}}.$$

    The $i$-th regression to start has the share $\delta_i = 6\delta/(\pi^2i^2)$: without a change all sets
    contain the parameter with probability $1-\delta$. Forced exploration plays the row of largest width.
    """

    num_levels: int
    delta: Numeric
    ridge: Numeric

    @property
    def num_windows(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.num_levels

    def num_targets(self, spec: Spec) -> int:
        """Return the number of regressions per step."""
        return 1

    @abstractmethod
    def absorb(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        """Return `gram` and `cross` of the regressions after an episode."""

    @abstractmethod
    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        r"""$\beta$, `[2L, H, m]`, from $\log(\det V/\lambda^d)$, `[2L, H, 1]`, and $\log(1/\delta_i)$."""

    def init(self, spec: Spec, like: Array) -> EllipsoidState:
        xp, lead = namespace(like), (2 * self.num_levels + 1, spec.horizon, spec.dim)
        least = math.sqrt(np.finfo(like.dtype).eps) * 2**self.num_levels
        zero, ridge = xp.asarray(0, dtype=xp.int64), xp.asarray(self.ridge, dtype=like.dtype)
        gram = xp.zeros((*lead, spec.dim), dtype=like.dtype)
        cross = xp.zeros((*lead, self.num_targets(spec)), dtype=like.dtype)
        order, ridge = xp.zeros(self.num_levels + 1, dtype=xp.int64), xp.where(ridge < least, least, ridge)
        return EllipsoidState(gram, cross, order, zero, zero, ridge, gram[-1]).restart()

    def priority(self, state: EllipsoidState, features: FeatureTable) -> Array:
        return quadratic(features, state.inverse)[None]

    def observe(
        self, state: EllipsoidState, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[EllipsoidState, TestOutcome]:
        xp, num = namespace(state.gram), self.num_levels
        gram, cross = self.absorb(state.gram[num:], state.cross[num:], episode)  # prefixes stay the same
        gram, cross = xp.concat([state.gram[:num], gram]), xp.concat([state.cross[:num], cross])
        learnt = state._replace(gram=gram, cross=cross, age=state.age + 1)
        ended = learnt.age % xp.asarray([1 << j for j in range(num)]) == 0

        information = log_determinant(gram, state.ridge)
        inverses = spd_inverse(order_after(gram, information[..., None, None]))
        inverse, information, cross = inverses[:-1], information[:-1], cross[:-1]  # [2L, H, ...]
        orders = xp.concat([xp.broadcast_to(state.order[-1:], (num,)), state.order[:-1]])
        shares = math.pi**2 / 6 * cross.shape[1] * cross.shape[-1]
        orders, delta = xp.astype(orders, gram.dtype), xp.asarray(self.delta, dtype=gram.dtype)
        failure = math.log(shares) + 2 * xp.log(orders) - xp.log(delta)
        radius = self.radius(information[..., None], failure[:, None, None], learnt)
        squared = quadratic(features, inverse)
        widths = radius[..., None] * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))[:, :, None, :]
        theta = inverse @ cross  # [2L, H, d, m]
        gaps = xp.matrix_transpose(theta[:num] - theta[num:]) @ features.values.T
        excluded = xp.any(abs(gaps) > widths[:num] + widths[num:], axis=(1, 2, 3))  # on some row
        outcome = TestOutcome(xp.any(excluded), excluded, ended)
        return learnt._replace(inverse=inverses[-1]).restart_windows(ended), outcome


@part
class EllipsoidTest(WindowTest):
    r"""The test of windows by the ellipsoids of ridge regressions, for means that are linear in the features.

    $$\beta = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta_i} + \log\tfrac{\det V}{\lambda^d}}.$$

    In an MDP every step has one regression for the reward and one for each of `num_functions` random
    functions of the next state with values in {0, 1}; they share $\delta$. Since the relative error of an
    inverse is $\varepsilon N^2/\lambda^2$ for machine precision $\varepsilon$ and sums over $N = 2^L$
    episodes, $\lambda$ is at least $\sqrt\varepsilon N$.
    """

    num_levels: int = count()
    noise_scale: Numeric = number(above=0, default=0.5)
    norm_bound: Numeric = number(above=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    ridge: Numeric = number(above=0, default=1.0)
    num_functions: int = count(at_least=0, default=4)

    def num_targets(self, spec: Spec) -> int:
        return 1 + (self.num_functions if spec.horizon > 1 else 0)

    def absorb(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        xp, phi, num = namespace(gram), episode.features, self.num_functions
        targets = episode.rewards[:, None]
        if cross.shape[-1] > 1:  # the next state's functions, 0 after the last step
            draws = xp.asarray(random.fold(random.key(num), np.arange(num)))
            bits = random.fold(draws, episode.successors[:, None])[..., 0]  # [H, J]
            values = xp.astype(bits >> xp.uint32(31), targets.dtype)
            targets = xp.concat([targets, xp.concat([values[:-1], 0 * values[:1]])], axis=-1)
        return gram + phi[:, :, None] * phi[:, None, :], cross + phi[:, :, None] * targets[:, None, :]

    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        xp = namespace(information)
        noise = xp.where(xp.arange(state.cross.shape[-1]) == 0, self.noise_scale, _BINARY_NOISE)
        return ellipsoid_radius(information, failure, noise, self.norm_bound, state.ridge, xp)


@part
class LinkTest(WindowTest):
    r"""The test of windows by mirror descents through a link, for clicks and counts of a bandit.

    $$\beta^2 = \lambda S^2 + 2\zeta\log\tfrac1{\delta_i} + (6\zeta^2+\zeta)\log\tfrac{\det V}{\lambda^d},
      \qquad \zeta = 1 + RS,$$

    with $V$ the sum of curvatures, as in `MirrorDescent` without forgetting: the confidence sets of GLB-OMD
    (Zhang, Xu, Zhao & Sugiyama 2025), for $\lambda$ of at least `mirror_descent.least_ridge`.
    """

    num_levels: int = count()
    link: Link = member(Link, default=Logistic())
    norm_bound: Numeric = number(above=0, default=5.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    ridge: Numeric = number(above=0, default=1.0)

    @property
    def reward_range(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.link.reward_range

    @property
    def step_size(self) -> Numeric:
        return 1 + self.link.self_concordance * self.norm_bound

    def absorb(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        settings = self.step_size, self.norm_bound, 1.0
        gram, theta, _ = mirror_step(self.link, gram, cross, episode.features, episode.rewards, settings)
        return gram, matvec(gram, theta)[..., None]

    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        xp = namespace(information)
        return descent_radius(information, failure, self.step_size, self.norm_bound, state.ridge, xp)
