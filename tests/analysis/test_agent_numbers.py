"""The numbers that agents really have are found in their configurations."""

import math
from typing import Any

import pytest

import driftwise as dw
from driftwise.analysis.agent_numbers import (
    AgentNumbers,
    extract_numbers,
    format_agent_numbers,
    number_cell,
    number_columns,
)
from driftwise.base import to_config
from tests.examples import SPEC

NONE = math.nan


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("opt_wlsvi", dict(rate=0.98, radius=0.3), AgentNumbers(0.98, 50, 0.3, NONE, NONE)),
        ("sw_lsvi_ucb", dict(length=200, radius=0.3), AgentNumbers(NONE, 200, 0.3, NONE, NONE)),
        ("lsvi_ucb_restart", dict(period=90, radius=0.3), AgentNumbers(NONE, 90, 0.3, NONE, NONE)),
        ("lsvi_ucb", dict(radius=0.3), AgentNumbers(NONE, math.inf, 0.3, NONE, NONE)),
    ],
)
def test_rate_memory_and_radius_are_those_of_the_recipe(name, parameters, expected) -> None:
    agent = dw.algorithms.build(SPEC, name, **parameters)
    (found,) = extract_numbers(to_config(agent), None)
    assert found == pytest.approx(expected, nan_ok=True)


def test_what_a_tuning_gave_is_shown_with_the_variation_it_was_told() -> None:
    agent: Any = dw.algorithms.opt_wlsvi.tuned(SPEC, num_episodes=500, variation=3.0)
    (found,) = extract_numbers(to_config(agent), 3.0)
    assert (found.rate, found.radius) == (agent.forgetting.rate, agent.exploration.radius)
    assert found.variation == 3.0


def test_the_numbers_of_an_agent_are_a_line_of_those_it_has() -> None:
    assert format_agent_numbers([AgentNumbers(0.98, 50, NONE, NONE, 3.0)]) == "η = 0.98, memory = 50, Δ = 3"
    assert format_agent_numbers([AgentNumbers(*[NONE] * 5)]) == ""


def test_an_agent_that_wraps_another_has_the_numbers_of_that_one() -> None:
    base = dw.algorithms.lsvi_ucb(SPEC, radius=0.3)
    wrapped = dw.algorithms.random_restart(base, probability=0.1)
    assert [each.radius for each in extract_numbers(to_config(wrapped), None)] == [0.3]


def test_columns_that_no_agent_fills_are_left_out_and_rates_near_one_stay_apart_from_it() -> None:
    none = [NONE] * 3
    agents = [AgentNumbers(0.999996, 250_000, *none), AgentNumbers(NONE, math.inf, *none)]
    assert [*number_columns(agents)] == ["rate", "memory"]
    assert [number_cell("rate", [each]).text for each in agents] == ["0.999996", "–"]
    assert [number_cell("memory", [each]).text for each in agents] == ["250,000", "all"]


def test_an_agent_with_candidates_has_numbers_from_the_lowest_to_the_highest() -> None:
    mixture = dw.algorithms.adaptive_opt_wlsvi(SPEC, radius=0.3, longest=64)
    found = extract_numbers(to_config(mixture), None)
    assert format_agent_numbers(found) == "η = 0.875 … 1, memory = 8 … all, β = 0.3"
    windows = dw.algorithms.adaptive(dw.algorithms.sw_lsvi_ucb(SPEC, length=[50, 200], radius=0.3))
    assert format_agent_numbers(extract_numbers(to_config(windows), None)) == "memory = 50 … 200, β = 0.3"
