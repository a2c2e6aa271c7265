"""How fast a linear bandit should forget: numbers computed by hand."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from driftwise.theory import bandit_tuning
from driftwise.theory.bandit_tuning import (
    TUNINGS,
    RidgeRule,
    bandit_memory,
    bandit_rate,
    bandit_ridge,
    bandit_window,
)

SIZES: dict[str, Any] = dict(dim=16, num_episodes=10_000)
FUNCTIONS = bandit_memory, bandit_rate, bandit_window


@pytest.mark.parametrize(
    ("tuning", "ridge", "memory"),
    [
        ("published", "one", 1169.6070952851465),  # (16·10⁴/4)^⅔ = 40000^⅔ = e^{7.064423…}
        ("published", "dim", 1169.6070952851465),
        ("corrected", "one", 100.0),  # 16^¼ · (10⁴/4)^½ = 2 · 50
        ("corrected", "dim", 200.0),  # (16·10⁴/4)^½ = √40000
        ("orthogonal", "one", 1169.6070952851465),
        ("orthogonal", "dim", 1169.6070952851465),
    ],
)
def test_every_row_of_the_table(tuning, ridge, memory):
    options = dict(**SIZES, variation=4.0, tuning=tuning, ridge=ridge)
    assert bandit_memory(**options) == pytest.approx(memory, rel=1e-12)
    assert bandit_window(**options) == math.ceil(memory)
    rate = math.exp(-1 / memory) if tuning == "corrected" else 1 - 1 / memory
    assert bandit_rate(**options) == pytest.approx(rate, rel=1e-14)


def test_rates_as_printed():
    """Published γ = 1 − (B/(dT))^⅔; corrected log(1/η) = d^{−¼}(Δ/K)^½, and (Δ/(dK))^½ with λ = d."""
    d, rounds, budget = 2, 6000, 4 + math.sqrt(2)
    options: dict[str, Any] = dict(dim=d, num_episodes=rounds, variation=budget)
    published = 1 - (budget / (d * rounds)) ** (2 / 3)
    assert bandit_rate(**options, tuning="published") == pytest.approx(published, rel=1e-14)
    rates: dict[RidgeRule, float] = {
        "one": d**-0.25 * math.sqrt(budget / rounds),
        "dim": math.sqrt(budget / (d * rounds)),
    }
    for ridge, expected in rates.items():
        assert -math.log(bandit_rate(**options, ridge=ridge)) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("ridge", "memory"), [(1, 100.0), (16.0, 200.0), (1 / 16, 50.0), (256, 400.0)])
def test_a_ridge_may_be_any_number_and_the_named_ones_are_two_of_them(ridge, memory):
    """(√(16λ) · 10⁴/4)^½ = 2·50·λ^¼."""
    assert bandit_memory(**SIZES, variation=4.0, ridge=ridge) == pytest.approx(memory, rel=1e-12)
    values: dict[RidgeRule, float] = {"one": 1, "dim": 16.0}
    for name, value in values.items():
        assert bandit_ridge(dim=16, ridge=name) == bandit_ridge(dim=16, ridge=value) == value
        for function in FUNCTIONS:
            named, given = (function(**SIZES, variation=3.7, ridge=ridge) for ridge in (name, value))
            assert named == given


def test_windows_of_whole_numbers_are_not_rounded_up():
    """(2·32/1)^⅔ = 16 and √(2·315/0.7) = 30, of which floats make 30.000000000000004."""
    assert bandit_window(dim=2, num_episodes=32, variation=1.0, tuning="published") == 16
    assert bandit_window(dim=2, num_episodes=315, variation=0.7, ridge="dim") == 30


@pytest.mark.parametrize(("tuning", "ridge"), [*itertools.product(TUNINGS, ("one", "dim"))])
def test_more_variation_means_a_shorter_memory_from_the_whole_run_to_the_last_round(tuning, ridge):
    variations = (0.0, 5e-324, 1e-20, 1e-6, 0.1, 1.0, 10.0, 1e3, 1e300)
    options: list[Any] = [dict(**SIZES, variation=each, tuning=tuning, ridge=ridge) for each in variations]
    memories, rates, windows = ([function(**each) for each in options] for function in FUNCTIONS)
    for values in (memories, rates, windows):
        assert values == sorted(values, reverse=True)
        assert values[4] > values[5] > values[6]
    assert (memories[0], rates[0], windows[0]) == (math.inf, 1.0, SIZES["num_episodes"])
    assert (windows[2], rates[2]) == (SIZES["num_episodes"], pytest.approx(1.0, abs=1e-10))
    slowest = pytest.approx(math.exp(-1) if tuning == "corrected" else 0.5)
    assert (memories[-1], windows[-1], rates[-1]) == (1.0, 1, slowest)


def test_rate_of_weight_ucb():
    expected = {1.0: 0.95, 0.04: 0.99, 0.0: 0.99, 1e9: 0.5}  # 1 − √(1/400); with 0.04 both are 1/100
    for variation, rate in expected.items():
        assert bandit_tuning.weight_ucb_rate(dim=4, num_episodes=100, variation=variation) == pytest.approx(
            rate
        )
    rates = [bandit_tuning.weight_ucb_rate(**SIZES, variation=v) for v in np.logspace(-1, 2, 9)]
    assert rates == sorted(set(rates), reverse=True)
