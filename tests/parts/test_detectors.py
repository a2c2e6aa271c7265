"""Detectors against their definitions: when they raise alarms, and how seldom without a reason."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.parts import Cusum, Detector, Glr, RandomRestart
from tests.reference import change_tests as textbook

LIKE = np.zeros(())
NO_CHANCE = np.asarray(0.5)
numbers = st.lists(st.integers(-30, 30).map(lambda n: n / 10), min_size=1, max_size=40)


def alarms(detector: Detector, seen: Sequence[float]) -> list[bool]:
    """After every observation, with no restart."""
    state, told = detector.init(LIKE), []
    for observed in np.asarray(seen, dtype=float):
        state, alarm = detector.detect(state, observed, NO_CHANCE)
        told.append(bool(alarm))
    return told


def first_alarm(detector: Detector, seen: Sequence[float]) -> int:
    """How many observations it took; one more than there are if there was no alarm."""
    return [*alarms(detector, seen), True].index(True) + 1


@given(
    seen=numbers,
    noise_scale=st.floats(0.2, 1.5),
    delta=st.floats(0.01, 1.0),
    scale=st.floats(0.3, 1.5),
    window=st.integers(2, 50),
)
@settings(max_examples=60, deadline=None)
def test_glr_is_the_largest_ratio_over_the_splits_of_its_window(seen, noise_scale, delta, scale, window):
    plain = [
        textbook.glr(seen[:n], noise_scale=noise_scale, delta=delta, scale=scale, window=window)
        for n in range(1, len(seen) + 1)
    ]
    assert alarms(Glr(noise_scale, delta, scale, window), seen) == plain


@given(
    seen=numbers,
    warmup=st.integers(1, 12),
    slack=st.integers(0, 5).map(lambda n: n / 10),
    threshold=st.integers(5, 60).map(lambda n: n / 10 + 0.00317),
)
@settings(max_examples=60, deadline=None)
def test_cusum_is_its_sums(seen, warmup, slack, threshold):
    """No sum of these numbers is just the threshold."""
    given: dict[str, Any] = dict(warmup=warmup, slack=slack, threshold=threshold)
    plain = [textbook.cusum(seen[:n], **given) for n in range(1, len(seen) + 1)]
    assert alarms(Cusum(**given), seen) == plain


@given(seen=numbers, shift=st.integers(-20, 20))
@settings(max_examples=40, deadline=None)
def test_only_differences_count_and_either_sign(seen, shift):
    """But for the rounding of ratios that are as large as the threshold, which these numbers do not have."""
    for detector in (Glr(0.7), Cusum(warmup=5, slack=0.13, threshold=1.003)):
        told = alarms(detector, seen)
        assert alarms(detector, [-each for each in seen]) == told
        assert alarms(detector, [each + shift for each in seen]) == told


def test_examples_have_alarms_and_silence():
    """Or the equalities above would be between empty lists."""
    changed = [0.0] * 20 + [2.0] * 20
    for detector in (Glr(0.5), Cusum(warmup=10, slack=0.1, threshold=3.0)):
        told = alarms(detector, changed)
        assert not any(told[:21])
        assert told[-1]


def test_glr_seldom_raises_an_alarm_without_a_change():
    """In 60 runs of 300 observations, less often than δ; a tenth of the threshold would not do."""
    runs = np.random.default_rng(0).normal(0.4, 0.3, size=(60, 300))
    delta = 0.2
    assert np.mean([first_alarm(Glr(0.3, delta), run) <= 300 for run in runs]) < delta
    assert np.mean([first_alarm(Glr(0.3, delta, 0.1), run) <= 300 for run in runs]) > 0.8


@pytest.mark.parametrize(
    "detector", [Glr(0.3, 0.05, window=32), Cusum(warmup=50, slack=0.15, threshold=3.0)], ids=["glr", "cusum"]
)
def test_a_change_is_soon_found(detector):
    """By three standard deviations after 200 observations, in each of ten runs within 15; not before."""
    runs = np.random.default_rng(1).normal(0.0, 0.3, size=(10, 240))
    runs[:, 200:] += 0.9
    delays = [first_alarm(detector, run) - 200 for run in runs]
    assert min(delays) > 0
    assert max(delays) <= 15


def test_a_window_finds_what_is_recent():
    """A small shift long ago is no split of the window; with all splits it is one."""
    seen = [0.0] * 60 + [0.45] * 60
    assert first_alarm(Glr(0.5, window=256), seen) <= 120
    assert first_alarm(Glr(0.5, window=8), seen) > 120


def test_random_restarts_come_as_often_as_they_should_whatever_is_seen():
    """Within five standard errors."""
    chances = np.random.default_rng(2).uniform(size=20_000)
    detector, count = RandomRestart(0.03), 0
    for chance in chances:
        _, alarm = detector.detect((), np.asarray(1e6), chance)
        count += bool(alarm)
    assert abs(count - 600) <= 5 * np.sqrt(600 * 0.97)
    assert not detector.detect((), LIKE, np.asarray(0.03))[1]
    assert RandomRestart(1).detect((), LIKE, np.asarray(1 - 2**-53))[1]
