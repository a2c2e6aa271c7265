"""Tests for a change with a guaranteed false-alarm probability of at most δ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from driftwise.base.arrays import expand_like, namespace
from driftwise.base.part import count, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.designs import covering_rows
from driftwise.parts.detectors import GlrState, split_ratios
from driftwise.theory.confidence import means_threshold


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
        failure = (
            math.log(math.pi**2 * dim / 6) + 2 * xp.log(epoch) - xp.log(xp.asarray(self.delta, dtype=dtype))
        )
        alarm = forced & xp.any(usable & (ratio >= means_threshold(plays, splits, failure, xp)))
        here, none = (xp.arange(dim) == place) & forced, xp.zeros(0, dtype=bool)
        arms = (
            xp.where(expand_like(here, old), new, old) for new, old in zip(updated, state.arms, strict=True)
        )
        return state._replace(arms=GlrState(*arms)), TestOutcome(alarm, none, none)
