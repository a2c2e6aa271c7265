"""Sums of one policy over the rows of a log, and what they come to at the end of every window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.replay.constancy import Constancy
from driftwise.online.replay.estimates import Estimates, Event, Tally
from driftwise.online.replay.intervals import Inference, Level, difference
from driftwise.online.replay.rows import Row
from driftwise.online.replay.sequences import Interval

Intervals = Mapping[str, Interval]  # by their kinds


class Window(NamedTuple):
    """Estimates after `row` usable rows, over the last window and over all."""

    row: int
    window: Estimates
    so_far: Estimates
    value: Intervals  # for the policy's value, over all
    differences: Mapping[str, Intervals]  # to other policies, by their names

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict() | {"window": self.window.to_json(), "so_far": self.so_far.to_json()}


class ActionView(NamedTuple):
    """One action of the log, and what a policy makes of it."""

    rows: int  # in which it was logged
    share: float  # the mean of its probabilities π_t(a | x); for the logged policy its share of the rows
    weight: float  # the mean of ρ over its rows
    reward: float  # the mean of its rewards, weighted by ρ


@dataclass(frozen=True)
class Evaluation:
    """Estimates of one policy."""

    algorithm: str
    parameters: Mapping[str, Any]
    learnt: int  # rows that the agent learnt from
    unsupported: float | None  # the share of its choices that had no chance in the log, if that is known
    changed_by: int | None  # estimated rows after which no constant value was left, if that happened
    actions: Mapping[str, ActionView]
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
        """Plain values."""
        own = {name: value for name, value in vars(self).items() if name != "windows"}
        last = {"value": self.value, "differences": self.differences, "final": self.final.to_json()}
        return own | last | {"windows": [each.to_json() for each in self.windows]}


class Evaluator:
    """Running sums of one policy."""

    def __init__(self, level: Level, others: tuple[str, ...], actions: tuple[str, ...]) -> None:
        self._so_far, self._window, self.windows = Tally(), Tally(), list[Window]()
        self._value = Inference(level, top=1.0)
        self._differences = {name: Inference(level, top=0.0) for name in others}
        self._constancy = Constancy(level.delta)
        self._names, self._events, self._unsupported = actions, 0, 0.0
        self._rows, self._shares, self._weights, self._rewards = np.zeros((4, len(actions)))

    def add(self, event: Event, others: Mapping[str, Event], row: Row) -> None:
        """Take in a row, as this policy's estimators and those of others see it."""
        self._events += 1
        self._so_far.add(event)
        self._window.add(event)
        self._value.add(event.doubly_robust, event.outcomes)
        for name, inference in self._differences.items():
            other = others[name]
            inference.add(event.doubly_robust - other.doubly_robust, difference(event, other))
        if event.scaled is not None:
            self._constancy.add(event.weight * event.scaled, event.weight * (1 - event.scaled))
        arm = row.places[row.arm]
        self._shares[row.places] += event.chances
        self._rows[arm] += 1
        self._weights[arm] += event.weight
        self._rewards[arm] += event.weight * event.reward
        if row.chances is not None:
            self._unsupported += float(event.chances[row.chances == 0].sum())

    def end_window(self, row: int) -> None:
        """Keep what the sums come to after so many rows, and begin a window."""
        differences = {name: each.intervals for name, each in self._differences.items()}
        estimates = self._window.estimates, self._so_far.estimates
        self.windows.append(Window(row, *estimates, self._value.intervals, differences))
        self._window = Tally()

    def evaluation(
        self, algorithm: str, parameters: Mapping[str, Any], learnt: int, *, all_chances: bool
    ) -> Evaluation:
        """All that was found."""
        with np.errstate(invalid="ignore", divide="ignore"):
            views = (
                self._rows.astype(int),
                self._shares / self._events,
                self._weights / self._rows,
                self._rewards / self._weights,
            )
        columns = (each.tolist() for each in views)
        actions = {name: ActionView(*each) for name, *each in zip(self._names, *columns, strict=True)}
        unsupported = self._unsupported / self._events if all_chances else None
        found = unsupported, self._constancy.changed_by, actions, tuple(self.windows)
        return Evaluation(algorithm, parameters, learnt, *found)
