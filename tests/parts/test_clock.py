"""Forgetting by the clock: sums over ages, whatever the order of arrival."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.base import Moments, Sample
from driftwise.parts import ClockWeights, ExponentialWeights
from driftwise.parts.regression import empty_moments
from tests.reference.clock import Event, held, sums_at
from tests.reference.moments import Sums

DIM, RIDGE, START = 3, 0.7, 1.7e9  # a time of these years
HALF_LIFE = 3600.0
# An age of a day at such times is rounded by 2e-7 of 8.6e4 seconds, a weight by less than 1e-10.
CLOSE: dict[str, Any] = dict(rtol=1e-9, atol=1e-9)


def draw_events(seed: int, num: int, span: float = 4 * HALF_LIFE) -> list[Event]:
    rng = np.random.default_rng(seed)
    times = np.sort(START + rng.uniform(0, span, num))
    return [
        Event(time, rng.uniform(-1, 1, DIM), rng.normal(), float(rng.integers(3))) for time in times.tolist()
    ]


def sample(event: Event) -> Sample:
    return Sample(event.features[None], np.array([event.reward]), np.zeros(1, int), np.array([event.rewards]))


def absorbed(clock: ClockWeights, events: list[Event]) -> Moments:
    first = sample(events[0])
    moments = clock.init(empty_moments(first, 0, RIDGE, gram_sq=True), first)
    for event in events:
        moments = clock.absorb(moments, sample(event), event.time)
    return moments


def assert_sums(moments: Moments, sums: Sums) -> None:
    assert moments.gram_sq is not None
    found = moments.gram[0], moments.gram_sq[0], moments.cross[0, :, 0], moments.weight, moments.weight_sq
    for actual, expected in zip(found, sums, strict=True):
        np.testing.assert_allclose(actual, expected, **CLOSE)


def assert_same(moments: Moments, other: Moments, close: float = 1e-12) -> None:
    for name in ("gram", "gram_sq", "cross", "ridge", "tick", "weight", "weight_sq"):
        np.testing.assert_allclose(getattr(moments, name), getattr(other, name), rtol=close, atol=close)


def estimate(moments: Moments) -> np.ndarray:
    return np.linalg.solve(moments.gram[0], moments.cross[0, :, 0])


def widths(moments: Moments) -> np.ndarray:
    return np.sqrt(np.diag(np.linalg.inv(moments.gram[0])))


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 1e5), st.randoms(use_true_random=False))
def test_moments_are_sums_over_ages_at_every_time_in_whatever_order_samples_come(seed, num, wait, shuffle):
    events, clock = draw_events(seed, num), ClockWeights(HALF_LIFE)
    newest = events[-1].time
    shuffle.shuffle(events)
    moments = absorbed(clock, events)
    assert moments.tick == num
    assert moments.memory == newest
    assert_sums(moments, sums_at(newest, events, HALF_LIFE, RIDGE, DIM))
    assert_sums(clock.at(moments, newest + wait), sums_at(newest + wait, events, HALF_LIFE, RIDGE, DIM))
    assert_sums(clock.at(moments, newest - wait), sums_at(newest, events, HALF_LIFE, RIDGE, DIM))
    still = ClockWeights(HALF_LIFE, reference="last")
    assert still.at(moments, newest + wait) is moments


@pytest.mark.parametrize("prior", ["zero", "hold", "decay"])
def test_silence_in_two_parts_is_silence(prior):
    clock = ClockWeights(HALF_LIFE, prior)
    moments = absorbed(clock, draw_events(1, 6))
    time = moments.memory + 5000.0
    once, twice = clock.at(moments, time), clock.at(clock.at(moments, time - 1234.5), time)
    assert_same(once, twice)
    assert once.memory == twice.memory


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.999])
def test_equal_gaps_are_exponential_weights(rate):
    """`last` exactly, `now` with the ridge λ/η, whose widths are √η of it."""
    gap = HALF_LIFE * math.log(rate) / math.log(0.5)
    events = [each._replace(time=START + t * gap) for t, each in enumerate(draw_events(2, 30))]
    first = sample(events[0])

    def by_rounds(ridge: float) -> Moments:
        moments = empty_moments(first, 0, ridge, gram_sq=True)
        for event in events:
            moments = ExponentialWeights(rate).update(moments, sample(event))
        return moments

    moments = absorbed(ClockWeights(HALF_LIFE), events)
    assert_same(moments, by_rounds(RIDGE), 1e-9)
    now, expected = ClockWeights(HALF_LIFE).at(moments, START + 30 * gap), by_rounds(RIDGE / rate)
    np.testing.assert_allclose(estimate(now), estimate(expected), **CLOSE)
    np.testing.assert_allclose(widths(now), rate**-0.5 * widths(expected), **CLOSE)


@pytest.mark.parametrize("prior", ["zero", "hold", "decay"])
@pytest.mark.parametrize("reference", ["now", "last"])
def test_rounds_are_a_second_apart(prior, reference):
    clock, events = ClockWeights(4.0, prior, reference), draw_events(3, 9)
    first = sample(events[0])
    moments = clock.init(empty_moments(first, 0, RIDGE, gram_sq=True), first)
    for second, event in enumerate(events):
        told = absorbed(clock, [each._replace(time=float(t)) for t, each in enumerate(events[: second + 1])])
        moments = clock.update(moments, sample(event))
        expected = clock.at(told, second + 1.0)  # that of the next decision
        assert_same(moments, expected)
        assert moments.memory == expected.memory


def test_hold_is_a_ridge_around_the_estimate_before():
    events = [each._replace(rewards=1.0) for each in draw_events(4, 8)]
    clock, newest = ClockWeights(HALF_LIFE, "hold"), events[-1].time
    later = [newest + 100.0, newest + 1e5]
    for time, expected in zip(later, held(later, events, HALF_LIFE, RIDGE, DIM), strict=True):
        moments = clock.at(absorbed(clock, events), time)
        np.testing.assert_allclose(moments.gram[0], expected.gram, **CLOSE)
        np.testing.assert_allclose(moments.cross[0, :, 0], expected.cross, **CLOSE)


def test_decay_is_the_sums_with_a_ridge_that_is_as_old_as_the_first_sample():
    events, clock = draw_events(5, 8), ClockWeights(HALF_LIFE, "decay")
    time = events[-1].time + 5000.0
    kept = 2 ** (-(time - events[0].time) / HALF_LIFE)
    moments = clock.at(absorbed(clock, events), time)
    assert_sums(moments, sums_at(time, events, HALF_LIFE, kept * RIDGE, DIM))
    np.testing.assert_allclose(moments.ridge, kept * RIDGE, rtol=1e-9)


def test_silence_sends_the_estimate_to_zero_or_leaves_it_and_the_width_to_its_bound_or_beyond():
    events, silence, bound = draw_events(6, 20), 20 * HALF_LIFE, RIDGE**-0.5
    for prior in ("zero", "hold", "decay"):
        clock = ClockWeights(HALF_LIFE, prior)
        before = absorbed(clock, events)
        after = clock.at(before, before.memory + silence)
        assert (widths(after) > widths(before)).all()
        left = 0 * estimate(before) if prior == "zero" else estimate(before)
        np.testing.assert_allclose(estimate(after), left, rtol=1e-9, atol=1e-5 * (prior == "zero"))
        if prior == "decay":
            np.testing.assert_allclose(widths(after), 2**10 * widths(before), rtol=1e-9)
        else:
            np.testing.assert_allclose(widths(after), bound, rtol=1e-4)
            assert (widths(after) <= bound).all()


def test_a_ridge_that_decays_never_rounds_to_zero_while_samples_come():
    clock = ClockWeights(1.0, "decay")
    events = [Event(START + t, np.eye(DIM)[t % DIM], 1.0) for t in range(4000)]  # so many half-lives
    moments = absorbed(clock, events)
    assert moments.ridge == 1e-9
    assert np.linalg.eigvalsh(moments.gram[0]).min() > 0.2  # the oldest of three directions: 2⁻² is left
    np.testing.assert_allclose(estimate(moments), 1.0, rtol=1e-7)


def test_the_sum_of_weights_of_poisson_arrivals_is_their_rate_times_the_mean_lifetime():
    """`Σω → a·h/log 2`, here 519; the deviation at one time is √(a·h/log 4) = 16, of eleven times a third."""
    rng, rate, clock = np.random.default_rng(7), 0.1, ClockWeights(HALF_LIFE)
    times = np.cumsum(rng.exponential(1 / rate, 60_000))
    sums = [clock.decay(end - times[times <= end]).sum() for end in HALF_LIFE * np.arange(15, 150, 13)]
    assert np.mean(sums) == pytest.approx(rate * HALF_LIFE / math.log(2), rel=0.03)
    recent = [Event(time, np.ones(1), 0.0) for time in times[times <= HALF_LIFE * 15].tolist()]
    assert clock.at(absorbed(clock, recent), HALF_LIFE * 15).weight == pytest.approx(sums[0])
