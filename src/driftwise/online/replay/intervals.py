"""Outcomes of events whose means are a policy's value, or a difference of two, and all intervals for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from driftwise.online.replay.estimates import Event, WeightedMean
from driftwise.online.replay.sequences import (
    DriftBound,
    Interval,
    PlugInBound,
    TwoSided,
    asymptotic_half_width,
)

BURN_IN = 100  # events; their variance, once there is some, decides where the asymptotic sequence is tightest


@dataclass(frozen=True)
class Range:
    """The rewards that there can be, which sequences see in [0, 1]."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def scaled(self, reward: float) -> float:
        """A reward in [0, 1]."""
        if not self.low <= reward <= self.high:
            expected = f"rewards of the log must lie in reward_range, from {self.low:g} to {self.high:g}"
            raise ValueError(f"{expected}, got {reward:g}")
        return (reward - self.low) / self.width


class Level(NamedTuple):
    """Numbers that all intervals of a replay share."""

    delta: float
    rate: float  # η of the exponentially weighted means
    looks: int  # fixed times at which they are looked at
    events: int  # that there will be
    range: Range | None
    k: float


def pseudo_outcome(
    reward: float, arm: int, chances: np.ndarray, weights: np.ndarray, predicted: np.ndarray, k: float
) -> float:
    r"""An outcome of at least $-k$ whose mean is the value of the policy, for a reward in [0, 1].

    $$\varphi = \rho(a)(r - \bar q(a)) + \sum_b h(b)\rho(b)\bar q(b), \qquad
      \bar q(b) = \min\{q(b), k/\rho(b)\},$$

    with the logged `chances` h and the `weights` ρ of all arms. Where weights are clipped, or the log never
    takes an arm of the policy, the mean is the value less what is lost, so that lower bounds stay valid.
    """
    most = np.divide(k, weights, out=np.full(len(weights), np.inf), where=weights > 0)
    capped = np.minimum(predicted, most)
    return float(weights[arm] * (reward - capped[arm]) + (chances * weights) @ capped)


class Inference:
    """All intervals for one mean: `top` is 1 for a value, 0 for a difference, as in `TwoSided`."""

    def __init__(self, level: Level, *, top: float) -> None:
        self._level, self._mean, self._tightest_at = level, WeightedMean(), np.nan
        self._shift, self._unit = (top * level.range.low, level.range.width) if level.range else (0.0, 1.0)
        scale = 1 + level.k if top else 2.0
        bounds = {
            "running": DriftBound,
            "weighted": partial(DriftBound, rate=level.rate),
            "plug_in": partial(PlugInBound, alpha=level.delta / 2),
        }
        self._sequences = {name: TwoSided(bound, scale=scale, top=top) for name, bound in bounds.items()}

    def add(self, term: float, outcomes: tuple[float, float] | None) -> None:
        """Take in a term of the doubly robust mean, and an outcome with its opposite, if there is a range."""
        self._mean.add(term)
        if self._mean.weight >= BURN_IN and not self._tightest_at > 0:
            self._tightest_at = self._level.events * self._variance
        if outcomes is not None:
            for sequence in self._sequences.values():
                sequence.add(*outcomes)

    @property
    def _variance(self) -> float:
        return self._mean.weight * self._mean.estimate.error**2

    @property
    def intervals(self) -> dict[str, Interval]:
        """The intervals after all events so far, by their names; some need the range."""
        estimate, level = self._mean.estimate, self._level
        width = asymptotic_half_width(self._mean.weight, self._variance, self._tightest_at, level.delta)
        around = {
            "normal": NormalDist().inv_cdf(1 - level.delta / 2) * estimate.error,
            "asymptotic": width,
        }
        value = estimate.value
        found = {name: Interval(value, value - half, value + half) for name, half in around.items()}
        if level.range is not None:
            for name, sequence in self._sequences.items():
                alpha = level.delta / level.looks if name == "weighted" else level.delta
                found[name] = Interval(*(self._shift + self._unit * each for each in sequence.at(alpha)))
        return found


def difference(event: Event, other: Event) -> tuple[float, float] | None:
    r"""An outcome of at least −1 whose mean is the difference of two policies' values, and its opposite.

    $$\theta = \rho^1r - 1 + \rho^2(1 - r).$$
    """
    if event.scaled is None:
        return None
    reward, missed = event.scaled, 1 - event.scaled
    own, its = event.weight, other.weight
    return own * reward - 1 + its * missed, its * reward - 1 + own * missed
