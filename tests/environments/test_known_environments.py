"""Environments people recognise: tables computed by hand, and what is known of each of them."""

import math

import numpy as np
import pytest

import driftwise as dw
from driftwise.base import Spec
from driftwise.environments import (
    admission_control,
    deep_sea,
    four_rooms,
    hard_instance,
    inventory,
    machine_replacement,
    river_swim,
)
from tests.reference import planning
from tests.reference.planning import best, start_value, tables

TWO = dw.drift.Abrupt((1,))
DEFAULT_SIZES = {
    hard_instance: Spec(num_states=8, num_actions=8, dim=5, horizon=6),
    river_swim: Spec(num_states=6, num_actions=2, dim=12, horizon=20),
    deep_sea: Spec(num_states=10, num_actions=2, dim=20, horizon=10),
    four_rooms: Spec(num_states=40, num_actions=4, dim=40, horizon=20),
    inventory: Spec(num_states=7, num_actions=7, dim=49, horizon=10),
    machine_replacement: Spec(num_states=10, num_actions=2, dim=20, horizon=20),
    admission_control: Spec(num_states=10, num_actions=4, dim=40, horizon=20),
}
both_anchors = pytest.mark.parametrize("t", [0, 1])


@pytest.mark.parametrize("make", DEFAULT_SIZES, ids=lambda make: make.__name__)
def test_defaults_are_of_the_documented_size_and_what_was_best_before_a_change_is_not_after_it(make):
    environment = make(drift=TWO)
    assert environment.spec == make().spec == DEFAULT_SIZES[make]
    assert environment.variation(2).total > 0
    assert make().variation(2).total == 0
    for t in (0, 1):
        stale = np.eye(environment.spec.num_actions)[best(environment, 1 - t)[1]]
        values = planning.of_policy(environment.features, environment.model(t), stale)
        assert environment.initial @ values[0] < best(environment, t)[0] - 0.1


@both_anchors
def test_hard_instance_pays_those_who_know_the_signs(t):
    """p = 1/H + mε = 1/4 + 2·0.1 = 0.45; V* = p·3 + p(1−p)·2 + p(1−p)²·1."""
    environment = hard_instance(num_signs=2, horizon=4, gap=0.1, drift=TWO)
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    _, probability = planning.kernel(environment.features, environment.model(t))
    value, action = best(environment, t)
    for h in range(4):
        enters = probability[h, h, :, -1]
        np.testing.assert_allclose(probability[h, h, :, h + 1], 1 - enters, rtol=1e-12)
        nu = 0.1 * signs[enters.argmax()]
        np.testing.assert_allclose(enters, 1 / 4 + signs @ nu, rtol=1e-12)
        if h < 3:  # after the last step nothing is paid any more
            np.testing.assert_array_equal(signs[action[h, h]], np.sign(nu))
    np.testing.assert_allclose(value, 0.45 * 3 + 0.45 * 0.55 * 2 + 0.45 * 0.55**2, rtol=1e-12)
    np.testing.assert_array_equal(tables(environment, t)[0][:, 0], [0, 0, 0, 0, 0, 1])
    signs = np.sign(hard_instance(horizon=10, drift=TWO).mu[:, :, 1:-1, -1]).reshape(20, 3)
    assert len(np.unique(signs, axis=0)) > 4  # drawn for every step and anchor


def test_river_swim_has_the_published_numbers_and_it_is_best_to_swim_on_while_there_is_time():
    reward, probability = tables(river_swim(num_states=4))
    np.testing.assert_array_equal(reward, [[0.005, 0], [0, 0], [0, 0], [0, 1]])
    left = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    right = [[0.4, 0.6, 0, 0], [0.05, 0.6, 0.35, 0], [0, 0.05, 0.6, 0.35], [0, 0, 0.4, 0.6]]
    np.testing.assert_array_equal(probability[:, 0], left)
    np.testing.assert_array_equal(probability[:, 1], right)
    action = best(river_swim())[1]
    np.testing.assert_array_equal(action[:10], 1)
    np.testing.assert_array_equal(action[-1], [0, 0, 0, 0, 0, 1])
    drifting = np.eye(2)[np.zeros(6, dtype=int)]
    np.testing.assert_allclose(start_value(river_swim(), drifting), 20 * 0.005, rtol=1e-12)
    assert best(river_swim())[0] > 3


def test_the_turned_river_is_the_mirror_image():
    environment = river_swim(start="middle", drift=TWO)
    for now, turned in zip(tables(environment, 0), tables(environment, 1), strict=True):
        np.testing.assert_array_equal(np.flip(now), turned)
    np.testing.assert_allclose(best(environment, 0)[0], best(environment, 1)[0], rtol=1e-12)
    np.testing.assert_array_equal(environment.initial, [0, 0, 0.5, 0.5, 0, 0])
    np.testing.assert_array_equal(river_swim(num_states=3, start="middle").initial, [0, 1, 0])


@both_anchors
@pytest.mark.parametrize("size", [2, 5])
def test_deep_sea_is_worth_the_treasure_and_chance_does_not_find_it(size, t):
    """Of 2^N paths one finds 1; every other pays move_cost/N for each move to the left, N/2 in the mean."""
    environment = deep_sea(size=size, move_cost=0.1, drift=TWO)
    assert best(environment, t)[0] == 1.0
    uniform = start_value(environment, np.full((size, 2), 0.5), t)
    np.testing.assert_allclose(uniform, 0.5**size + 0.1 / 2, rtol=1e-12)
    free = deep_sea(size=size, move_cost=0, drift=TWO)
    np.testing.assert_allclose(start_value(free, np.full((size, 2), 0.5), t), 0.5**size, rtol=1e-12)


def test_a_dive_in_deep_sea_moves_one_column_a_step():
    reward, probability = tables(deep_sea(size=4, move_cost=0.1))
    for column in range(4):
        right = int(reward[column].argmin())
        np.testing.assert_allclose(reward[column, 1 - right], 0.1 / 4)
        assert reward[column, right] == 0
        assert probability[column, right, min(column + 1, 3)] == 1
        assert probability[column, 1 - right, max(column - 1, 0)] == 1


def test_four_rooms_without_slips_are_worth_the_shortest_paths():
    """Side 5: rooms of 2 × 2. From one corner to the opposite are 8 moves through two doors.

    s.#..        The next corner: 4 columns, and 1 row down to the door and up again, so 6.
    .....
    #.#.#
    .....
    ..#.g
    """
    environment = four_rooms(side=5, horizon=9, slip=0, drift=dw.drift.Periodic(3, num_anchors=3))
    assert environment.spec == Spec(num_states=20, num_actions=4, dim=20, horizon=9)
    assert four_rooms(side=11, horizon=1).spec == Spec(num_states=104, num_actions=4, dim=104, horizon=1)
    values = [best(environment, t)[0] for t in range(3)]
    np.testing.assert_allclose(values, [9 + 1 - 8, 9 + 1 - 6, 9 + 1 - 6], rtol=1e-12)


def test_four_rooms_slide_after_a_move():
    """Down from the corner aims at cell 4, (1, 0): its neighbours are 0 and 5, and walls are to its sides.

    Cells of side 5: row 0 is 0, 1, wall, 2, 3; row 1 is 4 … 8; row 2 is wall, 9, wall, 10, wall.
    """
    reward, probability = tables(four_rooms(side=5, slip=0.2))
    expected = np.zeros(20)
    expected[[0, 4, 5]] = 0.05, 0.8 + 2 * 0.05, 0.05
    np.testing.assert_allclose(probability[0, 2], expected, rtol=1e-12)
    np.testing.assert_array_equal(reward, probability[:, :, 19])  # the goal is the last corner


def test_inventory_against_a_hand_computed_table():
    """Capacity 2, demand 1: P(D = 0) = P(D = 1) = 1/e, P(D ≥ 2) = 1 − 2/e. Profits lie in [−1.3, 2]."""
    reward, probability = tables(inventory(capacity=2, demands=(1.0,), setup_cost=0.1))
    e = 1 / math.e
    by_shelf = np.array([[1, 0, 0], [1 - e, e, 0], [1 - 2 * e, e, e]])
    earned = np.array([0, 1 - e, e + 2 * (1 - 2 * e)]) - 0.1 * np.array([0, e, e + 2 * e])
    for stock, order in np.ndindex(3, 3):
        shelf = min(stock + order, 2)
        np.testing.assert_allclose(probability[stock, order], by_shelf[shelf], rtol=0, atol=1e-12)
        profit = earned[shelf] - 0.5 * (shelf - stock) - 0.1 * (shelf > stock)
        np.testing.assert_allclose(reward[stock, order], (profit + 1.3) / 3.3, rtol=1e-12)
    for demand in (1e-300, 700.0, 1e300):  # of any, probabilities sum to one, as it is checked
        inventory(demands=(demand,))


@pytest.mark.parametrize(("t", "level"), [(0, 2), (1, 6)])
def test_without_a_setup_cost_orders_fill_up_to_a_level(t, level):
    order = best(inventory(drift=TWO), t)[1]
    stock = np.arange(7)
    for step in order:
        np.testing.assert_array_equal(step, np.maximum(step[0] - stock, 0))
    assert order[0, 0] == level
    assert order[-1, 0] < level  # what remains at the end is worth nothing


def test_a_setup_cost_makes_orders_rare():
    """The (s, S) rule: below s fill up to S, else wait; so the least order is larger than one."""
    order = best(inventory(setup_cost=0.5))[1][0]
    s = int((order == 0).argmax())
    np.testing.assert_array_equal(order[s:], 0)
    np.testing.assert_array_equal(order[:s] + np.arange(s), order[0])
    assert order[s - 1] > 1


def test_machine_replacement_against_a_hand_computed_table():
    reward, probability = tables(machine_replacement(num_conditions=3, wear=(0.25,), replacement_cost=0.7))
    np.testing.assert_allclose(reward, [[1, 0.3], [0.5, 0.3], [0, 0.3]], rtol=1e-12)
    new = [0.75, 0.25, 0]
    expected = [[new, new], [[0, 0.75, 0.25], new], [[0, 0, 1], new]]
    np.testing.assert_array_equal(probability, expected)


@pytest.mark.parametrize(("t", "threshold"), [(0, 1), (1, 3)])
def test_machines_are_replaced_from_some_condition_on(t, threshold):
    action = best(machine_replacement(drift=TWO), t)[1]
    assert (np.diff(action, axis=1) >= 0).all()
    assert action[0].argmax() == threshold
    assert action[-1].argmax() == 7  # the last step: 1 − i/9 < 1 − 0.7


def test_admission_control_against_a_hand_computed_table():
    """Room for 2, load 0.5; low = −0.5 − 0.3, so rewards are (profit + 0.8)/1.8. Fast service: 0.6."""
    reward, probability = tables(admission_control(capacity=2, loads=(0.5,)))
    np.testing.assert_allclose(probability[1, 0], [0.2, 0.8, 0], rtol=1e-12)  # reject, slow
    np.testing.assert_allclose(probability[1, 3], [0.3, 0.5, 0.2], rtol=1e-12)  # admit, fast
    np.testing.assert_allclose(probability[0, 2], [0.5, 0.5, 0], rtol=1e-12)  # admit; none to serve
    np.testing.assert_allclose(probability[2, 2], [0, 0.2, 0.8], rtol=1e-12)  # full
    np.testing.assert_allclose(reward[1], (np.array([0, -0.3, 0.5, 0.2]) - 0.25 + 0.8) / 1.8, rtol=1e-12)
    np.testing.assert_allclose(reward[2, 2], (-0.5 + 0.8) / 1.8, rtol=1e-12)


@pytest.mark.parametrize(("t", "threshold"), [(0, 5), (1, 2)])
def test_customers_are_admitted_below_some_length_and_served_fast_above_another(t, threshold):
    admits, is_fast = divmod(best(admission_control(drift=TWO), t)[1], 2)
    assert (np.diff(admits, axis=1) <= 0).all()
    assert (np.diff(is_fast, axis=1) >= 0).all()
    assert admits[0].sum() == threshold
    assert (is_fast[:, 0] == 0).all()
