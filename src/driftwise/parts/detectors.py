"""Change detectors that trigger a restart: tests of a changed mean, and random restarts."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from driftwise.base.arrays import namespace
from driftwise.base.part import count, number, part
from driftwise.base.types import Array, Numeric


@runtime_checkable
class Detector(Protocol):
    """Detector of a change in a stream of one number per episode."""

    @property
    def events(self) -> tuple[str, ...]:
        """Names of the alarm counts in results."""
        ...

    def init(self, like: Array) -> Any:
        """Return the initial state, in the array library and precision of `like`."""

    def detect(self, state: Any, observed: Array, chance: Array) -> tuple[Any, Array]:
        """Return a new state after `observed`, and whether there is an alarm; `chance` is uniform."""
        ...


class GlrState(NamedTuple):
    """Prefix sums up to each of the most recent observations."""

    sums: Array  # [window] a ring: the sum of the first n observations is at n modulo the window
    total: Array
    count: Array


@part
class Glr:
    r"""The generalised likelihood ratio of a change in a mean, for noise of scale $\sigma$.

    After $n$ observations an alarm is raised if, for a split after the first $s$ of them,
    $$\frac{s(n-s)}{2\sigma^2 n}\,(\hat\mu_{1:s} - \hat\mu_{s+1:n})^2 \ge c\,\log\frac{3 n\sqrt n}{\delta}.$$
    Only splits among the last `window` observations are tested; all older ones count in $\hat\mu_{1:s}$. $c$
    is `threshold_scale`. Rewards in [0, 1] have $\sigma \le 1/2$. Besson, Kaufmann, Maillard & Seznec,
    "Efficient Change-Point Detection for Tackling Piecewise-Stationary Bandits", JMLR 2022, experiments.
    """

    events = ("alarms", "restarts")

    noise_scale: Numeric = number(above=0, default=0.5)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    threshold_scale: Numeric = number(above=0, default=1.0)
    window: int = count(at_least=2, default=256)

    def init(self, like: Array) -> GlrState:
        xp = namespace(like)
        zero = xp.asarray(0, dtype=like.dtype)
        return GlrState(xp.zeros(self.window, dtype=like.dtype), zero, xp.asarray(0, dtype=xp.int64))

    def detect(self, state: GlrState, observed: Array, chance: Array) -> tuple[GlrState, Array]:
        xp, dtype = namespace(state.sums), state.sums.dtype
        updated, usable, ratio = split_ratios(state, observed, self.noise_scale)
        log_odds = xp.log(xp.asarray(3 / self.delta, dtype=dtype))
        threshold = self.threshold_scale * (1.5 * xp.log(xp.astype(updated.count, dtype)) + log_odds)
        return updated, xp.any(usable & (ratio >= threshold))


def split_ratios(state: GlrState, observed: Array, noise_scale: Numeric) -> tuple[GlrState, Array, Array]:
    """Return the state after an observation, which splits `[window]` exist, and their likelihood ratios."""
    xp, dtype, window = namespace(state.sums), state.sums.dtype, len(state.sums)
    count, total = state.count + 1, state.total + observed
    slots = xp.arange(window)
    sums = xp.where(slots == count % window, total, state.sums)
    before = count - (count - slots) % window  # number of observations in each sum
    usable = (before > 0) & (before < count)
    first, number = xp.astype(xp.where(usable, before, 1), dtype), xp.astype(count, dtype)
    second = xp.where(usable, number - first, 1)
    gap = sums / first - (total - sums) / second
    return GlrState(sums, total, count), usable, first * second / (2 * noise_scale**2 * number) * gap**2


class CusumState(NamedTuple):
    """Reference mean and cumulative sums."""

    mean: Array
    count: Array
    up: Array
    down: Array


@part
class Cusum:
    r"""Two-sided cumulative sums of deviations from a mean.

    The first `warmup` observations give $\hat\mu$; from then on
    $$g^\pm \leftarrow \max\{0,\; g^\pm \pm (x - \hat\mu) - \epsilon\}, \qquad
      \text{alarm if } \max(g^+, g^-) \ge b,$$
    with $\epsilon$ = `slack`, half the smallest shift worth an alarm, and $b$ = `threshold`. Liu, Lee &
    Shroff, "A Change-Detection Based Framework for Piecewise-Stationary Multi-Armed Bandit Problem", 2018.
    """

    events = ("alarms", "restarts")

    warmup: Numeric = number(at_least=1, integer=True, default=50)
    slack: Numeric = number(at_least=0, default=0.1)
    threshold: Numeric = number(above=0, default=5.0)

    def init(self, like: Array) -> CusumState:
        xp = namespace(like)
        zero = xp.asarray(0, dtype=like.dtype)
        return CusumState(zero, xp.asarray(0, dtype=xp.int64), zero, zero)

    def detect(self, state: CusumState, observed: Array, chance: Array) -> tuple[CusumState, Array]:
        xp = namespace(observed)
        count, zero = state.count + 1, xp.zeros_like(observed)
        warm, above = state.count < self.warmup, observed - state.mean
        mean = xp.where(warm, state.mean + above / count, state.mean)
        up = xp.where(warm, zero, xp.maximum(zero, state.up + above - self.slack))
        down = xp.where(warm, zero, xp.maximum(zero, state.down - above - self.slack))
        return CusumState(mean, count, up, down), xp.maximum(up, down) >= self.threshold


@part
class RandomRestart:
    """An alarm in every episode with the same `probability`: the baseline for the timing of restarts."""

    events = ("restarts",)

    probability: Numeric = number(at_least=0, at_most=1)

    def init(self, like: Array) -> tuple[()]:
        return ()

    def detect(self, state: tuple[()], observed: Array, chance: Array) -> tuple[tuple[()], Array]:
        return state, chance < self.probability
