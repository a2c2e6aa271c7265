"""Estimates of a policy's value from events of another one, kept as running sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.intervals import Interval

_NORMAL_95 = 1.959963984540054
_ENOUGH = 2 - 1e-9  # events from which an error can be estimated, up to rounding


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
        values = {name: value._asdict() | value.interval._asdict() for name, value in self.values.items()}
        return self._asdict() | {"values": values}


class Event(NamedTuple):
    """One logged decision, as the estimators of a policy see it."""

    reward: float
    weight: float  # ρ = π_t(a | x)/p(a | x), clipped
    excess: float  # what was clipped off it
    expected: float  # Σ_a π_t(a | x) q(x, a) of the reward model
    predicted: float  # q(x, a) of the logged action
    accepted: bool
    chances: np.ndarray  # [num_arms] π_t(· | x)
    scaled: float | None  # the reward in [0, 1], if its range is known
    outcomes: tuple[float, float] | None  # with the means ν and 1 − ν of the scaled rewards

    @property
    def doubly_robust(self) -> float:
        """`Σ_a π_t(a | x) q(x, a) + ρ (r − q(x, a))`."""
        return self.expected + self.weight * (self.reward - self.predicted)


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
        """Take in one value."""
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
        """The mean with its standard error."""
        if self.effective < _ENOUGH:
            return Estimate(self.mean, math.nan)
        correction = self.effective / (self.effective - 1)
        return Estimate(self.mean, math.sqrt(correction * max(self.squares, 0.0)) / self.weight)


class Tally:
    """All estimators over the same events."""

    def __init__(self) -> None:
        self._replay, self._ips, self._snips, self._dr = (WeightedMean() for _ in range(4))
        self._events, self._clipped, self._excess = 0, 0, 0.0

    def add(self, event: Event) -> None:
        """Take in one event."""
        if event.accepted:
            self._replay.add(event.reward)
        self._ips.add(event.weight * event.reward)
        self._snips.add(event.reward, event.weight)
        self._dr.add(event.doubly_robust)
        self._events += 1
        self._clipped += event.excess > 0
        self._excess += event.excess

    @property
    def estimates(self) -> Estimates:
        """The estimates from all events so far."""
        means = {"replay": self._replay, "IPS": self._ips, "SNIPS": self._snips, "DR": self._dr}
        count = max(self._events, 1)
        return Estimates(
            events=self._events,
            accepted=round(self._replay.weight),
            effective=self._snips.effective,
            mean_weight=(self._snips.weight + self._excess) / count,
            clipped=self._clipped,
            clipped_weight=self._excess / count,
            values={name: mean.estimate for name, mean in means.items()},
        )
