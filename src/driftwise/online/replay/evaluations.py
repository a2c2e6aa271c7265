"""Estimates of one policy over the rows of a log, with all intervals, at the end of every window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.intervals import Interval, quantile
from driftwise.online.replay.confidence_sequences import (
    ConstancyTest,
    DriftBound,
    PlugInBound,
    TwoSided,
    asymptotic_half_width,
)
from driftwise.online.replay.estimates import Estimates, Event, Tally, WeightedMean
from driftwise.online.replay.logged_rows import LoggedRow, LoggedRows
from driftwise.online.replay.options import ReplaySchedule

Intervals = Mapping[str, Interval]  # by their kinds
_BURN_IN = 100  # events, whose variance decides where the asymptotic sequence is tightest


def pseudo_outcome(
    reward: float, arm: int, chances: np.ndarray, weights: np.ndarray, predicted: np.ndarray, k: float
) -> float:
    r"""Return an outcome of at least $-k$ whose mean is the value of the policy, for a reward in [0, 1].

    $$\varphi = \rho(a)(r - \bar q(a)) + \sum_b h(b)\rho(b)\bar q(b), \qquad
      \bar q(b) = \min\{q(b), k/\rho(b)\},$$

    with the logged `chances` h and the `weights` ρ of all arms. Where weights are clipped, or the log never
    takes an arm of the policy, the mean is the value less what is lost, so that lower bounds stay valid.
    """
    most = np.divide(k, weights, out=np.full(len(weights), np.inf), where=weights > 0)
    capped = np.minimum(predicted, most)
    return float(weights[arm] * (reward - capped[arm]) + (chances * weights) @ capped)


class _Intervals:
    """All intervals for one mean: `top` is 1 for a value, 0 for a difference, as in `TwoSided`."""

    def __init__(self, schedule: ReplaySchedule, *, top: float, k: float = 1.0) -> None:
        self._schedule, self._mean, self._tightest_at = schedule, WeightedMean(), np.nan
        scale = schedule.scale
        self._shift, self._unit = (top * scale.low, scale.width) if scale else (0.0, 1.0)
        bounds = {
            "running": DriftBound,
            "weighted": partial(DriftBound, rate=1 - 1 / schedule.memory),
            "plug_in": partial(PlugInBound, alpha=schedule.options.delta / 2),
        }
        self._sequences = {name: TwoSided(bound, scale=1 + k, top=top) for name, bound in bounds.items()}

    def add(self, term: float, outcomes: tuple[float, float] | None) -> None:
        """Take in a term of the doubly robust mean, and an outcome with its opposite, if there is a range."""
        self._mean.add(term)
        if self._mean.weight >= _BURN_IN and not self._tightest_at > 0:
            self._tightest_at = self._schedule.events * self._variance
        if outcomes is not None:
            for sequence in self._sequences.values():
                sequence.add(*outcomes)

    @property
    def _variance(self) -> float:
        return self._mean.weight * self._mean.estimate.error**2

    @property
    def intervals(self) -> dict[str, Interval]:
        """The intervals after all events so far, by name; some need the range of rewards."""
        estimate, delta = self._mean.estimate, self._schedule.options.delta
        count, value = self._mean.weight, estimate.value
        half_widths = {
            "normal": quantile(delta / 2) * estimate.error,
            "asymptotic": asymptotic_half_width(count, self._variance, self._tightest_at, delta),
        }
        intervals = {name: Interval.around(value, half) for name, half in half_widths.items()}
        if self._schedule.scale is not None:
            for name, sequence in self._sequences.items():
                alpha = delta / self._schedule.looks if name == "weighted" else delta
                intervals[name] = Interval(*(self._shift + self._unit * end for end in sequence.at(alpha)))
        return intervals


def difference_outcomes(event: Event, other: Event) -> tuple[float, float] | None:
    r"""Return an outcome of at least −1 whose mean is the difference of two values, and its opposite.

    $$\theta = \rho^1r - 1 + \rho^2(1 - r).$$
    """
    if event.scaled is None:
        return None
    reward, missed = event.scaled, 1 - event.scaled
    weight, other_weight = event.weight, other.weight
    return weight * reward - 1 + other_weight * missed, other_weight * reward - 1 + weight * missed


class Window(NamedTuple):
    """Estimates after `row` usable rows, over the last window and over all."""

    row: int
    window: Estimates
    so_far: Estimates
    value: Intervals  # for the policy's value, over all
    differences: Mapping[str, Intervals]  # to other policies, by their names

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return self._asdict() | {"window": self.window.to_json(), "so_far": self.so_far.to_json()}


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
        fields = {name: value for name, value in vars(self).items() if name != "windows"}
        last = {"value": self.value, "differences": self.differences, "final": self.final.to_json()}
        return fields | last | {"windows": [window.to_json() for window in self.windows]}


class Evaluator:
    """Running sums of one policy."""

    def __init__(
        self, schedule: ReplaySchedule, rows: LoggedRows, others: tuple[str, ...], *, k: float
    ) -> None:
        self._so_far, self._window, self._windows = Tally(), Tally(), list[Window]()
        self._value = _Intervals(schedule, top=1.0, k=k)
        self._differences = {name: _Intervals(schedule, top=0.0) for name in others}
        self._constancy = ConstancyTest(schedule.options.delta)
        self._all_rows, self._events, self._unsupported = rows, 0, 0.0
        self._rows, self._shares, self._weights, self._rewards = np.zeros((4, len(rows.actions)))

    def add(self, event: Event, others: Mapping[str, Event], row: LoggedRow) -> None:
        """Take in a row, as this policy's estimators and those of others see it."""
        self._events += 1
        self._so_far.add(event)
        self._window.add(event)
        self._value.add(event.doubly_robust, event.outcomes)
        for name, inference in self._differences.items():
            other = others[name]
            inference.add(event.doubly_robust - other.doubly_robust, difference_outcomes(event, other))
        if event.scaled is not None:
            self._constancy.add(event.weight * event.scaled, event.weight * (1 - event.scaled))
        arm = row.numbers[row.arm]
        self._shares[row.numbers] += event.chances
        self._rows[arm] += 1
        self._weights[arm] += event.weight
        self._rewards[arm] += event.weight * event.reward
        if row.chances is not None:
            self._unsupported += float(event.chances[row.chances == 0].sum())

    def end_window(self, row: int) -> None:
        """Keep the estimates after so many rows, and begin a window."""
        differences = {name: difference.intervals for name, difference in self._differences.items()}
        estimates = self._window.estimates, self._so_far.estimates
        self._windows.append(Window(row, *estimates, self._value.intervals, differences))
        self._window = Tally()

    def evaluation(self, algorithm: str, parameters: Mapping[str, Any], learnt: int) -> PolicyEvaluation:
        """Return all estimates."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self._shares / self._events, self._weights / self._rows, self._rewards / self._weights
        columns = self._rows.astype(int).tolist(), *(column.tolist() for column in means)
        summaries = map(ActionSummary._make, zip(*columns, strict=True))
        actions = dict(zip(self._all_rows.actions, summaries, strict=True))
        unsupported = self._unsupported / self._events if self._all_rows.has_chances else None
        changed_by, windows = self._constancy.changed_by, tuple(self._windows)
        return PolicyEvaluation(algorithm, parameters, learnt, unsupported, changed_by, actions, windows)
