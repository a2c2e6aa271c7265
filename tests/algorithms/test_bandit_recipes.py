"""The recipes for bandits: the parts they are, what they refuse, and the numbers that theory gives them."""
# Bad arguments are the point of some tests here, and parts are looked into.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
# Parts are looked into.

import dataclasses
import inspect
import json
import re
from typing import Any

import numpy as np
import pytest

from driftwise import parts
from driftwise.algorithms import (
    d_lin_ts,
    d_lin_ucb,
    d_rand_lin_ucb,
    dynamic_lin_ucb,
    epsilon_greedy,
    greedy,
    lin_ts,
    lin_ucb,
    oracle_restart,
    restart_lin_ucb,
    square_cb,
    sw_lin_ucb,
    uniform,
    weight_ucb,
)
from driftwise.algorithms.bandits.dynamic_lin_ucb import ModelPool
from driftwise.base import Spec, from_config, to_config
from driftwise.environments import russac_abrupt
from driftwise.parts import ConfidenceRadius, LeastSquares, PeriodicRestart, SlidingWindow, Ucb
from driftwise.theory.bandit_tuning import TUNINGS
from tests.examples import SPEC as MDP

SPEC = Spec.bandit(dim=4, num_arms=7)
ASSUMED: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1, ridge=0.5)
HORIZON: dict[str, Any] = dict(**ASSUMED, num_episodes=60)


def test_recipes_are_the_parts_they_are_described_as():
    published = parts.ConfidenceRadius(0.3, 0.8, 0.1, shares=1)
    anytime = parts.ConfidenceRadius(0.3, 0.8, 0.1, scale=0.5)
    horizon = parts.ConfidenceRadius(0.3, 0.8, 0.1, shares=60)
    epochs = [parts.ConfidenceRadius(0.3, 0.8, 0.1, spread="epochs", shares=shares) for shares in (1, 3, 9)]
    weights = parts.ExponentialWeights(0.9)
    for agent, (forgetting, exploration) in {
        d_lin_ucb(SPEC, rate=0.9, confidence="published", **ASSUMED): (weights, parts.Ucb(published)),
        d_lin_ucb(SPEC, rate=0.9, norm="single", **HORIZON): (weights, parts.Ucb(horizon, "single")),
        weight_ucb(SPEC, rate=0.9, **HORIZON): (weights, parts.Ucb(horizon, "single")),
        d_rand_lin_ucb(SPEC, rate=0.9, sign="signed", **HORIZON): (
            weights,
            parts.RandomisedUcb(horizon, "signed"),
        ),
        sw_lin_ucb(SPEC, length=9, radius_scale=0.5, **ASSUMED): (parts.SlidingWindow(9), parts.Ucb(anytime)),
        restart_lin_ucb(SPEC, period=7, **HORIZON): (parts.PeriodicRestart(7), parts.Ucb(epochs[2])),
        restart_lin_ucb(SPEC, period=7, **ASSUMED, information="determinant"): (
            parts.PeriodicRestart(7),
            parts.Ucb(parts.ConfidenceRadius(0.3, 0.8, 0.1, "determinant", "epochs")),
        ),
        restart_lin_ucb(SPEC, period=7, **HORIZON, confidence="published"): (
            parts.PeriodicRestart(7),
            parts.Ucb(dataclasses.replace(epochs[0], samples=7)),
        ),
        sw_lin_ucb(SPEC, length=9, **HORIZON, confidence="published"): (
            parts.SlidingWindow(9),
            parts.Ucb(dataclasses.replace(published, samples=9)),
        ),
        lin_ucb(SPEC, **ASSUMED): (parts.NoForgetting(), parts.Ucb(epochs[0])),
        oracle_restart(SPEC, changes=(3, 9), **ASSUMED, information="count"): (
            parts.RestartAt((3, 9)),
            parts.Ucb(epochs[1]),
        ),
        lin_ucb(SPEC, information="determinant", **ASSUMED): (
            parts.NoForgetting(),
            parts.Ucb(dataclasses.replace(epochs[0], information="determinant")),
        ),
        d_lin_ts(SPEC, rate=0.9, scale=0.7, ridge=0.5): (weights, parts.Thompson(0.7)),
        lin_ts(SPEC, scale=0.7, ridge=0.5): (parts.NoForgetting(), parts.Thompson(0.7)),
        epsilon_greedy(SPEC, epsilon=0.1, rate=0.9, ridge=0.5): (weights, parts.EpsilonGreedy(0.1)),
        greedy(SPEC, ridge=0.5): (parts.NoForgetting(), parts.Greedy()),
    }.items():
        assert agent == parts.LeastSquares(SPEC, forgetting, exploration, ridge=0.5, clip="none")
    assert uniform(SPEC) == parts.LeastSquares(SPEC, parts.NoForgetting(), parts.Uniform())


def test_a_grid_of_periods_has_a_number_of_epochs_for_each():
    grid = restart_lin_ucb(SPEC, period=[6, 7, 60], noise_scale=0.3, num_episodes=[[60], [61]])
    assert grid.exploration.radius.shares == ((10.0, 9.0, 1.0), (11.0, 9.0, 2.0))


def test_a_given_radius_replaces_the_computed_one():
    for agent in (
        d_lin_ucb(SPEC, rate=0.9, radius=2, **HORIZON),
        sw_lin_ucb(SPEC, length=3, radius=2),
        lin_ucb(SPEC, radius=2, **ASSUMED),
        restart_lin_ucb(SPEC, period=3, radius=2, confidence="published"),
    ):
        assert agent.exploration == parts.Ucb(2.0)
    mine = parts.ConfidenceRadius(0.3, samples=9)
    assert lin_ucb(SPEC, radius=mine).exploration == parts.Ucb(mine)


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
    with pytest.raises(ValueError, match=r"^spec must be a Spec, got LinearBandit"):
        d_lin_ucb.tuned(russac_abrupt(), **TUNED, noise_scale=1)


def test_grids_reach_every_number_and_survive_the_way_to_json_and_back():
    grid = d_lin_ucb(SPEC, rate=[0.9, 0.99], noise_scale=np.array([[0.1], [1.0]]), num_episodes=[50, 100])
    assert grid.forgetting.rate == (0.9, 0.99)
    assert grid.exploration.radius.noise_scale == ((0.1,), (1.0,))
    assert grid.exploration.radius.shares == (50.0, 100.0)
    for agent in (
        grid,
        sw_lin_ucb(SPEC, length=[3, 9], noise_scale=0.3),
        restart_lin_ucb(SPEC, period=[3, 9], noise_scale=0.3, radius_scale=[[0.1], [1.0]]),
        d_lin_ts(SPEC, rate=0.9, scale=(0.1, 0.2)),
        oracle_restart(SPEC, changes=(5, 9), radius=[0.1, 1.0]),
        d_rand_lin_ucb(SPEC, rate=(0.5, 0.9), radius=0.3, sign="signed"),
        dynamic_lin_ucb(SPEC, noise_scale=(0.5, 1), window=((10,), (300,)), delta=0.1),
    ):
        assert from_config(json.loads(json.dumps(to_config(agent)))) == agent


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
    published = tuning == "published"
    radius = ConfidenceRadius(0.3, 0.8, 0.1, shares=1 if published else 100, scale=0.5)
    lam = 4.0 if ridge == "dim" else 1.0
    weighted = [d_lin_ucb.tuned(SPEC, **confident), d_rand_lin_ucb.tuned(SPEC, **confident)]
    for agent in weighted:
        assert agent.exploration.radius == radius
    for agent in (*weighted, d_lin_ts.tuned(SPEC, **given, scale=0.7), epsilon_greedy.tuned(SPEC, **given)):
        np.testing.assert_allclose(agent.forgetting.rate, rate, rtol=1e-9)
        assert agent.ridge == lam
    window, restart = sw_lin_ucb.tuned(SPEC, **confident), restart_lin_ucb.tuned(SPEC, **confident)
    radius = dataclasses.replace(radius, samples=length if published else 0)
    assert window == LeastSquares(SPEC, SlidingWindow(length), Ucb(radius), lam, clip="none")
    epochs = 1 if published else {8: 13, 10: 10, 22: 5}[length]  # ⌈100/length⌉
    radius = dataclasses.replace(radius, spread="epochs", shares=epochs)
    assert restart == LeastSquares(SPEC, PeriodicRestart(length), Ucb(radius), lam, clip="none")


def test_tuned_weight_ucb_has_the_ridge_of_its_paper():
    published = weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, tuning="published")
    np.testing.assert_allclose(published.forgetting.rate, 0.9, rtol=1e-12)  # 1 − √(4/400)
    assert published == weight_ucb(
        SPEC, rate=published.forgetting.rate, noise_scale=0.3, ridge=4.0, confidence="published"
    )
    corrected = weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3)
    np.testing.assert_allclose(corrected.forgetting.rate, 0.9048374180, rtol=1e-9)
    assert (corrected.ridge, corrected.exploration.radius.shares) == (4.0, 100)
    assert weight_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, ridge="one").ridge == 1.0


NEVER_TUNED: list[tuple[Any, dict[str, Any]]] = [
    (lin_ucb, dict(noise_scale=0.3)),
    (oracle_restart, dict(noise_scale=0.3, changes=(9, 30))),
    (dynamic_lin_ucb, dict(noise_scale=0.3)),
    (lin_ts, dict(scale=0.7)),
    (greedy, {}),
]


def ridge_of(agent: LeastSquares | ModelPool) -> float:
    return agent.base.ridge if isinstance(agent, ModelPool) else agent.ridge


def test_tuned_forms_take_what_is_special_about_their_recipe():
    assert d_lin_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, norm="single").exploration.norm == "single"
    signed = d_rand_lin_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, sign="signed")
    assert signed.exploration.sign == "signed"
    assert "norm" in inspect.signature(d_lin_ucb.tuned).parameters
    assert "options" not in inspect.signature(d_lin_ucb.tuned).parameters
    assert d_lin_ucb.tuned.__qualname__ == "d_lin_ucb.tuned"
    with pytest.raises(TypeError, match=r"^d_lin_ucb.tuned\(\) got an unexpected keyword argument 'sign'"):
        d_lin_ucb.tuned(SPEC, **TUNED, noise_scale=0.3, sign="signed")


def test_tuned_forms_of_what_never_forgets():
    known: dict[str, Any] = dict(noise_scale=0.3, norm_bound=0.8, delta=0.1, radius_scale=0.5)
    assert lin_ucb.tuned(SPEC, **TUNED, **known, ridge="dim") == lin_ucb(SPEC, **known, ridge=4.0)
    for algorithm, needed in NEVER_TUNED:
        agents = {algorithm.tuned(SPEC, **TUNED, **needed, tuning=each) for each in TUNINGS}
        assert agents == {algorithm(SPEC, **needed)}
        assert ridge_of(algorithm.tuned(SPEC, **TUNED, **needed, ridge="dim")) == 4.0
        with pytest.raises(ValueError, match=r"^tuning must be one of published, .* got 'papr'"):
            algorithm.tuned(SPEC, **TUNED, **needed, tuning="papr")
    assert oracle_restart.tuned(SPEC, **TUNED, **known, changes=(9, 30), ridge="dim") == oracle_restart(
        SPEC, changes=(9, 30), **known, ridge=4.0
    )
    assert lin_ts.tuned(SPEC, **TUNED, scale=0.7, ridge="dim") == lin_ts(SPEC, scale=0.7, ridge=4.0)
    assert greedy.tuned(SPEC, **TUNED) == greedy(SPEC)
    np.testing.assert_allclose(  # (7/100)^⅓
        epsilon_greedy.tuned(SPEC, **TUNED).exploration.epsilon, 0.4121285300, rtol=1e-9
    )


def test_tuned_square_cb_explores_for_as_many_rounds_as_it_remembers():
    agent = square_cb.tuned(SPEC, **TUNED)
    memory = -1 / np.log(agent.forgetting.rate)
    regret = 4 * max(np.log(memory / 4), 1) + np.log(2 / 0.05)
    np.testing.assert_allclose(agent.exploration.gamma, np.sqrt(7 * memory / regret), rtol=1e-9)
    calm = square_cb.tuned(SPEC, num_episodes=100, variation=0.0)
    regret = 4 * np.log(100 / 4) + np.log(2 / 0.05)
    np.testing.assert_allclose(calm.exploration.gamma, np.sqrt(7 * 100 / regret), rtol=1e-9)


@pytest.mark.parametrize("variation", [0.0, 5e-324, 3.0, 1e6, 1e12])
def test_tuned_forms_build_valid_agents_whatever_the_variation(variation):
    run: dict[str, Any] = dict(num_episodes=100, variation=variation)
    for algorithm, needed in (
        *((each, dict(noise_scale=1.0)) for each in (d_lin_ucb, weight_ucb, d_rand_lin_ucb)),
        *((each, dict(noise_scale=1.0)) for each in (sw_lin_ucb, restart_lin_ucb, lin_ucb)),
        (oracle_restart, dict(noise_scale=1.0, changes=(3,))),
        *((each, dict(scale=1.0)) for each in (d_lin_ts, lin_ts)),
        *((each, {}) for each in (epsilon_greedy, greedy, square_cb, uniform)),
    ):
        for tuning in TUNINGS if algorithm is not uniform else ():
            forgetting = algorithm.tuned(SPEC, **run, **needed, tuning=tuning).forgetting
            assert 0 < getattr(forgetting, "rate", 1.0) <= 1
            assert 1 <= getattr(forgetting, "length", 1) <= 100
            assert 1 <= getattr(forgetting, "period", 1) <= 100
        assert algorithm.tuned(SPEC, **run, **needed).spec == SPEC
