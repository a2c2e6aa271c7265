"""Durations and moments, as people write them."""

from __future__ import annotations

import contextlib
import re
import time as clock
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, as_array, require_array, require_numeric

Duration = float | str | timedelta
Moment = float | datetime
LATEST = 1e11  # seconds from 1970, some 3,000 years; in milliseconds today is beyond it
UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
WORDS = {"sec": "s", "second": "s", "min": "min", "minute": "min", "hour": "h", "day": "d", "week": "w"}
DURATION = "be a duration: seconds, a timedelta, or text such as '90s', '15min', '6h' or '2 days'"
MOMENT = f"be seconds since 1970, within ±{LATEST:g}, or a datetime"


def seconds_of(name: str, duration: Any) -> Any:
    """A positive duration in seconds, or a grid of them."""
    if isinstance(duration, (list, tuple)):
        return tuple(seconds_of(name, each) for each in duration)
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if isinstance(duration, str):
        found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", duration.lower())
        unit = "" if found is None else found[2]
        unit = WORDS.get(unit.removesuffix("s"), unit)
        seconds = float(found[1]) * UNITS[unit] if found is not None and unit in UNITS else None
    try:
        return require_numeric(name, seconds, above=0)
    except ArgumentError:
        raise ArgumentError(name, DURATION, duration) from None


def moment_of(name: str, moment: Any) -> float:
    """A moment in seconds since 1970; None is now, and a datetime without a time zone is local."""
    if moment is None:
        return clock.time()
    if type(moment) is float and -LATEST <= moment <= LATEST:  # the usual case
        return moment
    return moments_of(name, moment, ()).item()


def moments_of(name: str, moments: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Moments in seconds since 1970, of datetimes or numbers."""
    array = as_array(moments)
    if array.dtype.kind == "M":  # NumPy's own, which are UTC
        array = (array - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    elif array.dtype.kind == "O" and all(isinstance(each, datetime) for each in array.flat):
        with contextlib.suppress(ValueError, OverflowError, OSError):  # not a time, or one of another era
            array = np.array([each.timestamp() for each in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "iuf" or not (np.abs(array) <= LATEST).all():
        raise ArgumentError(name, MOMENT, moments)
    return require_array(name, array, shape)
