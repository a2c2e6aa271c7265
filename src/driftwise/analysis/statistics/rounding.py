"""Differences that are none: sums in another order, or another machine, change the last digits."""

from __future__ import annotations

import functools

import numpy as np

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
