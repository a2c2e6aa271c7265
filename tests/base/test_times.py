"""Durations and moments, as people write them."""

import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from driftwise.base import times
from driftwise.base.times import to_seconds, to_timestamp, to_timestamps

DURATIONS = {"90s": 90, "250 ms": 0.25, "15min": 900, "15 mins": 900, "1 minute": 60, "6h": 21600}
DURATIONS |= {"1.5 hours": 5400, "2 days": 172800, " .5 D ": 43200, "1 week": 604800}
DURATIONS |= {timedelta(hours=6): 21600, 30: 30, np.float32(0.5): 0.5}


@pytest.mark.parametrize(("duration", "seconds"), DURATIONS.items())
def test_a_duration_is_seconds_a_timedelta_or_a_number_with_a_unit(duration, seconds):
    assert to_seconds("half_life", duration) == seconds
    assert to_seconds("half_life", [duration, "1h"]) == (seconds, 3600)


@pytest.mark.parametrize(
    "duration",
    ["", "6", "h", "6 fortnights", "-6h", "0s", "1m", "1e3s", "6h 30min", 0, -1, None, True, np.nan],
)
def test_what_is_no_duration_gets_one_sentence(duration):
    sentence = (
        f"half_life must be a duration: seconds, a timedelta, or text such as '90s', .*, got {duration!r}"
    )
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        to_seconds("half_life", duration)


def test_a_moment_is_seconds_since_1970_or_a_datetime_whatever_its_zone(monkeypatch):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    elsewhere = noon.astimezone(timezone(timedelta(hours=5)))
    local = noon.astimezone().replace(tzinfo=None)
    for moment in (noon, elsewhere, local, np.datetime64("2026-01-01T12:00"), 1767268800, 1767268800.0):
        assert to_timestamp("time", moment) == 1767268800
    monkeypatch.setattr(times.clock, "time", lambda: 17.5)
    assert to_timestamp("time", None) == 17.5


def test_many_moments_are_an_array_of_either_kind():
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]")
    expected = [1767225600, 1767312000]
    dates = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2)]
    for given in (days, dates, expected, np.array(expected, dtype=np.int64)):
        assert to_timestamps("time", given, (2,)).tolist() == expected
    with pytest.raises(ValueError, match=r"^time must have shape \(3\), got \(2,\)$"):
        to_timestamps("time", days, (3,))


@pytest.mark.parametrize(
    "moment", ["noon", 1.8e12, np.nan, -np.inf, True, [dict()], np.datetime64("NaT", "s"), pd.NaT]
)
def test_what_is_no_moment_gets_one_sentence(moment):
    """1.8e12 is today in milliseconds."""
    sentence = (
        f"^time must be seconds since 1970, within ±1e\\+11, or a datetime, got {re.escape(repr(moment))}$"
    )
    with pytest.raises(ValueError, match=sentence):
        to_timestamp("time", moment)
