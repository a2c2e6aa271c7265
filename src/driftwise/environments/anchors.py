"""Checks that makers share: of a drift whose anchors are few, and of a number for each anchor."""

from __future__ import annotations

from typing import Any

from driftwise.base.validation import ArgumentError, require_numeric
from driftwise.environments.drift import Drift, checked_drift


def limited_drift(drift: Drift | None, at_most: int, reason: str) -> Drift:
    """The drift a maker was given, if it mixes at most so many anchors; none given is no drift."""
    drift = checked_drift(drift)
    if drift.num_anchors > at_most:
        raise ArgumentError("drift", f"have at most {at_most} anchors, {reason}", drift)
    return drift


def anchor_numbers(
    name: str, values: Any, drift: Drift | None, **bounds: Any
) -> tuple[tuple[float, ...], Drift]:
    """The number within bounds of each of the drift's anchors, the first of `values`, and the drift."""
    numbers = require_numeric(name, values, **bounds)
    if not isinstance(numbers, tuple) or isinstance(numbers[0], tuple):
        raise ArgumentError(name, "be a list of numbers, one for each anchor", values)
    drift = limited_drift(drift, len(numbers), f"one for each of {name}")
    return numbers[: drift.num_anchors], drift
