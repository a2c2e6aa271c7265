"""Tests of a change by the confidence sets of before and of since, for windows of all lengths."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import after, identity_like, namespace, spd_inverse, spd_root
from driftwise.base.part import count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.change_tests import ChangeTest, Finding, log_of
from driftwise.parts.glm_radii import descent_radius
from driftwise.parts.links import Link, Logistic
from driftwise.parts.mirror_descent import mirror_step
from driftwise.parts.regression import matvec, quadratic
from driftwise.theory.confidence import ellipsoid_radius

COIN = 0.5  # the noise of what is 0 or 1


class EllipsoidState(NamedTuple):
    """Regressions on what came before each of L windows, on the windows, and on all since the restart."""

    gram: Array  # [2L+1, H, d, d]
    cross: Array  # [2L+1, H, d, 1+J]
    order: Array  # [L+1] the how-manieth regression a window is, and all
    begun: Array  # how many there were
    age: Array  # episodes since the restart
    ridge: Array
    inverse: Array  # [H, d, d] of the gram of all

    def again(self) -> EllipsoidState:
        xp, ridge = namespace(self.gram), self.ridge * identity_like(self.gram)
        orders = self.begun + xp.cumulative_sum(xp.ones_like(self.order))
        return EllipsoidState(
            0 * self.gram + ridge,
            0 * self.cross,
            orders,
            orders[-1],
            0 * self.age,
            self.ridge,
            0 * self.inverse + ridge / self.ridge**2,
        )

    def anew(self, over: Array) -> EllipsoidState:
        """The state in which windows `[L]` that are `over` have begun again, after all that came before."""
        xp, num = namespace(self.gram), len(over)
        begins = xp.astype(over, xp.int64)
        orders = xp.where(over, self.begun + xp.cumulative_sum(begins), self.order[:-1])

        def moved(sums: Array, nothing: Array) -> Array:
            here, all_of_them = over[:, None, None, None], sums[-1:]
            before = xp.where(here, all_of_them, sums[:num])
            return xp.concat([before, xp.where(here, nothing, sums[num:-1]), all_of_them])

        return self._replace(
            gram=moved(self.gram, self.ridge * identity_like(self.gram)),
            cross=moved(self.cross, xp.zeros_like(self.ridge)),
            order=xp.concat([orders, self.order[-1:]]),
            begun=self.begun + xp.sum(begins),
        )


class WindowTest(ChangeTest):
    r"""Confidence sets of before and of since, for windows of all lengths: two may exclude each other.

    Since the last multiple of $2^j$ episodes after the restart there is a window, and what came before it is
    its prefix. Both have a regression with a confidence set, and an alarm is raised if for some $j$ and some
    row $a$

    $$|a^\top(\hat\theta_p - \hat\theta_w)| > \beta_p\|a\|_{V_p^{-1}} + \beta_w\|a\|_{V_w^{-1}}.$$

    The $i$-th regression that was begun has $\delta_i = 6\delta/(\pi^2i^2)$ of $\delta$: as long as nothing
    changes both contain the parameter, in all rounds with probability $1-\delta$, whatever was played and
    why. By force the widest row is played.
    """

    num_levels: int
    delta: Numeric
    ridge: Numeric

    @property
    def num_windows(self) -> int:
        return self.num_levels

    @abstractmethod
    def num_targets(self, spec: Spec) -> int:
        """How many regressions there are for a step."""

    @abstractmethod
    def absorbed(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        """`gram` and `cross` of regressions after an episode."""

    @abstractmethod
    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        r"""$\beta$, `[2L, H, m]`, from $\log(\det V/\lambda^d)$, `[2L, H, 1]`, and $\log(1/\delta_i)$."""

    def init(self, spec: Spec, like: Array) -> EllipsoidState:
        xp, lead = namespace(like), (2 * self.num_levels + 1, spec.horizon, spec.dim)
        least = math.sqrt(np.finfo(like.dtype).eps) * 2**self.num_levels
        none, ridge = xp.asarray(0, dtype=xp.int64), xp.asarray(self.ridge, dtype=like.dtype)
        return EllipsoidState(
            gram=xp.zeros((*lead, spec.dim), dtype=like.dtype),
            cross=xp.zeros((*lead, self.num_targets(spec)), dtype=like.dtype),
            order=xp.zeros(self.num_levels + 1, dtype=xp.int64),
            begun=none,
            age=none,
            ridge=xp.where(ridge < least, least, ridge),
            inverse=xp.zeros((spec.horizon, spec.dim, spec.dim), dtype=like.dtype),
        ).again()

    def worth(self, state: EllipsoidState, features: FeatureTable) -> Array:
        return quadratic(features, state.inverse)[None]

    def observe(
        self, state: EllipsoidState, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[EllipsoidState, Finding]:
        xp, num = namespace(state.gram), self.num_levels
        gram, cross = self.absorbed(state.gram[num:], state.cross[num:], episode)
        learnt = state._replace(  # what came before a window stays as it is
            gram=xp.concat([state.gram[:num], gram]),
            cross=xp.concat([state.cross[:num], cross]),
            age=state.age + 1,
        )
        over = learnt.age % xp.asarray([1 << j for j in range(num)]) == 0
        excluded, inverse = self._excluded(learnt, features)
        return learnt._replace(inverse=inverse).anew(over), Finding(xp.any(excluded), excluded, over)

    def _excluded(self, state: EllipsoidState, features: FeatureTable) -> tuple[Array, Array]:
        """Whether each window and what was before it have no parameter in common, by the value of some row.

        Also the inverse of the gram of all.
        """
        xp, dtype, num = namespace(state.gram), state.gram.dtype, self.num_levels
        roots = xp.linalg.diagonal(spd_root(state.gram))
        information = 2 * xp.sum(xp.log(roots), axis=-1) - roots.shape[-1] * xp.log(state.ridge)
        inverses = spd_inverse(after(state.gram, information[..., None, None]))
        inverse, information, cross = inverses[:-1], information[:-1], state.cross[:-1]  # [2L, H, ...]

        whole = xp.broadcast_to(state.order[-1:], (num,))
        orders = xp.concat([whole, state.order[:-1]])
        shares = math.pi**2 / 6 * cross.shape[1] * cross.shape[-1]
        failure = math.log(shares) + 2 * xp.log(xp.astype(orders, dtype)) - log_of(self.delta, cross)
        radius = self.radius(information[..., None], failure[:, None, None], state)
        squared = quadratic(features, inverse)
        widths = radius[..., None] * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))[:, :, None, :]
        theta = inverse @ cross  # [2L, H, d, m]
        gaps = xp.matrix_transpose(theta[:num] - theta[num:]) @ features.values.T
        excluded = xp.any(abs(gaps) > widths[:num] + widths[num:], axis=(1, 2, 3))
        return excluded, inverses[-1]


@part
class EllipsoidTest(WindowTest):
    r"""The test of windows by the ellipsoids of ridge regressions, for means that are linear in the features.

    $$\beta = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta_i} + \log\tfrac{\det V}{\lambda^d}}.$$

    In an MDP every step has its own, for the reward and for `num_functions` functions of the next state with
    values 0 and 1, drawn once: each has its share of $\delta$. Pairs take the place of arms.

    Any $\lambda$ keeps the promise, but for rounding: an inverse errs by $\varepsilon N^2/\lambda^2$ of what
    an unknown direction is worth, with the precision's $\varepsilon$ and sums over $N = 2^L$ episodes. So
    $\lambda$ is raised to $\sqrt\varepsilon N$ where it is below.
    """

    num_levels: int = count()
    noise_scale: Numeric = number(above=0, default=0.5)
    norm_bound: Numeric = number(above=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    ridge: Numeric = number(above=0, default=1.0)
    num_functions: int = count(at_least=0, default=4)

    def num_targets(self, spec: Spec) -> int:
        return 1 + (self.num_functions if spec.horizon > 1 else 0)

    def absorbed(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        phi, targets = episode.features, self._targets(episode, cross.shape[-1] - 1)
        return gram + phi[:, :, None] * phi[:, None, :], cross + phi[:, :, None] * targets[:, None, :]

    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        xp = namespace(information)
        noise = xp.where(xp.arange(state.cross.shape[-1]) == 0, self.noise_scale, COIN)
        return ellipsoid_radius(information, failure, noise, self.norm_bound, state.ridge, xp)

    def _targets(self, episode: Episode, num_functions: int) -> Array:
        """`(r, f(s'))` of every step, `[H, 1+J]`; nothing is known of what follows the last."""
        xp, dtype = namespace(episode.rewards), episode.rewards.dtype
        rewards = episode.rewards[:, None]
        if not num_functions:
            return rewards
        draws = random.fold(random.key(num_functions), np.arange(num_functions))
        luck = random.fold(xp.asarray(draws), episode.successors[:, None])[..., 0]  # [H, J]
        values = xp.astype(luck >> xp.uint32(31), dtype)
        return xp.concat([rewards, xp.concat([values[:-1], 0 * values[:1]])], axis=-1)


@part
class LinkTest(WindowTest):
    r"""The test of windows by mirror descents through a link, for clicks and counts of a bandit.

    $$\beta^2 = \lambda S^2 + 2\zeta\log\tfrac1{\delta_i} + (6\zeta^2+\zeta)\log\tfrac{\det V}{\lambda^d},
      \qquad \zeta = 1 + RS,$$

    with $V$ the sum of curvatures, as `MirrorDescent` has it where nothing is forgotten: the confidence sets
    of GLB-OMD, which hold in all rounds at once (Zhang, Xu, Zhao & Sugiyama 2025). The promise asks for
    $\lambda$ of at least `driftwise.parts.mirror_descent.least_ridge`.
    """

    num_levels: int = count()
    link: Link = member(Link, default=Logistic())
    norm_bound: Numeric = number(above=0, default=5.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    ridge: Numeric = number(above=0, default=1.0)

    @property
    def reward_range(self) -> tuple[float, float]:
        return self.link.reward_range

    def num_targets(self, spec: Spec) -> int:
        return 1

    @property
    def step_size(self) -> Numeric:
        return 1 + self.link.self_concordance * self.norm_bound

    def absorbed(self, gram: Array, cross: Array, episode: Episode) -> tuple[Array, Array]:
        numbers = self.step_size, self.norm_bound, 1.0
        gram, theta, _ = mirror_step(self.link, gram, cross, episode.features, episode.rewards, *numbers)
        return gram, matvec(gram, theta)[..., None]

    def radius(self, information: Array, failure: Array, state: EllipsoidState) -> Array:
        xp = namespace(information)
        return descent_radius(information, failure, self.step_size, self.norm_bound, state.ridge, xp)
