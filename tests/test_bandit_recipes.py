"""The recipes for bandits: the parts they are, the numbers theory gives them, and what they refuse."""
# Bad arguments are the point of some tests here, and parts are looked into.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import (
    ALGORITHMS,
    d_lin_ts,
    d_lin_ucb,
    d_rand_lin_ucb,
    epsilon_greedy,
    greedy,
    lin_ts,
    lin_ucb,
    oracle_restart,
    restart_lin_ucb,
    sw_lin_ucb,
    uniform,
    weight_ucb,
)
from driftwise.environments import russac_abrupt
from driftwise.exploration import EpsilonGreedy, Greedy, RandomisedUcb, Thompson, Ucb, Uniform
from driftwise.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, RestartAt, SlidingWindow
from driftwise.least_squares import LeastSquares
from driftwise.parts import from_config, to_config
from driftwise.theory.radii import CountingRadius, SelfNormalisedRadius, WeightedRadius, WindowRadius
from driftwise.types import Spec
from tests.examples import SPEC as MDP

SPEC = Spec.bandit(dim=4, num_arms=7)
ASSUMED: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1, ridge=0.5)
HORIZON: dict[str, Any] = dict(**ASSUMED, num_episodes=60)


def test_recipes_are_the_parts_they_are_described_as():
    published = WeightedRadius(0.9, 0.3, 0.8, 0.1, spread="published")
    anytime = WindowRadius(9, 0.3, 0.8, 0.1, scale=0.5)
    horizon = WeightedRadius(0.9, 0.3, 0.8, 0.1, num_rounds=60, spread="horizon")
    counting, epoch = CountingRadius(0.3, 0.8, 0.1), CountingRadius(0.3, 0.8, 0.1, period=7)
    weights = ExponentialWeights(0.9)
    for agent, (forgetting, exploration) in {
        d_lin_ucb(SPEC, rate=0.9, confidence="published", **ASSUMED): (weights, Ucb(published)),
        d_lin_ucb(SPEC, rate=0.9, norm="single", **HORIZON): (weights, Ucb(horizon, "single")),
        weight_ucb(SPEC, rate=0.9, **HORIZON): (weights, Ucb(horizon, "single")),
        d_rand_lin_ucb(SPEC, rate=0.9, sign="signed", **HORIZON): (weights, RandomisedUcb(horizon, "signed")),
        sw_lin_ucb(SPEC, length=9, radius_scale=0.5, **ASSUMED): (SlidingWindow(9), Ucb(anytime)),
        restart_lin_ucb(SPEC, period=7, **ASSUMED): (PeriodicRestart(7), Ucb(epoch)),
        lin_ucb(SPEC, **ASSUMED): (NoForgetting(), Ucb(counting)),
        oracle_restart(SPEC, changes=(3, 9), **ASSUMED, information="count"): (
            RestartAt((3, 9)),
            Ucb(counting),
        ),
        lin_ucb(SPEC, information="determinant", **ASSUMED): (
            NoForgetting(),
            Ucb(SelfNormalisedRadius(0.3, 0.8, 0.1)),
        ),
        d_lin_ts(SPEC, rate=0.9, scale=0.7, ridge=0.5): (weights, Thompson(0.7)),
        lin_ts(SPEC, scale=0.7, ridge=0.5): (NoForgetting(), Thompson(0.7)),
        epsilon_greedy(SPEC, epsilon=0.1, rate=0.9, ridge=0.5): (weights, EpsilonGreedy(0.1)),
        greedy(SPEC, ridge=0.5): (NoForgetting(), Greedy()),
    }.items():
        assert agent == LeastSquares(SPEC, forgetting, exploration, ridge=0.5)
    assert uniform(SPEC) == LeastSquares(SPEC, NoForgetting(), Uniform())


def test_a_given_radius_replaces_the_computed_one():
    for agent in (
        d_lin_ucb(SPEC, rate=0.9, radius=2, **HORIZON),
        sw_lin_ucb(SPEC, length=3, radius=2),
        lin_ucb(SPEC, radius=2, **ASSUMED),
    ):
        assert agent.exploration == Ucb(2.0)


# d = 4, K = 100, Δ = 4: memories of √2·√25, √(4·25) for λ = d, and 100^⅔
TUNED: dict[str, Any] = dict(num_episodes=100, variation=4.0)
MEMORIES = {
    ("corrected", "one"): (0.8681234453, 8),  # exp(−1/7.0710678), ⌈7.07⌉
    ("corrected", "dim"): (0.9048374180, 10),  # exp(−1/10)
    ("published", "one"): (0.9535841117, 22),  # 1 − 1/21.5443469, ⌈21.5⌉
    ("orthogonal", "one"): (0.9535841117, 22),
}


@pytest.mark.parametrize(("tuning", "ridge"), MEMORIES)
def test_tuned_forms_forget_as_theory_says(tuning, ridge):
    rate, length = MEMORIES[tuning, ridge]
    given: dict[str, Any] = dict(**TUNED, tuning=tuning, ridge=ridge)
    confident: dict[str, Any] = dict(**given, noise_scale=0.3, norm_bound=0.8, delta=0.1, radius_scale=0.5)
    spread: dict[str, Any] = dict(num_rounds=100, spread="horizon")
    if tuning == "published":
        spread = dict(spread="published")
    lam = 4.0 if ridge == "dim" else 1.0
    weighted = [d_lin_ucb.tuned(SPEC, **confident), d_rand_lin_ucb.tuned(SPEC, **confident)]
    for agent in weighted:
        forgotten = agent.forgetting.rate
        radius = WeightedRadius(forgotten, 0.3, 0.8, 0.1, scale=0.5, **spread)
        assert agent.exploration.radius == radius
    for agent in (
        *weighted,
        d_lin_ts.tuned(SPEC, **given, scale=0.7),
        epsilon_greedy.tuned(SPEC, **given),
    ):
        np.testing.assert_allclose(agent.forgetting.rate, rate, rtol=1e-9)
        assert agent.ridge == lam
    window, restart = sw_lin_ucb.tuned(SPEC, **confident), restart_lin_ucb.tuned(SPEC, **confident)
    assert window == LeastSquares(
        SPEC, SlidingWindow(length), Ucb(WindowRadius(length, 0.3, 0.8, 0.1, scale=0.5, **spread)), lam
    )
    assert restart == LeastSquares(
        SPEC, PeriodicRestart(length), Ucb(CountingRadius(0.3, 0.8, 0.1, length, 0.5)), lam
    )


def test_tuned_weight_ucb_has_the_ridge_of_its_paper():
    published = weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, tuning="published")
    np.testing.assert_allclose(published.forgetting.rate, 0.9, rtol=1e-12)  # 1 − √(4/400)
    assert published == weight_ucb(
        SPEC, rate=published.forgetting.rate, noise_scale=0.3, ridge=4.0, confidence="published"
    )
    corrected = weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3)
    np.testing.assert_allclose(corrected.forgetting.rate, 0.9048374180, rtol=1e-9)
    assert (corrected.ridge, corrected.exploration.radius.spread) == (4.0, "horizon")
    assert weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, ridge="one").ridge == 1.0


def test_tuned_forms_of_what_never_forgets():
    known: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1, radius_scale=0.5)
    assert lin_ucb.tuned(SPEC, **TUNED, **known, ridge="dim") == lin_ucb(SPEC, **known, ridge=4.0)
    assert oracle_restart.tuned(SPEC, **TUNED, **known, changes=(9, 30), ridge="dim") == oracle_restart(
        SPEC, changes=(9, 30), **known, ridge=4.0
    )
    assert lin_ts.tuned(SPEC, **TUNED, scale=0.7, ridge="dim") == lin_ts(SPEC, scale=0.7, ridge=4.0)
    assert greedy.tuned(SPEC, **TUNED) == greedy(SPEC)
    np.testing.assert_allclose(  # (7/100)^⅓
        epsilon_greedy.tuned(SPEC, **TUNED).exploration.epsilon, 0.4121285300, rtol=1e-9
    )


NOISE = "noise_scale must be a number of at least 0 where no radius is given, got None"


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (d_lin_ucb, dict(rate=0.9), NOISE),
        (lin_ucb, {}, NOISE),
        (d_lin_ucb, dict(rate=0.9, noise_scale=-1), "noise_scale must be a number of at least 0, got -1"),
        (d_lin_ucb, dict(rate=1.5, radius=1), "rate must be a number in (0, 1], got 1.5"),
        (d_lin_ucb, dict(rate=1.5, noise_scale=1), "rate must be a number in (0, 1], got 1.5"),
        (d_lin_ucb, dict(rate=0.9, radius=-1), "radius must be a number of at least 0, got -1"),
        (
            d_lin_ucb,
            dict(rate=0.9, noise_scale=1, radius_scale=-2),
            "radius_scale must be a number of at least 0, got -2",
        ),
        (
            sw_lin_ucb,
            dict(length=3, noise_scale=1, confidence="publishd"),
            "confidence must be one of uniform, published, got 'publishd' (did you mean 'published'?)",
        ),
        (
            sw_lin_ucb,
            dict(length=3, noise_scale=1, num_episodes=0),
            "num_episodes must be an integer of at least 1, got 0",
        ),
        (sw_lin_ucb, dict(length=0, noise_scale=1), "length must be a number of at least 1, got 0"),
        (
            lin_ucb,
            dict(noise_scale=1, information="det"),
            "information must be one of count, determinant, got 'det'",
        ),
        (oracle_restart, dict(changes=(3, 0), radius=1), "changes must be a positive integer, got 0"),
        (d_lin_ts, dict(rate=0.9, scale=-1), "scale must be a number of at least 0, got -1"),
        (d_rand_lin_ucb, dict(rate=0.9, radius=1, sign="+"), "sign must be one of folded, signed, got '+'"),
        (
            d_lin_ucb.tuned,
            dict(**TUNED, noise_scale=1, tuning="papr"),
            "tuning must be one of published, corrected, orthogonal, got 'papr'",
        ),
        (
            sw_lin_ucb.tuned,
            dict(num_episodes=100, variation=-1, noise_scale=1),
            "variation must be a number of at least 0, got -1",
        ),
        (lin_ucb.tuned, dict(noise_scale=1, ridge=-2.0), "ridge must be a number above 0, got -2.0"),
        (
            greedy.tuned,
            dict(num_episodes=0, variation=1.0),
            "num_episodes must be a positive integer, got 0",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(make, arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        make(SPEC, **arguments)


def test_other_problems_are_refused():
    sentence = f"spec must be a bandit's, of one state and one step, got {MDP}"
    for make, arguments in (
        (d_lin_ucb, dict(rate=0.9, radius=1)),
        (lin_ts, dict(scale=1)),
        (greedy, {}),
        (d_lin_ucb.tuned, dict(**TUNED, noise_scale=1)),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            make(MDP, **arguments)
    with pytest.raises(ValueError, match=r"^spec must be a driftwise\.types\.Spec, got LinearBandit"):
        d_lin_ucb.tuned(russac_abrupt(), **TUNED, noise_scale=1)


def test_grids_reach_every_number_and_survive_the_way_to_json_and_back():
    grid = d_lin_ucb(SPEC, rate=[0.9, 0.99], noise_scale=np.array([[0.1], [1.0]]), num_episodes=[50, 100])
    assert grid.forgetting.rate == grid.exploration.radius.rate == (0.9, 0.99)
    assert grid.exploration.radius.noise_scale == ((0.1,), (1.0,))
    assert grid.exploration.radius.num_rounds == (50.0, 100.0)
    for agent in (
        grid,
        sw_lin_ucb(SPEC, length=[3, 9], noise_scale=0.3),
        restart_lin_ucb(SPEC, period=[3, 9], noise_scale=0.3, radius_scale=[[0.1], [1.0]]),
        d_lin_ts(SPEC, rate=0.9, scale=(0.1, 0.2)),
        oracle_restart(SPEC, changes=(5, 9), radius=[0.1, 1.0]),
        d_rand_lin_ucb(SPEC, rate=(0.5, 0.9), radius=0.3, sign="signed"),
    ):
        assert from_config(json.loads(json.dumps(to_config(agent)))) == agent


@pytest.mark.parametrize("variation", [0.0, 5e-324, 3.0, 1e6, 1e12])
def test_tuned_forms_build_valid_agents_whatever_the_variation(variation):
    run: dict[str, Any] = dict(num_episodes=100, variation=variation)
    for algorithm, needed in (
        *((each, dict(noise_scale=1.0)) for each in (d_lin_ucb, weight_ucb, d_rand_lin_ucb)),
        *((each, dict(noise_scale=1.0)) for each in (sw_lin_ucb, restart_lin_ucb, lin_ucb)),
        (oracle_restart, dict(noise_scale=1.0, changes=(3,))),
        *((each, dict(scale=1.0)) for each in (d_lin_ts, lin_ts)),
        *((each, {}) for each in (epsilon_greedy, greedy, uniform)),
    ):
        assert algorithm.tuned(SPEC, **run, **needed).spec == SPEC


def test_algorithms_name_their_problem():
    assert ALGORITHMS["d_lin_ucb"].problem == "linear bandit"
    assert ALGORITHMS["uniform"].problem == "any"
    assert uniform(MDP).spec == MDP
