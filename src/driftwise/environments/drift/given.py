"""The drift that a maker of environments was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, require_kind, require_numeric
from driftwise.environments.drift.basic import Constant
from driftwise.environments.drift.curve import Drift


def checked_drift(drift: Drift | None, at_most: int | None = None, reason: str = "") -> Drift:
    """The drift a maker was given, if it mixes at most so many anchors; none given is no drift."""
    checked: Drift = require_kind("drift", Constant() if drift is None else drift, Drift)
    if at_most is not None and checked.num_anchors > at_most:
        raise ArgumentError("drift", f"have at most {at_most} anchors, {reason}", drift)
    return checked


def anchor_numbers(
    name: str, values: Any, drift: Drift | None, **bounds: Any
) -> tuple[tuple[float, ...], Drift]:
    """The number within bounds of each of the drift's anchors, the first of `values`, and the drift."""
    numbers = require_numeric(name, values, **bounds)
    if np.ndim(numbers) != 1:
        raise ArgumentError(name, "be a list of numbers, one for each anchor", values)
    drift = checked_drift(drift, len(numbers), f"one for each of {name}")
    return numbers[: drift.num_anchors], drift
