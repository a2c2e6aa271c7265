"""Drift: curves that stay on the simplex and pass where they promise to."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw

increasing = st.lists(st.integers(1, 1000), min_size=2, max_size=5, unique=True).map(sorted).map(tuple)
anchors = st.integers(2, 5)
drifts = st.one_of(
    st.just(dw.drift.Constant()),
    st.builds(dw.drift.Abrupt, increasing, st.sampled_from([0, 2, 3])),
    st.builds(dw.drift.Gradual, increasing, st.sampled_from([0, 2, 3])),
    st.builds(dw.drift.Periodic, st.floats(0.5, 1000), anchors),
    st.builds(dw.drift.RandomWalk, st.floats(0, 10), anchors, st.integers(0, 99)),
)


@given(drifts, st.lists(st.integers(0, 3000), min_size=1, max_size=20))
def test_every_mixture_is_on_the_simplex(drift, episodes):
    mixture = drift.mixture(np.array(episodes))
    assert isinstance(drift, dw.drift.Drift)
    assert mixture.shape == (len(episodes), drift.num_anchors)
    assert mixture.min() >= 0
    np.testing.assert_allclose(mixture.sum(axis=1), 1, rtol=1e-12)


@given(drifts, st.integers(0, 500))
def test_a_mixture_depends_on_its_episode_alone(drift, t):
    together = drift.mixture(np.arange(501))[t]
    np.testing.assert_array_equal(drift.mixture(np.array([t]))[0], together)


def test_abrupt_stands_in_one_corner_per_segment():
    mixture = dw.drift.Abrupt((3, 5)).mixture(np.arange(7))
    np.testing.assert_array_equal(mixture, np.eye(3)[[0, 0, 0, 1, 1, 2, 2]])


def test_abrupt_returns_to_the_first_anchor_when_they_run_out():
    drift = dw.drift.Abrupt((2, 4, 6), num_anchors=2)
    np.testing.assert_array_equal(drift.mixture(np.arange(8)), np.eye(2)[[0, 0, 1, 1, 0, 0, 1, 1]])


def test_gradual_reaches_an_anchor_at_each_knot_and_moves_in_straight_lines():
    drift = dw.drift.Gradual((2, 6, 8))
    np.testing.assert_allclose(drift.mixture(np.array([0, 2, 6, 8, 99])), np.eye(3)[[0, 0, 1, 2, 2]])
    np.testing.assert_allclose(drift.mixture(np.array([3, 5])), [[0.75, 0.25, 0], [0.25, 0.75, 0]])
    np.testing.assert_allclose(drift.mixture(np.array([7])), [[0, 0.5, 0.5]])


@pytest.mark.parametrize("num_anchors", [2, 3, 7])
def test_periodic_passes_through_every_anchor_and_comes_back(num_anchors):
    period = 20 * num_anchors
    drift = dw.drift.Periodic(period, num_anchors)
    at_corners = drift.mixture(np.arange(num_anchors) * 20)
    # the curve is flat at a corner, so rounding of the position squares away
    np.testing.assert_allclose(at_corners, np.eye(num_anchors), rtol=0, atol=1e-12)
    once, again = drift.mixture(np.arange(period)), drift.mixture(period * 3 + np.arange(period))
    np.testing.assert_allclose(once, again, rtol=0, atol=1e-12)
    steps = np.abs(np.diff(drift.mixture(np.arange(period + 1)), axis=0)).max()
    assert steps < 0.1  # π/2/20, nowhere a jump


def test_random_walk_starts_at_the_first_anchor_and_does_not_look_ahead():
    drift = dw.drift.RandomWalk(0.3, num_anchors=3, seed=4)
    near, far = drift.mixture(np.arange(5)), drift.mixture(np.arange(5000))
    np.testing.assert_array_equal(near[0], [1, 0, 0])
    np.testing.assert_array_equal(near, far[:5])
    assert np.abs(far.mean(axis=0) - 1 / 3).max() < 0.1  # it gets around


def test_random_walk_is_a_function_of_its_seed():
    walks = [dw.drift.RandomWalk(0.3, seed=seed).mixture(np.arange(50)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(walks[0], walks[1])
    assert not np.allclose(walks[0], walks[2])


def test_random_walk_of_scale_zero_stands_still():
    np.testing.assert_array_equal(dw.drift.RandomWalk(0).mixture(np.arange(4)), np.eye(2)[[0] * 4])


def test_changes_are_the_jumps_before_the_end():
    assert dw.drift.Abrupt((3, 5, 9)).changes(9) == (3, 5)
    for drift in (
        dw.drift.Constant(),
        dw.drift.Gradual((0, 5)),
        dw.drift.Periodic(7),
        dw.drift.RandomWalk(0.1),
    ):
        assert drift.changes(100) == ()


def test_drifts_of_equal_arguments_are_equal_and_hash_alike():
    assert dw.drift.Abrupt([3, 5]) == dw.drift.Abrupt((3, 5))
    assert (
        len(
            {
                dw.drift.Abrupt((3,)),
                dw.drift.Abrupt(np.array([3])),
                dw.drift.Gradual((0, 3)),
                dw.drift.Periodic(3),
            }
        )
        == 3
    )


@pytest.mark.parametrize(
    ("build", "expected", "value"),
    [
        (lambda: dw.drift.Abrupt(()), "at must be increasing episodes", "()"),
        (lambda: dw.drift.Abrupt((5, 5)), "at must be increasing episodes", "(5, 5)"),
        (lambda: dw.drift.Abrupt((5, 3)), "at must be increasing episodes", "(5, 3)"),
        (lambda: dw.drift.Abrupt((0, 3)), "at must be an integer of at least 1", "0"),
        (lambda: dw.drift.Abrupt((1.5, 3)), "at must be an integer", "(1.5, 3)"),
        (lambda: dw.drift.Abrupt(100), "at must be increasing episodes", "100"),
        (lambda: dw.drift.Abrupt("ab"), "at must be increasing episodes", "'ab'"),
        (lambda: dw.drift.Abrupt(((1, 2), (3, 4))), "at must be increasing episodes", "((1, 2), (3, 4))"),
        (lambda: dw.drift.Abrupt((1, (2, 3))), "at must be", "(1, (2, 3))"),
        (lambda: dw.drift.Abrupt((3,), num_anchors=1), "num_anchors must be an integer of at least 2", "1"),
        (lambda: dw.drift.Gradual((3,)), "knots must be at least two increasing episodes", "(3,)"),
        (lambda: dw.drift.Gradual((3, 3)), "knots must be increasing episodes", "(3, 3)"),
        (lambda: dw.drift.Gradual((-1, 3)), "knots must be an integer of at least 0", "-1"),
        (lambda: dw.drift.Periodic(0), "period must be a number above 0", "0"),
        (lambda: dw.drift.Periodic(float("inf")), "period must be a number above 0", "inf"),
        (lambda: dw.drift.Periodic((3.0, 4.0)), "period must be", "(3.0, 4.0)"),
        (lambda: dw.drift.Periodic(3, num_anchors=1), "num_anchors must be an integer of at least 2", "1"),
        (lambda: dw.drift.RandomWalk(-0.1), "scale must be a number of at least 0", "-0.1"),
        (lambda: dw.drift.RandomWalk((0.1, 0.2)), "scale must be", "(0.1, 0.2)"),
        (lambda: dw.drift.RandomWalk(0.1, seed=-1), "seed must be an integer of at least 0", "-1"),
        (lambda: dw.drift.RandomWalk(0.1, num_anchors=True), "num_anchors must be", "True"),
    ],
)
def test_bad_arguments_are_refused(build, expected, value):
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}.*, got {re.escape(value)}"):
        build()


@pytest.mark.parametrize("num_anchors", [2, 3, 5])
def test_a_step_of_a_random_walk_is_as_small_as_its_scale(num_anchors):
    path = dw.drift.RandomWalk(0.01, num_anchors=num_anchors, seed=1).mixture(np.arange(20_000))
    steps = np.abs(np.diff(path, axis=0)).sum(axis=1)
    assert steps.max() <= 2 * (num_anchors - 1) * 0.06  # no Gaussian of 20,000 is six deviations away
