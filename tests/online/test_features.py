"""Features: in the unit ball wherever the state is, and what each kind of them promises."""

import math
from typing import Any, Self

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.base import from_config, to_config
from driftwise.online.features import (
    Custom,
    Fourier,
    OneHot,
    PerAction,
    RadialBasis,
    Tiles,
    Transformed,
    bounds_of,
)

LOW, HIGH = (-1.0, 0.0), (1.0, 10.0)
BASES = {
    "fourier": Fourier(LOW, HIGH, order=3),
    "grid": RadialBasis(LOW, HIGH, per_axis=4),
    "random": RadialBasis(LOW, HIGH, per_axis=3, centres="random", seed=1, width=0.3),
    "tiles": Tiles(LOW, HIGH, per_axis=3, num_tilings=4),
}


class Doubled:
    """A transformer in the manner of scikit-learn."""

    def fit(self, states: Any) -> Self:
        return self

    def transform(self, states: Any) -> np.ndarray:
        return np.hstack([2 * np.asarray(states), np.ones((len(states), 1))])


@pytest.mark.parametrize("name", BASES)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(state=st.tuples(*[st.floats(-1e300, 1e300)] * 2))
def test_norms_are_at_most_one_for_any_state(name, state):
    vector = BASES[name](np.array(state))
    assert vector.shape == (BASES[name].dim,)
    assert np.linalg.norm(vector) <= 1 + 1e-12
    assert np.linalg.norm(vector) > 0


@pytest.mark.parametrize("name", BASES)
def test_states_outside_of_the_box_count_as_on_its_edge(name):
    basis = BASES[name]
    np.testing.assert_array_equal(basis((5.0, -3.0)), basis((1.0, 0.0)))
    assert not np.array_equal(basis((0.9, 1.0)), basis((-0.9, 9.0)))


@pytest.mark.parametrize("basis", [*BASES.values(), OneHot(3)], ids=[*BASES, "one_hot"])
def test_they_are_plain_data(basis):
    assert from_config(to_config(PerAction(basis, 2))) == PerAction(basis, 2)


def test_fourier_is_made_of_cosines():
    state = np.array([0.5, 2.5])  # 3/4 and 1/4 of the way
    expected = [math.cos(math.pi * (i * 0.75 + j * 0.25)) / 3 for i in range(3) for j in range(3)]
    np.testing.assert_allclose(Fourier(LOW, HIGH, order=2)(state), expected, atol=1e-15)


def test_radial_shares_sum_to_one_and_are_largest_at_the_nearest_centre():
    basis = RadialBasis(LOW, HIGH, per_axis=3, width=0.2)
    for place, state in enumerate((x, y) for x in (-1, 0, 1) for y in (0, 5, 10)):
        shares = basis(state)
        assert shares.sum() == pytest.approx(1)
        assert shares.argmax() == place
    tiny = RadialBasis(LOW, HIGH, per_axis=3, width=1e-6)((0.1, 6.0))
    assert tiny.sum() == pytest.approx(1)


def test_random_centres_are_those_of_their_seed():
    def at(seed: int) -> bytes:
        return RadialBasis(LOW, HIGH, per_axis=3, centres="random", seed=seed)((0.0, 5.0)).tobytes()

    assert at(1) == at(1) != at(2)


def test_one_tile_of_every_grid_and_near_states_share_most_of_them():
    basis = Tiles((0.0,), (1.0,), per_axis=4, num_tilings=4)
    for state in np.linspace(0, 1, 33):
        blocks = basis([state]).reshape(4, 5)
        np.testing.assert_array_equal((blocks > 0).sum(axis=1), 1)
        assert blocks.max() == 0.5
    shared = [float(basis([0.3]) @ basis([0.3 + gap])) for gap in (0.0, 0.06, 0.13, 0.5)]
    assert shared == [1.0, 0.75, 0.5, 0.0]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_grids_cut_every_axis_in_places_of_their_own(axis):
    """Shifted alike along all axes, or twice as far along the next, some would share their cuts."""
    basis, state = Tiles((0.0,) * 3, (1.0,) * 3, per_axis=2, num_tilings=4), np.full(3, 0.01)
    seen = set()
    for place in np.arange(0, 0.5, 1 / 64) + 1 / 128:  # along one tile
        state[axis] = place
        seen.add(basis(state).tobytes())
    assert len(seen) == 4


def test_each_action_has_a_block_of_its_own():
    features = PerAction(OneHot(3), 2)
    np.testing.assert_array_equal(features(1), [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]])
    np.testing.assert_array_equal(features.table(range(3)).reshape(6, 6)[[0, 2, 4, 1, 3, 5]], np.eye(6))
    assert (features.num_actions, features.dim) == (2, 6)


def test_transformed_stays_in_the_unit_ball_and_keeps_proportions_within_the_scale():
    states = np.array([[0.5, 0.5], [1.0, -1.0], [0.0, 0.0]])
    basis = Transformed.fitted(Doubled(), states)
    assert (basis.dim, basis.scale) == (3, 3.0)
    np.testing.assert_allclose(basis(states[0]), [1 / 3] * 3)
    assert np.linalg.norm(basis(states[1])) == pytest.approx(1)
    assert np.linalg.norm(basis(np.array([1e6, 0.0]))) == pytest.approx(1)
    assert PerAction(basis, 2)(states[0]).shape == (2, 6)


def test_bounds_come_from_the_space_if_it_has_any():
    mountain_car = gymnasium.make("MountainCar-v0").observation_space
    low, high = bounds_of(mountain_car)
    assert low == pytest.approx((-1.2, -0.07))
    assert high == pytest.approx((0.6, 0.07))
    cart_pole = gymnasium.make("CartPole-v1").observation_space
    with pytest.raises(ValueError, match=r"^space must have finite bounds, got \[-inf, inf\] at 1"):
        bounds_of(cart_pole)
    with pytest.raises(ValueError, match=r"^space must be a gymnasium.spaces.Box, got Discrete\(3\)$"):
        bounds_of(gymnasium.spaces.Discrete(3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Fourier((0.0,), (0.0,)), r"^high must be above low in every place, got \(0.0,\) and"),
        (lambda: Fourier((), ()), "^low must be an array|^high must be above low"),
        (lambda: Fourier((0.0,), (math.inf,)), r"^high must be finite, got inf at index \(0,\)$"),
        (lambda: Fourier((0.0,) * 9, (1.0,) * 9, order=4), "have 1953125 features, expected at most 10000$"),
        (lambda: Fourier(LOW, HIGH, order=0), "^order must be a positive integer, got 0$"),
        (lambda: RadialBasis(LOW, HIGH, per_axis=1), "^per_axis must be an integer of at least 2, got 1$"),
        (lambda: RadialBasis(LOW, HIGH, width=0.0), "^width must be a number above 0, got 0.0$"),
        (lambda: RadialBasis(LOW, HIGH, centres="some"), "^centres must be one of grid, random, got 'some'"),  # pyright: ignore[reportArgumentType]
        (lambda: Tiles(LOW, HIGH, num_tilings=0), "^num_tilings must be a positive integer, got 0$"),
        (lambda: PerAction(OneHot(2), 0), "^num_actions must be a positive integer, got 0$"),
        (lambda: PerAction(3, 2), "^basis must be a Basis, got 3$"),  # pyright: ignore[reportArgumentType]
        (lambda: OneHot(3)(3), "^state must be from 0 to 2, got 3$"),
        (lambda: BASES["fourier"]((1.0, 2.0, 3.0)), r"^state must have shape \(2\), got \(3,\)$"),
        (lambda: BASES["tiles"]((1.0, math.nan)), r"^state must be finite, got nan at index \(1,\)$"),
        (lambda: Transformed(3, 2), "^transformer must have a method transform, got 3$"),
    ],
)
def test_mistakes_are_one_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_function_of_ones_own_is_taken_as_it_is():
    assert Custom(lambda state: state, 2, 3)("anything") == "anything"
