"""Q-UCB and RestartQ-UCB equal their papers, and keep what they promise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import q_ucb, restart_q_ucb
from driftwise.algorithms.tabular.q_learning import OptimisticQLearning, StagedQLearning
from driftwise.base.agent import Agent
from driftwise.base.random import key
from driftwise.base.types import Episode
from driftwise.checks import ContractError, check_agent
from driftwise.environments.drift import Abrupt
from driftwise.simulation.play import play
from tests.examples import BANDIT, NUM_EPISODES, NUM_RUNS, SPEC, STATIONARY, make, make_bandit
from tests.reference import q_ucb as plain_q
from tests.reference import restart_q_ucb as plain_staged

ENVIRONMENTS = ["random_linear_mdp", "combination_lock"]


def assert_are_the_tables(agent: Agent, environment: Any, tables: Any) -> None:
    played = list(play(agent, environment, 120, seed=2))
    for one, (q, v) in zip(played, tables([one.episode for one in played], SPEC), strict=True):
        np.testing.assert_allclose(one.plan.q, q, rtol=0, atol=1e-8)
        np.testing.assert_allclose(one.plan.values, v, rtol=0, atol=1e-8)
    assert max(np.abs(one.plan.q - played[0].plan.q).max() for one in played) > 0.1


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize("clip", ["paper", "tight"])
@pytest.mark.parametrize("scale", [0.0, 0.1, 0.4])
def test_q_ucb_is_the_algorithm_of_its_paper(scale, clip, name):
    def tables(played: Any, spec: Any) -> Any:
        return plain_q.tables(played, spec, scale=scale, log_term=1.7, tight=clip == "tight")

    agent = q_ucb(SPEC, scale=scale, log_term=1.7, clip=clip)
    assert_are_the_tables(agent, make(name, rewards="bernoulli"), tables)


@pytest.mark.parametrize("name", ENVIRONMENTS)
@pytest.mark.parametrize(
    "parameters",
    [
        dict(period=1000, scale=0.0),
        dict(period=1000, scale=0.1),
        dict(period=70, scale=0.05),
        dict(period=70, scale=0.05, drift_bonus=0.2),
    ],
)
def test_restart_q_ucb_is_the_algorithm_of_its_paper(parameters, name):
    def tables(played: Any, spec: Any) -> Any:
        return plain_staged.tables(played, spec, **parameters, log_term=1.7)

    agent = restart_q_ucb(SPEC, **parameters, log_term=1.7)
    assert_are_the_tables(agent, make(name, rewards="bernoulli"), tables)


def test_stages_grow_by_a_share_of_the_horizon():
    """A pair that is visited in every episode has stages of these numbers of visits."""
    grown = [3, 4, 5, 6, 8, 10, 13]
    ends = sorted(plain_staged.ends_of_stages(3, sum(grown)))
    assert np.diff([0, *ends]).tolist()[:7] == grown
    agent, features = restart_q_ucb(SPEC, period=1000, scale=0.1), make().world().example
    state = agent.init(features)
    zeros = np.zeros(3, np.int32)
    episode = Episode(zeros, zeros, np.zeros((3, 12)), np.zeros(3), zeros)
    lengths = []
    for _ in range(sum(grown)):
        if state.count[0, 0, 0] == 0:
            lengths.append(int(state.length[0, 0, 0]))
        state = agent.update(state, features, agent.plan(state, features, key(0)), episode)
    assert lengths == grown
    assert (state.length[:, 1:] == 3).all()


def test_an_epoch_starts_as_the_first_did():
    played = list(play(restart_q_ucb(SPEC, period=20, scale=0.01), make(), 41))
    for again in (20, 40):
        np.testing.assert_array_equal(played[again].plan.q, played[0].plan.q)
        assert not np.array_equal(played[again - 1].plan.q, played[0].plan.q)


def test_within_an_epoch_q_only_falls():
    played = list(play(restart_q_ucb(SPEC, period=1000, scale=0.02), make(), 80))
    falls = [late.plan.q - early.plan.q for early, late in itertools.pairwise(played)]
    assert np.max(falls) <= 0
    assert np.min(falls) < 0


def test_restarts_that_never_come_change_nothing():
    plain, other = (
        play(restart_q_ucb(SPEC, period=period, scale=0.02), make(), NUM_EPISODES)
        for period in (NUM_EPISODES, 10**9)
    )
    for one, same in zip(plain, other, strict=True):
        np.testing.assert_array_equal(one.plan.q, same.plan.q)


def test_a_grid_is_its_points():
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    grid: dict[str, Any] = dict(scale=(0.01, 0.05), period=(7, 19))
    together = dw.simulate(restart_q_ucb(SPEC, **grid), make(), **options)
    for i, (scale, period) in enumerate(zip(*grid.values(), strict=True)):
        alone = dw.simulate(restart_q_ucb(SPEC, scale=scale, period=period), make(), **options)
        np.testing.assert_allclose(together.values[i], alone.values, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("algorithm", "scale"), [(q_ucb, 0.05), (restart_q_ucb, 0.05)])
def test_they_are_optimistic_with_a_share_of_the_bonus_of_theory(algorithm, scale):
    still = make("latent_chains", STATIONARY)

    def check(scale: float) -> None:
        agent = algorithm.tuned(SPEC, num_episodes=400, variation=0.0, beta_scale=scale)
        check_agent(agent, still, optimistic=True, num_episodes=200, num_runs=NUM_RUNS)

    check(scale)
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check(0.0)


def test_restarts_beat_remembering_where_the_lock_changes():
    environment = make("combination_lock", Abrupt((300,), num_anchors=2))
    options: dict[str, Any] = dict(num_episodes=600, num_runs=NUM_RUNS)
    forgets = dw.simulate(restart_q_ucb(SPEC, period=300, scale=0.02), environment, **options)
    keeps = dw.simulate(restart_q_ucb(SPEC, period=600, scale=0.02), environment, **options)
    assert forgets.regret[:, 450:].mean() < keeps.regret[:, 450:].mean() / 2


def test_tuned_forms_use_the_logarithms_and_epochs_of_their_papers():
    """`D = (SA)^(−1/3) Δ^(2/3) H^(−2/3) T^(1/3)` epochs of `K/D` episodes."""
    assert q_ucb.tuned(SPEC, num_episodes=1000, delta=0.1, beta_scale=0.3) == OptimisticQLearning(
        SPEC, 0.3, math.log(12 * 3000 / 0.1)
    )
    epochs = 12 ** (-1 / 3) * 8 ** (2 / 3) * 3 ** (-2 / 3) * 3000 ** (1 / 3)
    assert restart_q_ucb.tuned(
        SPEC, num_episodes=1000, variation=8.0, delta=0.1, beta_scale=0.3, drift_bonus=0.2
    ) == StagedQLearning(SPEC, math.ceil(1000 / epochs), 0.3, math.log(2 * 12 * 3000 / 0.1), 0.2)
    assert restart_q_ucb.tuned(SPEC, num_episodes=1000, variation=0.0).period == 1000


@pytest.mark.parametrize(
    ("make_agent", "message"),
    [
        (lambda: q_ucb(SPEC, scale=-0.1), r"^scale must be a number of at least 0, got -0.1$"),
        (lambda: q_ucb(SPEC, scale=1, log_term=0), r"^log_term must be a number above 0, got 0$"),
        (lambda: restart_q_ucb(SPEC, period=0, scale=1), r"^period must be an integer of at least 1, got 0$"),
        (
            lambda: restart_q_ucb(SPEC, period=3, scale=1, drift_bonus=-1),
            r"^drift_bonus must be a number of at least 0, got -1$",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make_agent, message):
    with pytest.raises(ValueError, match=message):
        make_agent()


@pytest.mark.parametrize("agent", [q_ucb(BANDIT, scale=1), restart_q_ucb(BANDIT, period=3, scale=1)])
def test_arms_that_come_and_go_are_refused(agent):
    with pytest.raises(ValueError, match="always offer every action"):
        dw.simulate(agent, make_bandit(), num_episodes=2, num_runs=1)
