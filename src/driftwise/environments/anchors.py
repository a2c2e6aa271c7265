"""Checks that makers share: of a drift whose anchors are few, and of a number for each anchor."""

from __future__ import annotations

from typing import Any

from driftwise.base.validation import require_numeric
from driftwise.environments.drift import Drift, checked_drift


def limited_drift(drift: Drift | None, at_most: int, reason: str) -> Drift:
    """The drift a maker was given, if it mixes at most so many anchors; none given is no drift."""
    drift = checked_drift(drift)
    if drift.num_anchors > at_most:
        raise ValueError(f"drift must have at most {at_most} anchors, {reason}, got {drift!r}")
    return drift


def anchor_numbers(
    name: str, values: Any, drift: Drift | None, **bounds: Any
) -> tuple[tuple[float, ...], Drift]:
    """The number within bounds of each of the drift's anchors, the first of `values`, and the drift."""
    numbers = require_numeric(name, values, **bounds)
    if not isinstance(numbers, tuple) or isinstance(numbers[0], tuple):
        raise ValueError(f"{name} must be a list of numbers, one for each anchor, got {values!r}")
    drift = limited_drift(drift, len(numbers), f"one for each of {name}")
    return numbers[: drift.num_anchors], drift
