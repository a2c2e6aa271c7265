"""Estimates of a policy's value from the events of another one, with all intervals, as running sums."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.online import intervals as sequences
from driftwise.online.intervals import NORMAL, Interval
from driftwise.online.replay.logged_rows import LoggedRow, LoggedRows
from driftwise.online.replay.options import ReplaySchedule

Intervals = Mapping[str, Interval]  # by their kinds
_NORMAL_95 = 1.959963984540054
_BURN_IN = 100  # events, whose variance decides where the asymptotic sequence is tightest


class Estimate(NamedTuple):
    """A value and its standard error, NaN where there is too little to tell."""

    value: float
    error: float

    @property
    def interval(self) -> Interval:
        """The value with its normal 95 % interval."""
        return Interval.around(self.value, _NORMAL_95 * self.error)


class Estimates(NamedTuple):
    """All estimates after some events."""

    events: int
    accepted: int
    effective: float  # (Σρ)²/Σρ², the number of events of the policy itself that would say as much
    mean_weight: float  # Σρ/n before clipping, which is 1 up to chance if propensities are right
    clipped: int  # events whose weight was clipped
    clipped_weight: float  # the part of the mean weight that was clipped
    values: dict[str, Estimate]  # by the method's name

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values, with the normal intervals."""
        values = {name: value._asdict() | value.interval._asdict() for name, value in self.values.items()}
        return self._asdict() | {"values": values}


class Event(NamedTuple):
    """One logged decision, as the estimators of a policy see it."""

    reward: float
    weight: float  # ρ = π_t(a | x)/p(a | x), clipped
    excess: float  # what was clipped off it
    doubly_robust: float  # Σ_b π_t(b | x) q(x, b) + ρ (r − q(x, a)) with the reward model q
    accepted: bool
    chances: np.ndarray  # [num_arms] π_t(· | x)
    gains: tuple[float, float] | None  # ρ r and ρ (1 − r) of the reward scaled to [0, 1], if there is a range
    outcomes: tuple[float, float] | None  # with the means ν and 1 − ν of the scaled rewards: these, or with k


@dataclass
class WeightedMean:
    """A running mean `v = Σρr/Σρ` with its error, by a recursion like Welford's.

    The error is `√(n/(n−1) Σρ²(r − v)²)/Σρ` with the effective number `n = (Σρ)²/Σρ²`: the usual one where
    weights are equal, and NaN where n is below 2, since one event decides and nothing is known of its spread.
    """

    weight: float = 0.0  # Σρ
    weight_sq: float = 0.0  # Σρ²
    mean: float = math.nan
    balance: float = 0.0  # Σρ²(r − v)
    squares: float = 0.0  # Σρ²(r − v)²

    def add(self, value: float, weight: float = 1.0) -> None:
        if not weight:
            return
        before = self.mean if self.weight else value
        self.weight += weight
        gap = value - before
        step = gap * weight / self.weight
        self.mean = before + step
        self.squares += step * (step * self.weight_sq - 2 * self.balance)
        self.balance -= step * self.weight_sq
        left, square = gap - step, weight * weight
        self.weight_sq += square
        self.balance += square * left
        self.squares += square * left * left

    @property
    def effective(self) -> float:
        """The effective number of values, `(Σρ)²/Σρ²`."""
        return self.weight / self.weight_sq * self.weight if self.weight_sq else 0.0

    @property
    def estimate(self) -> Estimate:
        if self.effective < 2 - 1e-9:  # up to rounding
            return Estimate(self.mean, math.nan)
        correction = self.effective / (self.effective - 1)
        return Estimate(self.mean, math.sqrt(correction * max(self.squares, 0.0)) / self.weight)


@dataclass
class Tally:
    """All estimators over the same events."""

    replay: WeightedMean = field(default_factory=WeightedMean)
    ips: WeightedMean = field(default_factory=WeightedMean)
    snips: WeightedMean = field(default_factory=WeightedMean)
    dr: WeightedMean = field(default_factory=WeightedMean)
    events: int = 0
    clipped: int = 0
    excess: float = 0.0  # what was clipped off all weights

    def add(self, event: Event) -> None:
        if event.accepted:
            self.replay.add(event.reward)
        self.ips.add(event.weight * event.reward)
        self.snips.add(event.reward, event.weight)
        self.dr.add(event.doubly_robust)
        self.events += 1
        self.clipped += event.excess > 0
        self.excess += event.excess

    @property
    def estimates(self) -> Estimates:
        count, accepted = max(self.events, 1), round(self.replay.weight)
        means = {"replay": self.replay, "IPS": self.ips, "SNIPS": self.snips, "DR": self.dr}
        values = {name: mean.estimate for name, mean in means.items()}
        weights = self.snips.effective, (self.snips.weight + self.excess) / count
        return Estimates(self.events, accepted, *weights, self.clipped, self.excess / count, values)


class _Intervals:
    """All intervals for one mean: `top` is 1 for a value, 0 for a difference, as in `TwoSided`."""

    def __init__(self, schedule: ReplaySchedule, *, top: float, k: float = 1.0) -> None:
        self._schedule, self._mean, self._tightest_at = schedule, WeightedMean(), np.nan
        self._deviations = NORMAL.inv_cdf(1 - schedule.options.delta / 2)  # of the normal interval
        low, high = schedule.options.reward_range or (0.0, 1.0)
        self._shift, self._unit = top * low, high - low
        weighted = partial(sequences.DriftBound, rate=1 - 1 / schedule.memory)
        plug_in = partial(sequences.PlugInBound, alpha=schedule.options.delta / 2)
        bounds = {"running": sequences.DriftBound, "weighted": weighted, "plug_in": plug_in}
        known = bounds.items() if schedule.options.reward_range else ()
        self._sequences = {name: sequences.TwoSided(bound, scale=1 + k, top=top) for name, bound in known}

    def add(self, term: float, outcomes: tuple[float, float] | None) -> None:
        """Take in a term of the doubly robust mean, and an outcome with its opposite, if there is a range."""
        self._mean.add(term)
        if self._mean.weight >= _BURN_IN and not self._tightest_at > 0:
            self._tightest_at = self._schedule.events * (self._mean.weight * self._mean.estimate.error**2)
        if outcomes is not None:
            for sequence in self._sequences.values():
                sequence.add(*outcomes)

    @property
    def intervals(self) -> dict[str, Interval]:
        """The intervals after all events so far, by name; some need the range of rewards."""
        (value, error), count, delta = self._mean.estimate, self._mean.weight, self._schedule.options.delta
        half_width = sequences.asymptotic_half_width(count, count * error**2, self._tightest_at, delta)
        normal = Interval.around(value, self._deviations * error)
        intervals = {"normal": normal, "asymptotic": Interval.around(value, half_width)}
        for name, sequence in self._sequences.items():
            ends = sequence.at(delta / (self._schedule.looks if name == "weighted" else 1))
            intervals[name] = Interval(*(self._shift + self._unit * end for end in ends))
        return intervals


class Window(NamedTuple):
    """Estimates after `row` usable rows, over the last window and over all."""

    row: int
    window: Estimates
    so_far: Estimates
    value: Intervals  # for the policy's value, over all
    differences: Mapping[str, Intervals]  # to other policies, by their names


class ActionSummary(NamedTuple):
    """One action of the log, with the probabilities and weights that a policy gives it."""

    rows: int  # in which it was logged
    share: float  # the mean of its probabilities π_t(a | x); for the logged policy its share of the rows
    weight: float  # the mean of ρ over its rows
    reward: float  # the mean of its rewards, weighted by ρ


@dataclass(frozen=True)
class PolicyEvaluation:
    """Estimates of one policy."""

    algorithm: str
    parameters: Mapping[str, Any]
    learnt: int  # rows that the agent learnt from
    unsupported: float | None  # the share of its choices that had no chance in the log, if that is known
    changed_by: int | None  # estimated rows after which no constant value was left, if that happened
    actions: Mapping[str, ActionSummary]
    windows: tuple[Window, ...]

    @property
    def final(self) -> Estimates:
        """The estimates over all rows."""
        return self.windows[-1].so_far

    @property
    def value(self) -> Intervals:
        """Intervals for the value over all rows, by their kinds."""
        return self.windows[-1].value

    @property
    def differences(self) -> Mapping[str, Intervals]:
        """Intervals for the differences to other policies, over all rows."""
        return self.windows[-1].differences

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        last = {"value": self.value, "differences": self.differences, "final": self.final.to_json()}
        windows = [
            window._asdict() | {"window": window.window.to_json(), "so_far": window.so_far.to_json()}
            for window in self.windows
        ]
        facts = {name: value for name, value in vars(self).items() if name != "windows"}
        return facts | last | {"windows": windows}


class Evaluator:
    """Running sums of one policy."""

    def __init__(self, schedule: ReplaySchedule, rows: LoggedRows, others: tuple[str, ...], k: float) -> None:
        self._so_far, self._window, self._windows = Tally(), Tally(), list[Window]()
        self._value = _Intervals(schedule, top=1.0, k=k)
        self._differences = {name: _Intervals(schedule, top=0.0) for name in others}
        self._constancy = sequences.ConstancyTest(schedule.options.delta)
        self._schedule, self._actions = schedule, rows.numbers
        self._unsupported: float | None = None
        self._shares = np.zeros(len(rows.numbers))  # Σπ_t(a | x)
        self._logged = np.zeros((3, len(rows.numbers)))  # of the rows with an action: their number, Σρ, Σρr

    def add(self, event: Event, others: Mapping[str, Event], row: LoggedRow, number: int) -> None:
        """Take in the row of that number, as this policy's estimators and those of others see it."""
        self._so_far.add(event)
        self._window.add(event)
        self._value.add(event.doubly_robust, event.outcomes)
        for name, difference in self._differences.items():
            other, outcomes = others[name], None
            if event.gains is not None and other.gains is not None:
                (gain, missed), (other_gain, other_missed) = event.gains, other.gains
                outcomes = gain - 1 + other_missed, other_gain - 1 + missed  # ρ₁r − 1 + ρ₂(1 − r) ≥ −1
            difference.add(event.doubly_robust - other.doubly_robust, outcomes)
        if event.gains is not None:
            self._constancy.add(*event.gains)
        self._shares[row.numbers] += event.chances
        self._logged[:, row.numbers[row.arm]] += 1, event.weight, event.weight * event.reward
        if row.chances is not None:
            self._unsupported = float(event.chances[row.chances == 0].sum()) + (self._unsupported or 0.0)
        if number % self._schedule.every == 0 or number == self._schedule.rows:
            differences = {name: difference.intervals for name, difference in self._differences.items()}
            estimates = self._window.estimates, self._so_far.estimates
            self._windows.append(Window(number, *estimates, self._value.intervals, differences))
            self._window = Tally()

    def evaluation(self, algorithm: str, parameters: Mapping[str, Any], learnt: int) -> PolicyEvaluation:
        events, (rows, weights, rewards) = self._windows[-1].so_far.events, self._logged
        with np.errstate(invalid="ignore", divide="ignore"):
            columns = rows.astype(int), self._shares / events, weights / rows, rewards / weights
        summaries = map(ActionSummary, *(column.tolist() for column in columns))
        actions = dict(zip(self._actions, summaries, strict=True))
        unsupported = None if self._unsupported is None else self._unsupported / events
        changed_by, windows = self._constancy.changed_by, tuple(self._windows)
        return PolicyEvaluation(algorithm, parameters, learnt, unsupported, changed_by, actions, windows)
