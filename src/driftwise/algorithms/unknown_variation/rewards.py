"""The range of rewards that tests and gains take as [0, 1]."""

from __future__ import annotations

import numpy as np

from driftwise.base.types import Array, Numeric
from driftwise.base.validation import ArgumentError


def to_unit(reward: Array, low: Numeric, high: Numeric) -> Array:
    """`low` and `high` are mapped to 0 and 1."""
    return (reward - low) / (high - low)


def require_range(low: Numeric, high: Numeric) -> None:
    """Both may be grids."""
    if np.any(np.less_equal(high, low)):
        raise ArgumentError("high", "be above low", high, f"low {low!r} and high {high!r}")
