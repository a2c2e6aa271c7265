"""Bad input is refused with one sentence that names the argument, the value and what was expected."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

import functools
import pickle
import re
import tomllib
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    epsilon_greedy_lsvi,
    lsvi_ucb,
    lsvi_ucb_restart,
    opt_wlsvi,
    sw_lsvi_ucb,
    uniform,
)
from driftwise.base import ArgumentError
from driftwise.base.schema import join_keys
from driftwise.base.validation import require_array, require_choice, require_count, require_numeric
from driftwise.parts import Greedy, NoForgetting, SlidingWindow, Ucb
from tests.examples import SPEC, make

ENVIRONMENT = make()


def refuses(build, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        build()


def test_an_error_says_argument_expectation_and_value_also_after_a_pickle():
    with pytest.raises(ArgumentError) as caught:
        require_choice("mode", "fats", ("fast", "slow"))
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.argument, error.expected, error.value) == ("mode", "be one of fast, slow", "fats")
    assert str(error) == "mode must be one of fast, slow, got 'fats' (did you mean 'fast'?)"
    assert str(error.under("agents.a")) == f"agents.a.{error}"


@pytest.mark.parametrize("value", ["x" * 10_000, np.eye(40), [["a"], "b\n" * 300]])
def test_a_long_value_is_cut_short_and_stands_on_one_line(value):
    message = str(ArgumentError("features", "be an array", value))
    assert message.startswith("features must be an array, got ")
    assert len(message) < 250
    assert "\n" not in message


@pytest.mark.parametrize("value", [0, -3, 2.0, 1.5, "5", None, True, np.bool_(True), np.nan, [3]])
def test_counts_are_positive_integers_and_nothing_else(value):
    refuses(lambda: require_count("num_runs", value), f"num_runs must be a positive integer, got {value!r}")
    for name in ("num_episodes", "num_runs", "record_every", "chunk_size"):
        play = functools.partial(dw.simulate, uniform(SPEC), ENVIRONMENT, **{"num_episodes": 5, name: value})
        refuses(play, f"{name} must be a positive integer, got {value!r}")
    refuses(lambda: dw.Spec(2, 2, value, 2), f"dim must be a positive integer, got {value!r}")


def test_integers_of_numpy_are_counts():
    assert require_count("n", np.int32(4)) == 4
    assert dw.Spec(np.int64(2), 2, 3, 4) == dw.Spec(2, 2, 3, 4)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda v: opt_wlsvi(SPEC, rate=v, radius=1), "rate must be a number in (0, 1]"),
        (lambda v: opt_wlsvi(SPEC, rate=[0.5, v], radius=1), "rate must be a number in (0, 1]"),
        (lambda v: opt_wlsvi(SPEC, rate=0.9, radius=v), "radius must be a number of at least 0"),
        (lambda v: lsvi_ucb(SPEC, radius=1, ridge=v), "ridge must be a number above 0"),
        (lambda v: epsilon_greedy_lsvi(SPEC, epsilon=v), "epsilon must be a number in [0, 1]"),
        (lambda v: sw_lsvi_ucb(SPEC, length=v, radius=1), "length must be an integer of at least 1"),
        (lambda v: lsvi_ucb_restart(SPEC, period=v, radius=1), "period must be an integer of at least 1"),
    ],
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1, "0.5", None, 1j])
def test_hyper_parameters_are_finite_numbers_in_range(build, message, value):
    refuses(lambda: build(value), f"{message}, got ")


REFUSED = [
    (opt_wlsvi, dict(rate=0, radius=1), "rate must be a number in (0, 1], got 0"),
    (opt_wlsvi, dict(rate=1.01, radius=1), "rate must be a number in (0, 1], got 1.01"),
    (opt_wlsvi, dict(rate=True, radius=1), "rate must be a number in (0, 1], got True"),
    (opt_wlsvi, dict(rate=[0.5, 1.5], radius=1), "rate must be a number in (0, 1], got 1.5"),
    (opt_wlsvi, dict(rate=[], radius=1), "rate must be a number in (0, 1], got []"),
    (opt_wlsvi, dict(rate=[[0.5], [0.5, 0.6]], radius=1), "rate must be a number in (0, 1], got [[0.5]"),
    (lsvi_ucb, dict(radius=1, ridge=0), "ridge must be a number above 0, got 0"),
    (lsvi_ucb, dict(radius=1, clip="loose"), "clip must be one of paper, tight, range, none, got 'loose'"),
    (sw_lsvi_ucb, dict(length=2.5, radius=1), "length must be an integer of at least 1, got 2.5"),
    (sw_lsvi_ucb, dict(length=0, radius=1), "length must be an integer of at least 1, got 0"),
    (
        lsvi_ucb.tuned,
        dict(num_episodes=5, variation=make().variation(5)),
        "variation must be a number of at least 0, got Variation(reward_budget=",
    ),
]


@pytest.mark.parametrize(("build", "given", "message"), REFUSED)
def test_recipes_name_what_they_refuse(build, given, message):
    refuses(lambda: build(SPEC, **given), message)
    refuses(lambda: build(make(), **given), "spec must be a Spec, got LinearMdp(")


def test_parts_name_what_they_refuse():
    refuses(lambda: SlidingWindow(3, capacity=-5), "capacity must be an integer of at least 0, got -5")
    said = "norm must be one of sandwich, single, got 'sandwhich' (did you mean"
    refuses(lambda: Ucb(1.0, "sandwhich"), said)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((ENVIRONMENT, NoForgetting(), Greedy()), "spec must be"),
        ((SPEC, "none", Greedy()), "forgetting must be"),
        ((SPEC, NoForgetting, Greedy()), "forgetting must be"),
        ((SPEC, NoForgetting(), 0.1), "exploration must be"),
        ((SPEC, NoForgetting(), Greedy), "exploration must be"),
    ],
)
def test_an_agent_is_built_from_parts_and_nothing_else(parts, message):
    refuses(lambda: dw.LeastSquares(*parts), message)


def test_simulate_names_what_it_refuses():
    agent = opt_wlsvi(SPEC, rate=0.9, radius=1)
    other, unfit = opt_wlsvi(dw.Spec(6, 2, 11, 3), rate=0.9, radius=1), [0.9, 0.8]
    ours = "agent must be built by one of driftwise.algorithms, got"
    cases = [
        (dict(agent=other), f"agent must be built for {SPEC}, got an agent for {other.spec}"),
        (dict(agent="opt_wlsvi"), f"{ours} 'opt_wlsvi'"),
        (dict(agent=opt_wlsvi), f"{ours} <algorithm opt_wlsvi>"),
        (dict(environment="lock"), "environment must be an Environment, got 'lock'"),
        (dict(precision="float16"), "precision must be one of float64, float32, got 'float16'"),
        (dict(seed=-1), "seed must be an integer of at least 0, got -1"),
        (dict(seed=0.5), "seed must be an integer of at least 0, got 0.5"),
        (dict(agent=opt_wlsvi(SPEC, rate=unfit, radius=[1, 2, 3])), "grids must have shapes that fit each"),
    ]
    good: dict[str, Any] = dict(agent=agent, environment=ENVIRONMENT, num_episodes=5)
    for change, message in cases:
        refuses(functools.partial(dw.simulate, **{**good, **change}), message)


def test_numbers_come_back_as_hashable_floats_or_tuples():
    assert require_numeric("x", np.float32(0.5)) == 0.5
    assert require_numeric("x", np.array([[1, 2], [3, 4]])) == ((1.0, 2.0), (3.0, 4.0))
    assert require_numeric("x", [3, 4], integer=True) == (3, 4)
    refuses(lambda: require_numeric("x", 10**400), "x must be a finite number, got 1000")


def test_a_choice_that_is_no_word_is_refused():
    refuses(lambda: require_choice("mode", 3, ("on", "off")), "mode must be one of on, off, got 3")


def test_arrays_are_copied_and_checked():
    mine = np.ones((2, 3))
    assert not np.shares_memory(require_array("x", mine, (None, 3)), mine)
    refuses(lambda: require_array("x", mine, (3, 3)), "x must have shape (3, 3), got (2, 3)")
    refuses(lambda: require_array("x", [1.0, np.nan], (2,)), "x must be finite, got nan at index (1,)")
    refuses(lambda: require_array("x", [[-np.inf, 0]], (1, 2)), "x must be finite, got -inf at index (0, 0)")
    refuses(lambda: require_array("x", {"a": 1}, (2,)), "x must be an array of numbers, got {'a': 1}")


def test_keys_in_errors_are_keys_of_toml_in_which_only_what_cannot_be_printed_is_escaped():
    assert join_keys("agents", "é\u200b", "😀\0") == 'agents."é\\u200b"."😀\\u0000"'
    for key in ("OPT-WLSVI", "é\u200b", "😀\0", "\U000e0001", 'a"\\\n'):
        assert tomllib.loads(f"{join_keys(key)} = 1") == {key: 1}
