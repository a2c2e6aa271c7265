"""Samples: checks of them, and differences that are none.

Sums in another order, or another machine, change the last digits.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, require_array, require_number

ROUNDING = 1e-9  # of the largest number around: a difference up to that is none


def rounding(*arrays: np.ndarray, axis: int | None = None) -> np.ndarray:
    """The largest difference between numbers of these arrays that is none."""
    return ROUNDING * functools.reduce(np.maximum, (np.abs(array).max(axis=axis) for array in arrays))


def difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`first − second` of samples `[runs, ...]`; zero where that is rounding of the largest over the runs."""
    found = first - second
    return np.where(np.abs(found) <= rounding(first, second, axis=0), 0.0, found)


def equality(first: np.ndarray, second: np.ndarray) -> str | None:
    """`"identical"` to the last bit, the same but for `"rounding"`, or neither."""
    if first.shape != second.shape:
        return None
    if np.array_equal(first, second):
        return "identical"
    return "rounding" if (np.abs(first - second) <= rounding(first, second)).all() else None


def lowest(values: np.ndarray) -> np.ndarray:
    """Whether each value is the lowest; several are where they differ by rounding alone."""
    return values <= values.min() + rounding(values)


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
