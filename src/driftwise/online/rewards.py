"""Rewards within the range that the caller says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from driftwise.base.validation import ArgumentError, require_number
from driftwise.online.limits import LARGEST_REWARD
from driftwise.online.summary import Gauge


class RewardRange:
    """The lowest and the highest reward that there can be, within the limits.

    Where nobody knows them and rewards are to be clipped, what is too far from its prediction is an outlier:
    it is moved to the farthest place that is none, as the gauge of errors has it.
    """

    def __init__(self, reward_range: Sequence[float], outside: Literal["refuse", "clip"]) -> None:
        low, high = reward_range
        self._low, self._high = max(low, -LARGEST_REWARD), min(high, LARGEST_REWARD)
        self._outside = outside
        self._finds_outliers = outside == "clip" and not any(map(math.isfinite, reward_range))

    def taken(self, reward: float, gauge: Gauge) -> float:
        """The reward as it is learnt from; one outside the range is counted, and refused or clipped."""
        low, high = self._low, self._high
        if low <= reward <= high:
            return reward
        gauge.outside += 1
        if self._outside == "refuse":
            raise ArgumentError("reward", f"lie in reward_range, from {low:g} to {high:g}", reward)
        return min(max(reward, low), high)

    def near(self, reward: float, predicted: float, gauge: Gauge) -> float:
        """The reward as it is learnt from; an outlier is counted and clipped where no range is known."""
        if not self._finds_outliers or abs(reward - predicted) <= (farthest := gauge.farthest):
            return reward
        gauge.outside += 1
        return predicted + math.copysign(farthest, reward - predicted)


def require_range(reward_range: Any) -> tuple[float, float]:
    """The lowest and the highest reward that there can be."""
    if not isinstance(reward_range, Sequence) or isinstance(reward_range, str) or len(reward_range) != 2:
        raise ArgumentError("reward_range", "be the lowest and the highest reward", reward_range)
    low, high = (
        float(require_number("reward_range", each, at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD))
        for each in reward_range
    )
    if not low < high:
        raise ArgumentError("reward_range", "be a lower number and a higher one", reward_range)
    return low, high
