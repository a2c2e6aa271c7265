"""How fast a linear bandit should forget: numbers computed by hand."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest

from driftwise.theory.bandit_tuning import (
    TUNINGS,
    bandit_memory,
    bandit_rate,
    bandit_ridge,
    bandit_window,
    weight_ucb_rate,
)

SIZES: dict[str, Any] = dict(dim=16, num_episodes=10_000)
CHOICES = list(itertools.product(TUNINGS, ("one", "dim")))


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
    corrected = -math.log(bandit_rate(**options))
    assert corrected == pytest.approx(d**-0.25 * math.sqrt(budget / rounds), rel=1e-10)
    with_dim = -math.log(bandit_rate(**options, ridge="dim"))
    assert with_dim == pytest.approx(math.sqrt(budget / (d * rounds)), rel=1e-10)


@pytest.mark.parametrize(("ridge", "memory"), [(1, 100.0), (16.0, 200.0), (1 / 16, 50.0), (256, 400.0)])
def test_a_ridge_may_be_any_number_and_the_named_ones_are_two_of_them(ridge, memory):
    """(√(16λ) · 10⁴/4)^½ = 2·50·λ^¼."""
    assert bandit_memory(**SIZES, variation=4.0, ridge=ridge) == pytest.approx(memory, rel=1e-12)
    for name, value in (("one", 1), ("dim", 16.0)):
        for function in (bandit_memory, bandit_rate, bandit_window):
            named, given = (function(**SIZES, variation=3.7, ridge=each) for each in (name, value))
            assert named == given
    assert bandit_ridge(dim=16, ridge=ridge) == ridge


def test_windows_of_whole_numbers_are_not_rounded_up():
    """(2·32/1)^⅔ = 16 and √(2·315/0.7) = 30, of which floats make 30.000000000000004."""
    assert bandit_window(dim=2, num_episodes=32, variation=1.0, tuning="published") == 16
    assert bandit_window(dim=2, num_episodes=315, variation=0.7, ridge="dim") == 30


@pytest.mark.parametrize(("tuning", "ridge"), CHOICES)
def test_more_variation_means_a_shorter_memory(tuning, ridge):
    variations = (0.0, 5e-324, 1e-6, 0.1, 1.0, 10.0, 1e3)
    options = [dict(**SIZES, variation=v, tuning=tuning, ridge=ridge) for v in variations]
    for function in (bandit_memory, bandit_rate, bandit_window):
        values = [function(**each) for each in options]
        assert values == sorted(values, reverse=True)
        assert values[3] > values[4] > values[5]


@pytest.mark.parametrize(("tuning", "ridge"), CHOICES)
def test_without_variation_nothing_is_forgotten_and_with_hardly_any_hardly_anything(tuning, ridge):
    still, almost = (dict(**SIZES, variation=v, tuning=tuning, ridge=ridge) for v in (0, 1e-20))
    assert bandit_rate(**still) == 1.0
    assert bandit_memory(**still) == math.inf
    assert bandit_window(**still) == bandit_window(**almost) == SIZES["num_episodes"]
    assert bandit_rate(**almost) == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize(("tuning", "ridge"), CHOICES)
def test_whatever_the_variation_the_last_round_counts(tuning, ridge):
    huge = dict(**SIZES, variation=1e300, tuning=tuning, ridge=ridge)
    assert bandit_memory(**huge) == 1.0
    assert bandit_window(**huge) == 1
    assert bandit_rate(**huge) == pytest.approx(math.exp(-1) if tuning == "corrected" else 0.5)


def test_rate_of_weight_ucb():
    assert weight_ucb_rate(dim=4, num_episodes=100, variation=1.0) == pytest.approx(0.95)  # 1 − √(1/400)
    assert weight_ucb_rate(dim=4, num_episodes=100, variation=0.04) == pytest.approx(0.99)  # both are 1/100
    assert weight_ucb_rate(dim=4, num_episodes=100, variation=0.0) == pytest.approx(0.99)
    assert weight_ucb_rate(dim=4, num_episodes=100, variation=1e9) == 0.5
    rates = [weight_ucb_rate(**SIZES, variation=v) for v in np.logspace(-1, 2, 9)]
    assert rates == sorted(set(rates), reverse=True)


def test_ridge_is_one_or_the_dimension():
    assert (bandit_ridge(dim=7, ridge="one"), bandit_ridge(dim=7, ridge="dim")) == (1.0, 7.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(dim=0), "dim must be a positive integer, got 0"),
        (dict(num_episodes=1.5), "num_episodes must be a positive integer, got 1.5"),
        (dict(variation=-1.0), "variation must be a number of at least 0, got -1.0"),
        (dict(variation=math.nan), "variation must be a number of at least 0, got nan"),
        (dict(variation=(1.0, 2.0)), "variation must be a single number, got (1.0, 2.0)"),
        (dict(tuning="correct"), "tuning must be one of published, corrected, orthogonal, got 'correct'"),
        (dict(ridge="two"), "ridge must be one of one, dim, got 'two'"),
        (dict(ridge=0), "ridge must be a number above 0, got 0"),
        (dict(ridge=True), "ridge must be a number above 0, got True"),
        (dict(ridge=None), "ridge must be a number above 0, got None"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    options = dict(**SIZES, variation=1.0) | change
    functions = [bandit_memory, bandit_rate, bandit_window]
    if change.keys() <= {"dim", "num_episodes", "variation"}:
        functions.append(weight_ucb_rate)
    for function in functions:
        with pytest.raises(ValueError, match=re.escape(message)):
            function(**options)
