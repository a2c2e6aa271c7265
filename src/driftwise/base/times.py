"""Durations and moments in the forms that people write."""

import contextlib
import re
import time as clock
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, as_array, require_array, require_numeric

Duration = float | str | timedelta
Timestamp = float | datetime
LATEST_TIMESTAMP = 1e11  # seconds from 1970, some 3,000 years; in milliseconds today is beyond it
_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_WORDS = {"sec": "s", "second": "s", "min": "min", "minute": "min", "hour": "h", "day": "d", "week": "w"}
_DURATION = "be a duration: seconds, a timedelta, or text such as '90s', '15min', '6h' or '2 days'"
_TIMESTAMP = f"be seconds since 1970, within ±{LATEST_TIMESTAMP:g}, or a datetime"


def to_seconds(name: str, duration: Any) -> Any:
    """Return a positive duration in seconds, or a grid of them."""
    if isinstance(duration, (list, tuple)):
        return tuple(to_seconds(name, item) for item in duration)
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    if isinstance(duration, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([a-z]+)\s*", duration.lower())
        unit = "" if match is None else _WORDS.get(match[2].removesuffix("s"), match[2])
        seconds = float(match[1]) * _UNITS[unit] if match is not None and unit in _UNITS else None
    try:
        return require_numeric(name, seconds, above=0)
    except ArgumentError:
        raise ArgumentError(name, _DURATION, duration) from None


def to_timestamp(name: str, moment: Any) -> float:
    """Return a moment in seconds since 1970; None is now, and a datetime without a time zone is local."""
    if moment is None:
        return clock.time()
    if type(moment) is float and -LATEST_TIMESTAMP <= moment <= LATEST_TIMESTAMP:  # the usual case
        return moment
    return to_timestamps(name, moment, ()).item()


def to_timestamps(name: str, moments: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return moments in seconds since 1970, from datetimes or numbers."""
    array = as_array(moments)
    if array.dtype.kind == "M":  # NumPy's own, which are UTC
        array = (array - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    elif array.dtype.kind == "O" and all(isinstance(moment, datetime) for moment in array.flat):
        with contextlib.suppress(ValueError, OverflowError, OSError):  # not a time, or one out of range
            array = np.array([moment.timestamp() for moment in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "iuf" or not (np.abs(array) <= LATEST_TIMESTAMP).all():
        raise ArgumentError(name, _TIMESTAMP, moments)
    return require_array(name, array, shape)
