"""Estimates of a policy's value from events of another one, kept as running sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

NORMAL_95 = 1.959963984540054
ENOUGH = 2 - 1e-9  # events that an error can be told from, up to rounding


class Estimate(NamedTuple):
    """A value and its standard error, NaN where there is too little to tell."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """The lower end of the normal 95 % interval."""
        return self.value - NORMAL_95 * self.error

    @property
    def high(self) -> float:
        return self.value + NORMAL_95 * self.error

    def to_json(self) -> dict[str, float | None]:
        numbers = {"value": self.value, "error": self.error, "low": self.low, "high": self.high}
        return {name: _or_none(number) for name, number in numbers.items()}


def _or_none(number: float) -> float | None:
    return number if math.isfinite(number) else None


class Estimates(NamedTuple):
    """What is known after some events."""

    events: int
    accepted: int
    effective: float  # (Σρ)²/Σρ², the number of events of the policy itself that would say as much
    mean_weight: float  # Σρ/n, which is 1 up to chance if propensities are right
    values: dict[str, Estimate]  # by the method's name

    def to_json(self) -> dict[str, Any]:
        values = {name: estimate.to_json() for name, estimate in self.values.items()}
        return {
            "events": self.events,
            "accepted": self.accepted,
            "effective": _or_none(self.effective),
            "mean_weight": _or_none(self.mean_weight),
            "values": values,
        }


class Event(NamedTuple):
    """What the estimators need of one logged decision."""

    reward: float
    weight: float  # ρ = π_t(a | x)/p(a | x)
    expected: float  # Σ_a π_t(a | x) q(x, a) of the reward model
    predicted: float  # q(x, a) of the logged action
    accepted: bool


@dataclass
class Mean:
    """A running mean and its error, by Welford's recursion."""

    count: int = 0
    mean: float = math.nan
    squares: float = 0.0

    def add(self, value: float) -> None:
        self.count += 1
        before = 0.0 if self.count == 1 else self.mean
        self.mean = before + (value - before) / self.count
        if self.count > 1:
            self.squares += (value - before) * (value - self.mean)

    @property
    def estimate(self) -> Estimate:
        if self.count < 2:
            return Estimate(self.mean, math.nan)
        return Estimate(self.mean, math.sqrt(self.squares / (self.count - 1) / self.count))


@dataclass
class WeightedMean:
    """`Σρr/Σρ`, with the error of a ratio; rewards are taken from `centre`.

    The error is `√(n/(n−1) Σρ²(r − v)²)/Σρ` with the effective number `n = (Σρ)²/Σρ²`: the usual one where
    weights are equal, and NaN where n is below 2, since one event decides and nothing is known of its spread.
    """

    centre: float
    weights: float = 0.0
    weights_sq: float = 0.0
    first: float = 0.0  # Σρr
    mixed: float = 0.0  # Σρ²r
    second: float = 0.0  # Σρ²r²

    def add(self, value: float, weight: float) -> None:
        value -= self.centre
        self.weights += weight
        self.weights_sq += weight * weight
        self.first += weight * value
        self.mixed += weight * weight * value
        self.second += weight * weight * value * value

    @property
    def effective(self) -> float:
        return self.weights / self.weights_sq * self.weights if self.weights_sq else 0.0

    @property
    def estimate(self) -> Estimate:
        if not self.weights:
            return Estimate(math.nan, math.nan)
        mean = self.first / self.weights
        squares = max(self.second - 2 * mean * self.mixed + mean * mean * self.weights_sq, 0.0)
        if self.effective < ENOUGH:
            return Estimate(self.centre + mean, math.nan)
        correction = self.effective / (self.effective - 1)
        return Estimate(self.centre + mean, math.sqrt(correction * squares) / self.weights)


@dataclass
class Tally:
    """All estimators over the same events."""

    centre: float  # a reward in the middle of all, against cancellation
    logged: Mean = field(default_factory=Mean)
    replay: Mean = field(default_factory=Mean)
    ips: Mean = field(default_factory=Mean)
    dr: Mean = field(default_factory=Mean)
    snips: WeightedMean = field(init=False)

    def __post_init__(self) -> None:
        self.snips = WeightedMean(self.centre)

    def add(self, event: Event) -> None:
        self.logged.add(event.reward)
        if event.accepted:
            self.replay.add(event.reward)
        self.ips.add(event.weight * event.reward)
        self.snips.add(event.reward, event.weight)
        self.dr.add(event.expected + event.weight * (event.reward - event.predicted))

    @property
    def estimates(self) -> Estimates:
        parts = {
            "logged": self.logged,
            "replay": self.replay,
            "IPS": self.ips,
            "SNIPS": self.snips,
            "DR": self.dr,
        }
        values = {name: part.estimate for name, part in parts.items()}
        mean_weight = self.snips.weights / max(self.logged.count, 1)
        return Estimates(self.logged.count, self.replay.count, self.snips.effective, mean_weight, values)
