"""Tests of a change with a promise: where nothing changes, no alarm with probability 1 − δ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import after, identity_like, namespace, spd_inverse, spd_root
from driftwise.base.part import count, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.cover import covering_rows
from driftwise.parts.detectors import GlrState, split_ratios
from driftwise.parts.regression import quadratic
from driftwise.theory.confidence import ellipsoid_radius
from driftwise.theory.detection import means_threshold

COIN = 0.5  # the noise of what is 0 or 1


class Finding(NamedTuple):
    """What a test says of an episode."""

    alarm: Array  # whether there was a change
    windows: Array  # [W] whether it shows in each window that the test looks at, from the shortest on
    over: Array  # [W] whether the window ends with this episode, and another begins


class ChangeTest(ABC):
    """Watches whole episodes, says what should be played to find changes, and when there was one."""

    @property
    def num_windows(self) -> int:
        """W."""
        return 0

    @abstractmethod
    def init(self, spec: Spec, like: Array) -> Any:
        """Before anything was seen, in the array library and the precision of `like`.

        `again()` of any state is one after an alarm: nothing seen, and as much of δ left as there is.
        """

    @abstractmethod
    def worth(self, state: Any, features: FeatureTable) -> Array:
        """How much every pair has to teach, `[P, H, N]`: by force the best are played, at one of P places."""

    @abstractmethod
    def observe(
        self, state: Any, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[Any, Finding]:
        """The state after an episode, and what it shows. What it is given stays as it is."""


class MeansState(NamedTuple):
    """Sums of rewards of every covering arm, from forced plays."""

    arms: GlrState  # each field with a leading axis of d
    epoch: Array  # from 1

    def again(self) -> MeansState:
        return MeansState(GlrState(*(0 * each for each in self.arms)), self.epoch + 1)


@part
class MeansTest(ChangeTest):
    r"""The likelihood ratio of a changed mean for each arm of a covering set, of forced plays alone.

    An arm's $n$-th forced play raises an alarm if, for a split after the first $s$ of them,

    $$\frac{s(n-s)}{2\sigma^2n}(\hat\mu_{1:s} - \hat\mu_{s+1:n})^2
      \ge \log\frac{\pi^2\,m\,n^2}{3\delta_k}, \qquad \delta_k = \frac{6\delta}{\pi^2k^2d},$$

    with the number $m$ of splits looked at, fewer than `window`, and $k$ the epoch: by a union bound no false
    alarm is ever raised with probability $1-\delta$. It is for bandits whose arms are always the same. A play
    counts if the arm that was asked for was taken, and was not the only one, as what somebody else chose is.
    `driftwise.theory.detection.samples_until_found` says how many plays it takes to find a change within it.
    """

    noise_scale: Numeric = number(above=0, default=0.5)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    window: int = count(at_least=2, default=256)

    def init(self, spec: Spec, like: Array) -> MeansState:
        xp = namespace(like)
        none = xp.zeros(spec.dim, dtype=like.dtype)
        sums, counts = xp.zeros((spec.dim, self.window), dtype=like.dtype), xp.zeros(spec.dim, dtype=xp.int64)
        return MeansState(GlrState(sums, none, counts), xp.asarray(1, dtype=xp.int64))

    def worth(self, state: MeansState, features: FeatureTable) -> Array:
        xp, rows = namespace(features.values), features.values
        cover = covering_rows(rows, features.present)
        return xp.astype(xp.arange(len(rows)) == cover[:, None, None], rows.dtype)

    def observe(
        self, state: MeansState, features: FeatureTable, episode: Episode, forced: Array, place: Array
    ) -> tuple[MeansState, Finding]:
        xp, dtype, dim = namespace(state.epoch), state.arms.total.dtype, len(state.arms.total)
        num_arms = len(features.values) if features.present is None else xp.sum(features.present)
        asked = covering_rows(features.values, features.present)[place]
        forced = forced & (num_arms > 1) & (episode.actions[0] == asked)
        before = GlrState(*(each[place] for each in state.arms))
        seen, usable, ratio = split_ratios(before, episode.rewards[0], self.noise_scale)
        splits, plays, epoch = (
            xp.astype(each, dtype) for each in (xp.maximum(xp.sum(usable), 1), seen.count, state.epoch)
        )
        failure = math.log(math.pi**2 * dim / 6) + 2 * xp.log(epoch) - _log(self.delta, state.arms.total)
        alarm = forced & xp.any(usable & (ratio >= means_threshold(plays, splits, failure, xp)))
        here = (xp.arange(dim) == place) & forced
        arms = GlrState(
            xp.where(here[:, None], seen.sums, state.arms.sums),
            xp.where(here, seen.total, state.arms.total),
            xp.where(here, seen.count, state.arms.count),
        )
        none = xp.zeros(0, dtype=bool)
        return state._replace(arms=arms), Finding(alarm, none, none)


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


@part
class EllipsoidTest(ChangeTest):
    r"""Confidence ellipsoids of before and of since, for windows of all lengths: two may exclude each other.

    Since the last multiple of $2^j$ episodes after the restart there is a window, and what came before it is
    its prefix. With ridge regressions on both, an alarm is raised if for some $j$ and some row $a$

    $$|a^\top(\hat\theta_p - \hat\theta_w)| > \beta_p\|a\|_{V_p^{-1}} + \beta_w\|a\|_{V_w^{-1}}, \qquad
      \beta = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta_i} + \log\tfrac{\det V}{\lambda^d}}, \qquad
      \delta_i = \frac{6\delta}{\pi^2i^2}$$

    for the $i$-th regression that was begun. As long as nothing changes both contain the parameter, in all
    rounds with probability $1-\delta$, whatever was played and why. By force the widest row is played.

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

    @property
    def num_windows(self) -> int:
        return self.num_levels

    def init(self, spec: Spec, like: Array) -> EllipsoidState:
        xp, lead = namespace(like), (2 * self.num_levels + 1, spec.horizon, spec.dim)
        num_targets = 1 + (self.num_functions if spec.horizon > 1 else 0)
        least = math.sqrt(np.finfo(like.dtype).eps) * 2**self.num_levels
        none, ridge = xp.asarray(0, dtype=xp.int64), xp.asarray(self.ridge, dtype=like.dtype)
        return EllipsoidState(
            gram=xp.zeros((*lead, spec.dim), dtype=like.dtype),
            cross=xp.zeros((*lead, num_targets), dtype=like.dtype),
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
        xp, phi = namespace(state.gram), episode.features
        targets = self._targets(episode, state.cross.shape[-1] - 1)
        goes_on = xp.astype(xp.arange(2 * self.num_levels + 1) >= self.num_levels, phi.dtype)
        goes_on = goes_on[:, None, None, None]  # what came before a window stays as it is
        learnt = state._replace(
            gram=state.gram + goes_on * phi[:, :, None] * phi[:, None, :],
            cross=state.cross + goes_on * phi[:, :, None] * targets[:, None, :],
            age=state.age + 1,
        )
        over = learnt.age % xp.asarray([1 << j for j in range(self.num_levels)]) == 0
        excluded, inverse = self._excluded(learnt, features)
        return learnt._replace(inverse=inverse).anew(over), Finding(xp.any(excluded), excluded, over)

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
        num_targets = cross.shape[-1]
        shares = math.pi**2 / 6 * cross.shape[1] * num_targets
        failure = math.log(shares) + 2 * xp.log(xp.astype(orders, dtype)) - _log(self.delta, cross)
        noise = xp.where(xp.arange(num_targets) == 0, self.noise_scale, COIN)
        radius = ellipsoid_radius(
            information[..., None],
            failure[:, None, None],
            noise_scale=noise,
            norm_bound=self.norm_bound,
            ridge=state.ridge,
            xp=xp,
        )  # [2L, H, 1+J]
        squared = quadratic(features, inverse)
        widths = radius[..., None] * xp.sqrt(xp.maximum(squared, xp.zeros_like(squared)))[:, :, None, :]
        theta = inverse @ cross  # [2L, H, d, 1+J]
        gaps = xp.matrix_transpose(theta[:num] - theta[num:]) @ features.values.T
        excluded = xp.any(abs(gaps) > widths[:num] + widths[num:], axis=(1, 2, 3))
        return excluded, inverses[-1]


def _log(value: Numeric, like: Array) -> Array:
    xp = namespace(like)
    return xp.log(xp.asarray(value, dtype=like.dtype))
