"""The recipes for bandits: the parts they are, and what they refuse."""
# Bad arguments are the point of some tests here, and parts are looked into.
# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false

import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest

from driftwise import parts
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
from driftwise.base import Spec, from_config, to_config
from driftwise.environments import russac_abrupt
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


TUNED: dict[str, Any] = dict(num_episodes=100, variation=4.0)
NOISE = "noise_scale must be a number of at least 0 where no radius is given, got None"


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (d_lin_ucb, dict(rate=0.9), NOISE),
        (lin_ucb, {}, NOISE),
        (d_lin_ucb, dict(rate=1.5, radius=1), "rate must be a number in (0, 1], got 1.5"),
        (
            sw_lin_ucb,
            dict(length=3, noise_scale=1, confidence="publishd"),
            "confidence must be one of uniform, published, got 'publishd' (did you mean 'published'?)",
        ),
        (
            restart_lin_ucb,
            dict(period=3, noise_scale=1, confidence="published", information="det"),
            "information must be one of count, determinant, got 'det'",
        ),
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
        (greedy.tuned, dict(num_episodes=0, variation=1.0), "num_episodes must be a positive integer, got 0"),
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
    ):
        assert from_config(json.loads(json.dumps(to_config(agent)))) == agent


def test_algorithms_name_their_problem():
    assert ALGORITHMS["d_lin_ucb"].problem == "linear bandit"
    assert ALGORITHMS["uniform"].problem == "any"
    assert uniform(MDP).spec == MDP
