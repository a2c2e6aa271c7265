"""Contracts that every registered algorithm keeps, in every problem it is for, under every drift."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.base.agent import Agent
from driftwise.environments import Environment
from driftwise.environments.drift import Constant
from driftwise.environments.environment import Played
from driftwise.parts.exploration import EpsilonGreedy, Ucb, Uniform
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.simulation.play import play
from driftwise.simulation.results import Result
from tests.exact import optimal_values
from tests.examples import (
    BANDIT,
    BANDIT_PARAMETERS,
    DRIFTS,
    NUM_EPISODES,
    NUM_RUNS,
    PARAMETERS,
    SIZES,
    SPEC,
    agent,
    bandit_agent,
    fitting,
    make,
    make_bandit,
)
from tests.reference import bandits

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)
RAW_GAP = -1e-10  # V* − V^π is never negative; what is left is the rounding of sums of size H


def test_every_algorithm_is_under_the_contracts_of_its_problems():
    problems = {name: each.problem for name, each in ALGORITHMS.items()}
    apart = ("linear bandit", "average reward")  # which have examples of their own
    assert set(PARAMETERS) == {name for name, problem in problems.items() if problem not in apart}
    bandits = {name for name, problem in problems.items() if problem in ("any", "linear bandit")}
    assert set(BANDIT_PARAMETERS) == bandits


@pytest.mark.parametrize("rewards", ["mean", pytest.param("bernoulli", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PARAMETERS)
def test_simulator_equals_the_plain_numpy_loop(name, rewards):
    environment = make(fitting(agent(name))[0], rewards=rewards)
    result = dw.simulate(agent(name), environment, **OPTIONS, keep_state=True)
    for run in range(NUM_RUNS):
        played = assert_equals_the_loop(result, agent(name), environment, run)
        np.testing.assert_allclose(
            result.optimal_values[run], optimal_values(environment, played), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("rewards", ["gaussian", pytest.param("bernoulli", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_simulator_equals_the_plain_numpy_loop_in_a_bandit(name, rewards):
    environment = make_bandit(rewards=rewards, noise_scale=0.3)
    result = dw.simulate(bandit_agent(name), environment, **OPTIONS, keep_state=True)
    for run in range(NUM_RUNS):
        assert_equals_the_loop(result, bandit_agent(name), environment, run)
        best = [
            one.means[one.present].max() for one in bandits.rounds(environment, NUM_EPISODES, seed=5, run=run)
        ]
        np.testing.assert_allclose(result.optimal_values[run], best, rtol=0, atol=1e-9)


def assert_equals_the_loop(result: Result, agent: Agent, environment: Environment, run: int) -> list[Played]:
    """One run of a result, its curves and its last state."""
    played = list(play(agent, environment, NUM_EPISODES, seed=5, run=run))
    for curve, plain in (
        (result.values, [one.record.value for one in played]),
        (result.returns, [one.record.reward for one in played]),
    ):
        np.testing.assert_allclose(curve[run], plain, rtol=0, atol=1e-9)
    of_run = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[run], result.state))
    for leaf, plain in zip(of_run, jax.tree.leaves(played[-1].carry.state), strict=True):
        np.testing.assert_allclose(leaf, plain, rtol=0, atol=1e-9)
    return played


@pytest.mark.parametrize("name", PARAMETERS)
def test_regret_is_never_negative_and_values_stay_in_range(name):
    for environment_name in fitting(agent(name)):
        for drift in DRIFTS.values():
            result = dw.simulate(agent(name), make(environment_name, drift), **OPTIONS)
            assert_sound(result)
            assert result.optimal_values.max() <= SPEC.horizon
            assert result.returns.min() >= 0
            assert result.returns.max() <= SPEC.horizon


@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_regret_in_a_bandit_is_never_negative(name):
    for drift in DRIFTS.values():
        assert_sound(dw.simulate(bandit_agent(name), make_bandit(drift, noise_scale=0.3), **OPTIONS))


def test_regret_is_never_negative_without_drift():
    for environment_name in SIZES:
        assert_sound(dw.simulate(agent("opt_wlsvi"), make(environment_name, Constant()), **OPTIONS))


def assert_sound(result: Result) -> None:
    assert (result.optimal_values - result.values).min() >= RAW_GAP
    assert result.values.min() >= 0
    assert (np.diff(result.cumulative_regret) >= 0).all()


def test_learning_beats_chance_where_nothing_changes():
    """The last quarter of 400 episodes, mean regret: uniform play stays, the learner comes down by half."""
    environment = make("combination_lock", dw.drift.Abrupt((10**9,)))
    options: dict[str, Any] = dict(num_episodes=400, num_runs=NUM_RUNS)
    learnt = dw.simulate(dw.algorithms.lsvi_ucb(SPEC, radius=0.1), environment, **options)
    chance = dw.simulate(dw.algorithms.uniform(SPEC), environment, **options)
    assert learnt.regret[:, 300:].mean() < chance.regret[:, 300:].mean() / 2


def test_forgetting_beats_remembering_where_a_bandit_changes():
    """From 50 rounds after the change: what never forgets is still misled."""
    environment = make_bandit(dw.drift.Abrupt((200,)), noise_scale=0.3)
    options: dict[str, Any] = dict(num_episodes=400, num_runs=NUM_RUNS)
    forgets = dw.simulate(dw.algorithms.d_lin_ucb(BANDIT, rate=0.95, radius=0.3), environment, **options)
    keeps = dw.simulate(dw.algorithms.lin_ucb(BANDIT, radius=0.3), environment, **options)
    assert forgets.regret[:, 250:].mean() < keeps.regret[:, 250:].mean() / 2


@pytest.mark.parametrize("name", ["opt_wlsvi", "uniform"])
def test_sampled_returns_average_to_the_exact_values(name):
    """Returns minus values are martingale differences if the agent's chances are independent of the world's;
    their mean stays within four standard errors."""
    result = dw.simulate(agent(name), make(rewards="bernoulli"), **{**OPTIONS, "num_episodes": 4000})
    noise = (result.returns - result.values).ravel()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(noise.size)
    assert noise.std() > 0.3  # coins were thrown


def test_recipes_are_the_parts_they_are_described_as():
    algorithms = dw.algorithms
    assert algorithms.opt_wlsvi(
        SPEC, rate=0.9, radius=2, norm="single", clip="tight", ridge=3
    ) == LeastSquares(SPEC, ExponentialWeights(0.9), Ucb(2, "single"), 3, "tight")
    assert algorithms.lsvi_ucb(SPEC, radius=2) == LeastSquares(SPEC, NoForgetting(), Ucb(2))
    assert algorithms.lsvi_ucb_restart(SPEC, period=4, radius=2) == LeastSquares(
        SPEC, PeriodicRestart(4), Ucb(2)
    )
    assert algorithms.sw_lsvi_ucb(SPEC, length=4, radius=2) == LeastSquares(SPEC, SlidingWindow(4), Ucb(2))
    assert algorithms.epsilon_greedy_lsvi(SPEC, epsilon=0.1, rate=0.9) == LeastSquares(
        SPEC, ExponentialWeights(0.9), EpsilonGreedy(0.1)
    )
    assert algorithms.uniform(SPEC) == LeastSquares(SPEC, NoForgetting(), Uniform())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_prints_and_documents_itself(name):
    algorithm = ALGORITHMS[name]
    assert repr(algorithm) == f"<algorithm {name}>"
    assert algorithm.name == name
    assert algorithm.__doc__
    assert algorithm.tuned.__doc__
    for field in ("problem", "forgetting", "exploration", "bound", "paper"):
        assert getattr(algorithm, field)
