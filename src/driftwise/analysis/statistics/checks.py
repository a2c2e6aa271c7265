"""Checks that several statistics share."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, require_array, require_number


def require_axes(name: str, value: Any, last: str) -> np.ndarray:
    """A finite float64 array with at least one axis; `last` names the axis that must not be empty."""
    ndim = value.ndim if isinstance(value, np.ndarray) else np.array(value, dtype=object).ndim
    array = require_array(name, value, (None,) * max(ndim, 1))
    if array.shape[0 if last == "run" else -1] == 0:
        raise ArgumentError(name, f"have at least one {last}", array.shape, f"shape {array.shape}")
    return array


def require_runs(name: str, value: Any) -> np.ndarray:
    """Samples `[runs, ...]` of at least one run."""
    return require_axes(name, value, "run")


def require_curves(name: str, value: Any) -> np.ndarray:
    """Curves `[..., points]` of at least one point."""
    return require_axes(name, value, "point")


def require_level(level: Any) -> float:
    """A confidence level in (0, 1)."""
    level = require_number("level", level, above=0, at_most=1)
    if level == 1:
        raise ArgumentError("level", "be below 1", 1.0)
    return level


def require_lengths(lengths: Any, num_points: int) -> np.ndarray:
    """Positive numbers of episodes behind the points; one each where `None` is given."""
    if lengths is None:
        return np.ones(num_points)
    lengths = require_array("lengths", lengths, (num_points,))
    if (lengths <= 0).any():
        raise ArgumentError("lengths", "be positive", lengths, f"{lengths.min():g}")
    return lengths
