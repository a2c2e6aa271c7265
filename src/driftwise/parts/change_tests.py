"""Tests for a change with a guaranteed false-alarm probability of at most δ: of means, and of windows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import compute_after, expand_like, identity_like, map_tree, namespace, spd_inverse
from driftwise.base.part import count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.designs import covering_rows
from driftwise.parts.detectors import GlrState, split_ratios
from driftwise.parts.link_regression import mirror_step
from driftwise.parts.links import Link, Logistic
from driftwise.parts.radii import log_determinant
from driftwise.parts.regression import matvec, quadratic
from driftwise.theory.confidence import descent_radius, ellipsoid_radius, means_threshold


class TestOutcome(NamedTuple):
    """Outcome of a test after an episode."""

    alarm: Array  # whether a change was detected
    windows: Array  # [W] whether it was detected in each window of the test, shortest first
    ended: Array  # [W] whether the window ends with this episode and another begins


class ChangeTest(ABC):
    """Test for a change from whole episodes, and for which pairs forced exploration is informative."""

    num_windows: int = 0  # W
    reward_range: tuple[float, float] = -math.inf, math.inf  # for which the guarantee holds

    @abstractmethod
    def init(self, spec: Spec, like: Array) -> Any:
        """Return the initial state; its method `restart()` drops the data and keeps the rest of δ."""

    @abstractmethod
    def priority(self, state: Any, features: FeatureTable) -> Array:
        """Return the priority of every pair for forced exploration, `[P, H, N]`, for each of P positions."""

    @abstractmethod
    def observe(
        self, state: Any, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[Any, TestOutcome]:
        """Return the state after an episode and the outcome; the given state is not modified."""


class MeansState(NamedTuple):
    """Sums of rewards of the covering arms, from forced plays."""

    arms: GlrState  # each field with a leading axis of d
    epoch: Array  # from 1

    def restart(self) -> MeansState:
        return MeansState(GlrState(*(0 * sums for sums in self.arms)), self.epoch + 1)


@part
class MeansTest(ChangeTest):
    r"""Likelihood-ratio test of the mean of each arm of a covering set, from forced plays only.

    An arm's $n$-th forced play raises an alarm if, for a split after the first $s$ of them,
    $$\frac{s(n-s)}{2\sigma^2n}(\hat\mu_{1:s} - \hat\mu_{s+1:n})^2
      \ge \log\frac{\pi^2\,m\,n^2}{3\delta_k}, \qquad \delta_k = \frac{6\delta}{\pi^2k^2d},$$
    with $m$ the number of splits (fewer than `window`) and $k$ the epoch: by a union bound, no false alarm is
    ever raised with probability $1-\delta$. The set of arms must be fixed. A play counts if the requested arm
    was taken and was not the only one.
    """

    noise_scale: Numeric = number(above=0, default=0.5)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    window: int = count(at_least=2, default=256)

    def init(self, spec: Spec, like: Array) -> MeansState:
        xp, dim = namespace(like), spec.dim
        sums, total = (xp.zeros(shape, dtype=like.dtype) for shape in ((dim, self.window), dim))
        arms = GlrState(sums, total, xp.zeros(dim, dtype=xp.int64))
        return MeansState(arms, xp.asarray(1, dtype=xp.int64))

    def priority(self, state: MeansState, features: FeatureTable) -> Array:
        xp, rows = namespace(features.values), features.values
        cover = covering_rows(rows, features.present)
        return xp.astype(xp.arange(len(rows)) == cover[:, None, None], rows.dtype)

    def observe(
        self, state: MeansState, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[MeansState, TestOutcome]:
        xp, dtype, dim = namespace(state.epoch), state.arms.total.dtype, len(state.arms.total)
        num_arms = len(features.values) if features.present is None else xp.sum(features.present)
        asked = covering_rows(features.values, features.present)[place]
        forced = forced & (num_arms > 1) & (episode.actions[0] == asked)
        before = GlrState(*(sums[place] for sums in state.arms))
        updated, usable, ratio = split_ratios(before, episode.rewards[0], self.noise_scale)
        splits, plays, epoch = (
            xp.astype(number, dtype) for number in (xp.maximum(xp.sum(usable), 1), updated.count, state.epoch)
        )
        delta = xp.asarray(self.delta, dtype=dtype)
        failure = math.log(math.pi**2 * dim / 6) + 2 * xp.log(epoch) - xp.log(delta)
        alarm = forced & xp.any(usable & (ratio >= means_threshold(plays, splits, failure, xp)))
        tested, no_windows = (xp.arange(dim) == place) & forced, xp.zeros(0, dtype=bool)
        arms = map_tree(lambda new, old: xp.where(expand_like(tested, old), new, old), updated, state.arms)
        return state._replace(arms=arms), TestOutcome(alarm, no_windows, no_windows)


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
        xp, num, mask = namespace(self.gram), len(ended), ended[:, None, None, None]
        starts = xp.astype(ended, xp.int64)
        orders = xp.where(ended, self.num_started + xp.cumulative_sum(starts), self.order[:-1])

        def shift(sums: Array, empty: Array) -> Array:
            before, within = xp.where(mask, sums[-1:], sums[:num]), xp.where(mask, empty, sums[num:-1])
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
        inverses = spd_inverse(compute_after(gram, information[..., None, None]))
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
        noise = xp.where(xp.arange(state.cross.shape[-1]) == 0, self.noise_scale, 0.5)  # of 0 or 1: at most ½
        return ellipsoid_radius(information, failure, noise, self.norm_bound, state.ridge, xp)


@part
class LinkTest(WindowTest):
    r"""The test of windows by mirror descents through a link, for clicks and counts of a bandit.

    $$\beta^2 = \lambda S^2 + 2\zeta\log\tfrac1{\delta_i} + (6\zeta^2+\zeta)\log\tfrac{\det V}{\lambda^d},
      \qquad \zeta = 1 + RS,$$
    with $V$ the sum of curvatures, as in `MirrorDescent` without forgetting: the confidence sets of GLB-OMD
    (Zhang, Xu, Zhao & Sugiyama 2025), for $\lambda$ of at least `link_regression.least_ridge`.
    """

    num_levels: int = count()
    link: Link = member(Link, default=Logistic())
    norm_bound: Numeric = number(above=0, default=5.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    ridge: Numeric = number(above=0, default=1.0)

    step = "descent"

    @property
    def reward_range(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.link.reward_range

    @property
    def step_size(self) -> Numeric:
        return 1 + self.link.self_concordance * self.norm_bound

    def absorb(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        gram, theta, _ = mirror_step(self, gram, cross, episode.features, episode.rewards, 1.0)
        return gram, matvec(gram, theta)[..., None]

    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        xp = namespace(information)
        return descent_radius(information, failure, self.step_size, self.norm_bound, state.ridge, xp)
