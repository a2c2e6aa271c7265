"""Inventory, machine and queue: tables computed by hand, and the shape of the best policy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from driftwise.environments import admission_control, inventory, machine_replacement
from driftwise.environments.drift import Abrupt
from tests.exact import best, tables

TWO = Abrupt((1,))


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


def test_any_demand_is_a_distribution():
    for demand in (1e-300, 700.0, 1e300):
        probability = tables(inventory(demands=(demand,)))[1]
        np.testing.assert_allclose(probability.sum(axis=-1), 1, rtol=1e-12)


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
