"""The first length of run at which a bound says something, and what can be lost at all."""
# pyright: reportOptionalOperand=false

import math
from dataclasses import replace

import pytest

from driftwise.theory.bounds import BOUNDS, Setting, first_useful_length
from driftwise.theory.confidence import SEARCH_STEP

EXPLICIT = [name for name, bound in BOUNDS.items() if not bound.rate_only]


@pytest.mark.parametrize("name", EXPLICIT)
def test_the_first_useful_length_is_the_first(name):
    bound = BOUNDS[name]
    setting = Setting(2, 1000, 0.0 if bound.forgetting == "none" else 0.5, constant=0.1)
    first = first_useful_length(bound, setting)
    assert first is not None
    assert bound.evaluate(replace(setting, num_episodes=first)).is_informative
    assert not bound.evaluate(replace(setting, num_episodes=first - 1)).is_informative
    assert first_useful_length(bound, setting, limit=first - 1) is None


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("sw_lin_ucb", Setting(1, 1000, 2e-3, noise_scale=1.0)),  # at 478, not from 500 to 1,000, at 1,079
        ("sw_lin_ucb", Setting(1, 1000, 1.5e-3, noise_scale=1.5)),
        ("theorem_1", Setting(2, 1000, 1e-3, constant=1e-3)),
    ],
)
def test_the_first_useful_length_is_found_where_longer_ones_are_of_no_use_again(name, setting):
    def is_useful(length: int) -> bool:
        return BOUNDS[name].evaluate(replace(setting, num_episodes=length)).is_informative

    first = first_useful_length(BOUNDS[name], setting)
    assert not any(map(is_useful, range(1, math.ceil(first / SEARCH_STEP))))  # up to a step of the search
    assert not all(is_useful(math.ceil(first * 1.3**step)) for step in range(60))


def test_a_bandit_can_lose_twice_the_norm_in_a_round_and_an_mdp_its_horizon():
    setting = Setting(2, 1000, 1.0, horizon=1, norm_bound=3.0)
    assert BOUNDS["oful"].evaluate(setting).trivial == 6000
    assert BOUNDS["lsvi_ucb"].evaluate(replace(setting, horizon=4)).trivial == 4000


def test_a_drift_that_goes_on_is_never_outlasted_nor_any_by_what_never_forgets():
    setting = Setting(10, 1000, 5.0, horizon=5)
    for name in ("theorem_1", "theorem_1_ridge_dim", "lsvi_ucb_restart"):
        assert first_useful_length(BOUNDS[name], setting) is not None
        assert first_useful_length(BOUNDS[name], setting, growth="proportional") is None
    assert first_useful_length(BOUNDS["oful"], Setting(2, 1000, 0.5)) is None
    assert first_useful_length(BOUNDS["oful"], Setting(2, 1000, 0.0)) is not None
