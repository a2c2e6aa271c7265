"""Drifts: curves that pass where they promise to, drifts made of drifts, of files and arrays, and jumps."""
# pyright: reportArgumentType=false

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.base import from_config, to_config
from driftwise.checks import check_environment
from driftwise.environments import random_linear_mdp
from driftwise.environments.drift import (
    Abrupt,
    Constant,
    Drift,
    Gradual,
    Periodic,
    Product,
    RandomWalk,
    Recorded,
    Repeat,
    Sum,
    Then,
    curves,
)

LENGTH = 60  # of the runs here
places = st.lists(st.integers(1, LENGTH), min_size=1, max_size=2, unique=True).map(sorted)
positive = st.floats(0.1, 10)
increasing = st.lists(st.integers(1, 100), min_size=2, max_size=5, unique=True).map(sorted).map(tuple)
anchors = st.integers(2, 5)
basic = st.one_of(
    st.just(Constant()),
    st.builds(Abrupt, increasing, st.sampled_from([0, 2, 3])),
    st.builds(Gradual, increasing, st.sampled_from([0, 2, 3])),
    st.builds(Periodic, st.floats(0.5, 1000), anchors),
    st.builds(RandomWalk, st.floats(0, 10), anchors, st.integers(0, 99)),
)


@st.composite
def sequences(draw: st.DrawFn, inner: st.SearchStrategy[Drift]) -> Then:
    at = draw(places)
    return Then([draw(inner) for _ in range(len(at) + 1)], at)


@st.composite
def sums(draw: st.DrawFn, inner: st.SearchStrategy[Drift]) -> Sum:
    drifts = draw(st.lists(inner, min_size=1, max_size=3))
    return Sum(drifts, [draw(positive) for _ in drifts])


recorded = st.lists(st.floats(0, 1), min_size=1, max_size=9).map(Recorded)
composite = st.recursive(
    st.one_of(basic, recorded),
    lambda inner: st.one_of(
        sequences(inner),
        sums(inner),
        st.builds(Repeat, inner, st.integers(1, 40)),
        st.builds(Product, st.lists(inner, min_size=1, max_size=2)),
    ),
    max_leaves=4,
)


def padded(weights: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([weights, np.zeros(size - len(weights))])


def plain(drift: Drift, t: int) -> np.ndarray:
    """The definition of each composite, one episode at a time."""
    if isinstance(drift, Then):
        start, current = 0, drift.drifts[0]
        for at, following in zip(drift.at, drift.drifts[1:], strict=True):
            if t >= at:
                start, current = at, following
        return padded(plain(current, t - start), drift.num_anchors)
    if isinstance(drift, Repeat):
        while t >= drift.period:
            t -= drift.period
        return plain(drift.drift, t)
    if isinstance(drift, Sum):
        parts = [padded(plain(each, t), drift.num_anchors) for each in drift.drifts]
        return np.average(parts, axis=0, weights=drift.shares)
    if isinstance(drift, Product):
        weights = np.ones(1)
        for each in drift.drifts:
            weights = np.outer(weights, plain(each, t)).ravel()
        return weights
    return drift.mixture(np.array([t]))[0]


@given(composite)
def test_a_drift_is_its_plain_definition_changes_where_it_moves_and_maps_to_plain_values(drift):
    """That of one which is not made of others is itself, asked for one episode."""
    mixture = drift.mixture(np.arange(LENGTH))
    expected = np.stack([plain(drift, t) for t in range(LENGTH)])
    np.testing.assert_allclose(mixture, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(mixture.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert mixture.shape == (LENGTH, drift.num_anchors)
    assert mixture.min() >= 0
    changes = [0, *drift.changes(LENGTH), LENGTH]
    assert changes == sorted(set(changes))
    assert all((mixture[change] != mixture[change - 1]).any() for change in changes[1:-1])
    again = from_config(json.loads(json.dumps(to_config(drift))))
    assert (again, hash(again), repr(again)) == (drift, hash(drift), repr(drift))


def test_abrupt_stands_in_one_corner_per_segment_and_returns_to_the_first_when_they_run_out():
    mixture = Abrupt((3, 5)).mixture(np.arange(7))
    np.testing.assert_array_equal(mixture, np.eye(3)[[0, 0, 0, 1, 1, 2, 2]])
    mixture = Abrupt((2, 4, 6), num_anchors=2).mixture(np.arange(8))
    np.testing.assert_array_equal(mixture, np.eye(2)[[0, 0, 1, 1, 0, 0, 1, 1]])


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
    one, other = (RandomWalk(0.3, seed=seed).mixture(np.arange(50)) for seed in (1, 2))
    assert not np.allclose(one, other)
    np.testing.assert_array_equal(RandomWalk(0).mixture(np.arange(4)), np.eye(2)[[0] * 4])


def test_drifts_of_equal_arguments_are_equal_and_hash_alike():
    assert Abrupt([3, 5]) == Abrupt((3, 5))
    assert len({Abrupt((3,)), Abrupt(np.array([3])), Gradual((0, 3)), Periodic(3)}) == 3


@pytest.mark.parametrize("num_anchors", [2, 3, 5])
def test_a_step_of_a_random_walk_is_as_small_as_its_scale(num_anchors):
    path = RandomWalk(0.01, num_anchors=num_anchors, seed=1).mixture(np.arange(20_000))
    steps = np.abs(np.diff(path, axis=0)).sum(axis=1)
    assert steps.max() <= 2 * (num_anchors - 1) * 0.06  # no Gaussian of 20,000 is six deviations away


def test_repeating_is_putting_the_same_drift_after_itself():
    for drift in (Abrupt((3, 8)), Gradual((0, 10)), Gradual((0, 5, 10), 2), Periodic(10), RandomWalk(0.2)):
        again, after = Repeat(drift, 10), Then([drift] * 6, range(10, 60, 10))
        np.testing.assert_array_equal(again.mixture(np.arange(60)), after.mixture(np.arange(60)))
        assert again.changes(60) == after.changes(60)


@pytest.mark.parametrize(
    ("drift", "changes"),
    [
        (Then([Abrupt((5,)), Abrupt((7,))], [20]), (5, 20, 27)),  # back to the first anchor at 20
        (Then([Abrupt((5,)), Recorded([[0, 1], [0, 1]])], [20]), (5,)),  # goes on where it was
        (Then([Abrupt((20,)), Recorded([[0, 1]])], [20]), (20,)),  # jumps as it would have
        (Then([Abrupt((20,)), Constant()], [20]), ()),  # the jump does not come
        (Then([Constant(), RandomWalk(0.01, seed=2)], [20]), ()),
        (Then([Abrupt((50,)), Abrupt((3,))], [100]), (50,)),  # the second does not begin in this run
        (Repeat(Periodic(20), 20), ()),  # the circle is closed
        (Repeat(Gradual((0, 10, 20), 2), 20), ()),  # there and back
        (Abrupt((3, 5, 60)), (3, 5)),
        (Repeat(Gradual((0, 20)), 20), (20, 40)),
        (Repeat(Abrupt((5,)), 20), (5, 20, 25, 40, 45)),
        (Sum([Periodic(30), Abrupt((25,))], [3, 1]), (25,)),
        (Sum([Abrupt((25,)), Recorded([1] * 25 + [0])]), ()),  # one takes back what the other does
        (Product([Abrupt((5,)), Abrupt((5, 9))]), (5, 9)),
        (Recorded([0] * 10 + [1] * 30 + [0.5]), (10, 40)),
        (Recorded([0, 1], knots=[30, 31]), (31,)),
        (Recorded([0, 1], knots=[30, 33]), ()),  # a fast movement
        (Gradual((30, 31)), (31,)),
        (RandomWalk(0.3, seed=5), ()),
    ],
    ids=repr,
)
def test_jumps_of_any_drift_are_found(drift, changes):
    assert drift.changes(60) == changes
    bandit = dw.paths.Mixture(np.eye(drift.num_anchors), drift)
    assert bandit.changes(60) == changes
    check_environment(random_linear_mdp(num_states=2, num_actions=2, dim=2, horizon=1, drift=drift))


def test_a_path_that_does_not_know_its_jumps_is_searched_for_them(monkeypatch):
    class Steps(dw.paths.ParameterPath):
        dim = 1

        def theta(self, rounds: np.ndarray) -> np.ndarray:
            return np.where(rounds[:, None] >= 64, 0.01, 1e-4 * np.sin(rounds[:, None] / 100))

    assert Steps().changes(200) == (64,)
    assert Steps().changes(69) == (64,)
    assert Steps().changes(68) == ()  # only four moves later it is known to be one
    assert dw.paths.Rotation(start=0.0, end=3.0, rounds=1).changes(9) == (1,)
    monkeypatch.setattr(curves, "_AT_ONCE", 7)  # wherever the run is cut
    assert Steps().changes(200) == (64,)
    assert Steps().changes(69) == (64,)


@given(st.integers(0, 50), st.floats(1e-3, 1))
def test_steps_of_chance_are_no_jumps(seed, scale):
    steps = np.random.default_rng(seed).normal(scale=scale, size=(500, 1)).cumsum(axis=0)
    assert curves.find_jumps(lambda t: steps[t], 500) == ()


def test_the_anchors_of_a_product_drift_apart():
    drift = Product([Periodic(11), Abrupt((4, 9), 2)])
    rewards, transitions = np.array([0.2, 0.9]), np.array([0.4, 0.7])
    mixture = drift.mixture(np.arange(30)).reshape(30, 2, 2)
    for axis, (anchors, own) in enumerate(zip((rewards, transitions), drift.drifts, strict=True)):
        apart = own.mixture(np.arange(30)) @ anchors
        np.testing.assert_allclose(mixture.sum(axis=2 - axis) @ anchors, apart, rtol=0, atol=1e-12)


def test_a_recorded_drift_is_the_same_from_an_array_a_table_and_a_file(tmp_path):
    shares = np.linspace(0, 1, 7) ** 2
    rows = np.stack([1 - shares, shares], axis=1)
    np.save(tmp_path / "rows.npy", rows)
    texts = {
        "rows.csv": "\n".join(f"{a!r},{b!r}" for a, b in rows.tolist()),
        "shares.csv": "share\n" + "\n".join(map(repr, shares.tolist())) + "\n",
        "headed.csv": "summer, winter\n" + "\n".join(f"{a!r}, {b!r}" for a, b in rows.tolist()),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    made = [Recorded(rows), Recorded(shares), Recorded(rows.tolist())]
    made += [Recorded(str(tmp_path / name)) for name in ("rows.npy", *texts)]
    assert made == [made[0]] * len(made)
    np.testing.assert_array_equal(made[0].mixture(np.arange(9)), rows[[0, 1, 2, 3, 4, 5, 6, 6, 6]])
    between = Recorded(rows, knots=range(0, 70, 10)).mixture(np.array([5, 60, 99]))
    np.testing.assert_allclose(between, [(rows[0] + rows[1]) / 2, rows[6], rows[6]], rtol=0, atol=1e-12)


def test_recorded_drifts_of_other_rows_have_other_names():
    one, other = Recorded([0, 0.5]), Recorded([0, 0.25])
    assert len(repr(Recorded(np.zeros(5000)))) < 200
    assert repr(one) != repr(other)
    made = [random_linear_mdp(drift=drift).digest() for drift in (one, other, Recorded([0, 0.5]))]
    assert made[0] == made[2] != made[1]


@pytest.mark.parametrize("content", ["", "a,b\n", "a,b\n1,2,x\n", "1,0\n1\n", "\0"])
def test_a_file_without_rows_of_numbers_is_refused_in_a_sentence(content: str, tmp_path: Path):
    for name in ("rows.csv", "rows.npy"):
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=r"^weights must .*rows\.") as error:
            Recorded(tmp_path / name)
        assert "\n" not in str(error.value)
