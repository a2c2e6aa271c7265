"""Drift: curves that stay on the simplex and pass where they promise to."""
# pyright: reportArgumentType=false

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.environments.drift import Abrupt, Constant, Drift, Gradual, Periodic, RandomWalk

increasing = st.lists(st.integers(1, 1000), min_size=2, max_size=5, unique=True).map(sorted).map(tuple)
anchors = st.integers(2, 5)
drifts = st.one_of(
    st.just(Constant()),
    st.builds(Abrupt, increasing, st.sampled_from([0, 2, 3])),
    st.builds(Gradual, increasing, st.sampled_from([0, 2, 3])),
    st.builds(Periodic, st.floats(0.5, 1000), anchors),
    st.builds(RandomWalk, st.floats(0, 10), anchors, st.integers(0, 99)),
)


@given(drifts, st.lists(st.integers(0, 3000), min_size=1, max_size=20))
def test_every_mixture_is_on_the_simplex(drift, episodes):
    mixture = drift.mixture(np.array(episodes))
    assert isinstance(drift, Drift)
    assert mixture.shape == (len(episodes), drift.num_anchors)
    assert mixture.min() >= 0
    np.testing.assert_allclose(mixture.sum(axis=1), 1, rtol=1e-12)


@given(drifts, st.integers(0, 500))
def test_a_mixture_depends_on_its_episode_alone(drift, t):
    together = drift.mixture(np.arange(501))[t]
    np.testing.assert_array_equal(drift.mixture(np.array([t]))[0], together)


def test_abrupt_stands_in_one_corner_per_segment():
    mixture = Abrupt((3, 5)).mixture(np.arange(7))
    np.testing.assert_array_equal(mixture, np.eye(3)[[0, 0, 0, 1, 1, 2, 2]])


def test_abrupt_returns_to_the_first_anchor_when_they_run_out():
    drift = Abrupt((2, 4, 6), num_anchors=2)
    np.testing.assert_array_equal(drift.mixture(np.arange(8)), np.eye(2)[[0, 0, 1, 1, 0, 0, 1, 1]])


def test_gradual_reaches_an_anchor_at_each_knot_and_moves_in_straight_lines():
    drift = Gradual((2, 6, 8))
    np.testing.assert_allclose(drift.mixture(np.array([0, 2, 6, 8, 99])), np.eye(3)[[0, 0, 1, 2, 2]])
    np.testing.assert_allclose(drift.mixture(np.array([3, 5])), [[0.75, 0.25, 0], [0.25, 0.75, 0]])
    np.testing.assert_allclose(drift.mixture(np.array([7])), [[0, 0.5, 0.5]])


@pytest.mark.parametrize("num_anchors", [2, 3, 7])
def test_periodic_passes_through_every_anchor_and_comes_back(num_anchors):
    period = 20 * num_anchors
    drift = Periodic(period, num_anchors)
    at_corners = drift.mixture(np.arange(num_anchors) * 20)
    # the curve is flat at a corner, so rounding of the position squares away
    np.testing.assert_allclose(at_corners, np.eye(num_anchors), rtol=0, atol=1e-12)
    once, again = drift.mixture(np.arange(period)), drift.mixture(period * 3 + np.arange(period))
    np.testing.assert_allclose(once, again, rtol=0, atol=1e-12)
    steps = np.abs(np.diff(drift.mixture(np.arange(period + 1)), axis=0)).max()
    assert steps < 0.1  # π/2/20, nowhere a jump


def test_random_walk_starts_at_the_first_anchor_and_does_not_look_ahead():
    drift = RandomWalk(0.3, num_anchors=3, seed=4)
    near, far = drift.mixture(np.arange(5)), drift.mixture(np.arange(5000))
    np.testing.assert_array_equal(near[0], [1, 0, 0])
    np.testing.assert_array_equal(near, far[:5])
    assert np.abs(far.mean(axis=0) - 1 / 3).max() < 0.1  # it gets around


def test_random_walk_is_a_function_of_its_seed():
    walks = [RandomWalk(0.3, seed=seed).mixture(np.arange(50)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(walks[0], walks[1])
    assert not np.allclose(walks[0], walks[2])


def test_random_walk_of_scale_zero_stands_still():
    np.testing.assert_array_equal(RandomWalk(0).mixture(np.arange(4)), np.eye(2)[[0] * 4])


def test_changes_are_the_jumps_before_the_end():
    assert Abrupt((3, 5, 9)).changes(9) == (3, 5)
    for drift in (Constant(), Gradual((0, 5)), Periodic(7), RandomWalk(0.1)):
        assert drift.changes(100) == ()


def test_drifts_of_equal_arguments_are_equal_and_hash_alike():
    assert Abrupt([3, 5]) == Abrupt((3, 5))
    assert len({Abrupt((3,)), Abrupt(np.array([3])), Gradual((0, 3)), Periodic(3)}) == 3


@pytest.mark.parametrize("num_anchors", [2, 3, 5])
def test_a_step_of_a_random_walk_is_as_small_as_its_scale(num_anchors):
    path = RandomWalk(0.01, num_anchors=num_anchors, seed=1).mixture(np.arange(20_000))
    steps = np.abs(np.diff(path, axis=0)).sum(axis=1)
    assert steps.max() <= 2 * (num_anchors - 1) * 0.06  # no Gaussian of 20,000 is six deviations away
