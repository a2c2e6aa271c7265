"""Paths of a bandit's parameter: they pass where they promise to."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.base import from_config, to_config
from driftwise.environments import russac_abrupt, russac_smooth

ANCHORS = ((1.0, 0.0, 0.5), (-1.0, 0.25, 0.0))
PATHS = [
    dw.paths.Mixture(ANCHORS, dw.drift.Abrupt((7,))),
    dw.paths.Mixture(ANCHORS, dw.drift.Gradual((3, 90))),
    dw.paths.Mixture(ANCHORS, dw.drift.Periodic(62.5)),
    dw.paths.Mixture(ANCHORS, dw.drift.RandomWalk(0.01, seed=3)),
    dw.paths.Mixture(ANCHORS[:1], dw.drift.Constant()),
    dw.paths.abrupt_path(ANCHORS, (20,)),
    dw.paths.Rotation(start=0.5, end=7.0, rounds=60, radius=0.7, dim=3),
    dw.paths.Sinusoid((0.5, 0.1), (0.3, -0.2), (0.0, 1.0), period=17.0),
    dw.paths.SphereWalk(dim=3, scale=0.05, radius=2.0, seed=5),
]
paths = st.sampled_from(PATHS)


@given(paths, st.lists(st.integers(0, 300), min_size=1, max_size=9))
def test_a_parameter_depends_on_its_round_alone(path, rounds):
    together = path.theta(np.arange(301))
    assert isinstance(path, dw.paths.ParameterPath)
    assert together.shape == (301, path.dim)
    np.testing.assert_array_equal(path.theta(np.array(rounds)), together[rounds])


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_jumps_are_where_the_path_says_and_it_maps_to_plain_values_and_back(path):
    steps = np.linalg.norm(np.diff(path.theta(np.arange(200)), axis=0), axis=1)
    jumps = tuple(int(t) + 1 for t in np.flatnonzero(steps > 0.5))
    assert path.changes(200) == jumps
    assert path.changes(5) == ()
    again = from_config(json.loads(json.dumps(to_config(path))))
    assert again == path
    assert hash(again) == hash(path)


def test_mixture_weighs_its_anchors_and_an_abrupt_path_holds_each_until_the_next_change():
    path = dw.paths.Mixture(ANCHORS, dw.drift.Gradual((0, 4)))
    np.testing.assert_allclose(path.theta(np.array([1])), [[0.5, 0.0625, 0.375]])  # ¾ of one, ¼ of the other
    path = dw.paths.abrupt_path(ANCHORS, (2,))
    np.testing.assert_array_equal(path.theta(np.arange(4)), np.array(ANCHORS)[[0, 0, 1, 1]])
    assert dw.paths.abrupt_path(ANCHORS[:1], ()) == dw.paths.Mixture(ANCHORS[:1], dw.drift.Constant())


def test_rotation_turns_at_constant_speed_and_then_rests():
    theta = dw.paths.Rotation(start=0.0, end=math.pi, rounds=4, radius=2.0, dim=3).theta(np.arange(7))
    root = math.sqrt(2)
    expected = [(2, 0), (root, root), (0, 2), (-root, root), (-2, 0), (-2, 0), (-2, 0)]
    np.testing.assert_allclose(theta, np.pad(expected, ((0, 0), (0, 1))), atol=1e-15)


def test_sinusoid_swings_each_coordinate_about_its_centre():
    path = dw.paths.Sinusoid((0.5, 0.5), (0.3, -0.3), (0.0, math.pi / 2), period=8.0)
    expected = [(0.5, 0.2), (0.8, 0.5), (0.5, 0.8), (0.2, 0.5), (0.5, 0.2)]
    np.testing.assert_allclose(path.theta(np.arange(0, 9, 2)), expected, atol=1e-15)


@given(st.integers(2, 6), st.floats(0, 1), st.floats(0.1, 5), st.integers(0, 50))
def test_sphere_walk_stays_on_its_sphere(dim, scale, radius, seed):
    theta = dw.paths.SphereWalk(dim=dim, scale=scale, radius=radius, seed=seed).theta(np.arange(70))
    np.testing.assert_allclose(np.linalg.norm(theta, axis=1), radius, rtol=1e-12)


def test_steps_of_a_sphere_walk_have_the_stated_size():
    """Small steps are Gaussian in the tangent space: their mean square is (d − 1) scale²."""
    scale, dim, num = 1e-3, 3, 4000
    theta = dw.paths.SphereWalk(dim=dim, scale=scale, radius=2.0).theta(np.arange(num + 1))
    squares = np.sum(np.diff(theta, axis=0) ** 2, axis=1) / scale**2  # χ² with d − 1 degrees, variance 2(d−1)
    assert abs(squares.mean() - (dim - 1)) < 5 * math.sqrt(2 * (dim - 1) / num)
    still = dw.paths.SphereWalk(dim, 0.0).theta(np.array([0, 50]))
    np.testing.assert_allclose(still[0], still[1], rtol=1e-13)


def test_sphere_walks_start_anywhere_on_the_sphere_and_differ_by_seed():
    walks = [dw.paths.SphereWalk(2, 0.1, seed=seed) for seed in range(400)]
    starts = np.concatenate([walk.theta(np.array([0])) for walk in walks])
    assert len(np.unique(starts)) == starts.size
    assert np.linalg.norm(starts.mean(axis=0)) < 5 / math.sqrt(400)


def test_the_abrupt_bandit_of_russac_jumps_at_the_published_rounds():
    """Rounds 1001, 2001 and 3001 of the paper, which counts from 1; B = 2 + √2 + 2."""
    environment = russac_abrupt()
    assert environment.arms == russac_smooth().arms == dw.arms.FreshArms(num_arms=50, dim=2, shape="cube")
    assert (environment.rewards, environment.noise_scale) == ("gaussian", 1.0)
    assert [change + 1 for change in environment.changes(6000)] == [1001, 2001, 3001]
    theta = environment.at(np.array([0, 999, 1000, 1999, 2000, 2999, 3000, 5999]))
    np.testing.assert_array_equal(theta[::2], theta[1::2])
    np.testing.assert_array_equal(theta[::2], [(1, 0), (-1, 0), (0, 1), (0, -1)])
    variation = environment.variation(6000)
    assert variation.total == pytest.approx(4 + math.sqrt(2), rel=1e-14)
    assert environment.variation(1000).total == 0


def test_the_smooth_bandit_of_russac_turns_by_a_quarter_in_the_first_half():
    environment = russac_smooth()
    corner = math.sqrt(1 / 2)
    theta = environment.at(np.array([0, 1500, 3000, 5999]))
    np.testing.assert_allclose(theta, [(1, 0), (corner, corner), (0, 1), (0, 1)], atol=1e-15)
    chord = 2 * math.sin(math.pi / 4 / 3000)  # of one round's angle
    assert environment.variation(6000).total == pytest.approx(3000 * chord, rel=1e-10)
    assert environment.variation(6000).total == pytest.approx(math.pi / 2, rel=1e-6)
    assert environment.changes(6000) == ()
