"""Tests of a change with a promise: where nothing changes, no alarm with probability 1 − δ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from driftwise.base.arrays import namespace
from driftwise.base.part import count, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Numeric, Spec
from driftwise.parts.cover import covering_rows
from driftwise.parts.detectors import GlrState, split_ratios
from driftwise.theory.detection import means_threshold


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

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward that its promise is for."""
        return -math.inf, math.inf

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
        failure = math.log(math.pi**2 * dim / 6) + 2 * xp.log(epoch) - log_of(self.delta, state.arms.total)
        alarm = forced & xp.any(usable & (ratio >= means_threshold(plays, splits, failure, xp)))
        here = (xp.arange(dim) == place) & forced
        arms = GlrState(
            xp.where(here[:, None], seen.sums, state.arms.sums),
            xp.where(here, seen.total, state.arms.total),
            xp.where(here, seen.count, state.arms.count),
        )
        none = xp.zeros(0, dtype=bool)
        return state._replace(arms=arms), Finding(alarm, none, none)


def log_of(value: Numeric, like: Array) -> Array:
    """The logarithm of a number, in the array library and the precision of `like`."""
    xp = namespace(like)
    return xp.log(xp.asarray(value, dtype=like.dtype))
