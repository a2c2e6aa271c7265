"""MatrixRL equals its paper, refuses what it cannot know, and gains from what it is told."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb, matrix_rl
from driftwise.base import MeanRewards, SuccessorProjection
from driftwise.environments import LinearMdp, latent_chains
from driftwise.parts import ExponentialWeights, LeastSquares, NoForgetting, PeriodicRestart, Ucb
from driftwise.theory.tuning import opt_wlsvi_radius, opt_wlsvi_rate
from tests import examples
from tests.examples import BANDIT, FORGETTINGS, NUM_EPISODES, NUM_RUNS, SPEC, make, make_bandit
from tests.reference import matrix_rl as textbook


def factored(seed: int, *, identity: bool = False, alike: bool = True) -> LinearMdp:
    """A random path of models with `μ = Mψᵀ` for three features of six successors that overlap.

    Steps are `alike` in their transitions, not in their rewards.
    """
    rng = np.random.default_rng(seed)
    psi = np.eye(6) if identity else rng.dirichlet(np.ones(6), size=3).T
    core = rng.dirichlet(np.ones(psi.shape[1]), size=(2, 3, 4))
    core = np.repeat(core[:, :1], 3, axis=1) if alike else core
    return LinearMdp(
        features=rng.dirichlet(np.ones(4), size=(6, 2)),
        theta=rng.uniform(size=(2, 3, 4)),
        mu=core @ psi.T,
        initial=rng.dirichlet(np.ones(6)),
        drift=dw.drift.Abrupt((10,)),
        rewards="bernoulli",
        successor_features=psi,
    )


@pytest.mark.parametrize("steps", ["shared", "apart"])
@pytest.mark.parametrize("name", FORGETTINGS)
def test_it_equals_the_textbook(name, steps):
    environment, (chosen, weight) = factored(seed=1, alike=steps == "shared"), FORGETTINGS[name]
    psi = environment.successor_features
    assert psi is not None
    agent = matrix_rl(environment.spec, radius=0.6, ridge=0.7, steps=steps, **chosen)
    numbers: dict[str, Any] = dict(radius=0.6, ridge=0.7, shared=steps == "shared", weight=weight)
    played, rewards = list(dw.play(agent, environment, 26, seed=1)), examples.reward_tables(environment, 26)
    for t in range(0, 26, 5):
        history = [one.episode for one in played[:t]]
        expected = textbook.plan(history, environment.features, psi, rewards[t], **numbers)
        examples.assert_fields_close(played[t].plan, expected)  # two ways to sum, two to invert


def test_features_of_successors_matter_in_the_textbook_comparison():
    """Else it would say nothing about the projection onto them."""
    environment = factored(seed=1)
    agent = matrix_rl(environment.spec, radius=0.6, ridge=0.7)
    ignorant = LeastSquares(
        environment.spec, NoForgetting(), Ucb(0.6, "single"), 0.7, "range", rewards="known", steps="shared"
    )
    *_, last = dw.play(agent, environment, 10)
    table = environment.to_arrays(needs=agent.needs).example
    plans = [each.plan(last.carry.state, table, np.zeros(2, dtype=np.uint32)) for each in (agent, ignorant)]
    assert np.abs(plans[0].q - plans[1].q).max() > 1e-3


def test_with_all_successors_as_features_it_is_lsvi_with_known_rewards():
    environment = factored(seed=2, identity=True)
    plain = LeastSquares(environment.spec, NoForgetting(), Ucb(0.6), clip="range", rewards="known")
    examples.assert_play_alike(matrix_rl(environment.spec, radius=0.6, steps="apart"), plain, environment)


def test_restarts_no_sooner_than_the_end_are_none():
    environment = factored(seed=3)
    base = matrix_rl(environment.spec, radius=0.6)
    examples.assert_play_alike(
        matrix_rl(environment.spec, radius=0.6, period=NUM_EPISODES), base, environment
    )


def test_simulator_equals_the_plain_loop_where_successors_share_features():
    environment = factored(seed=4)
    agent = matrix_rl(environment.spec, radius=0.6, rate=0.9)
    result = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)
    for run in range(NUM_RUNS):
        values = [one.record.value for one in dw.play(agent, environment, NUM_EPISODES, seed=5, run=run)]
        np.testing.assert_allclose(result.values[run], values, rtol=0, atol=1e-9)


def test_recipe_is_the_parts_it_is_described_as():
    made = matrix_rl(SPEC, radius=2, ridge=3, steps="apart", clip="tight", period=4)
    assert made == LeastSquares(
        SPEC, PeriodicRestart(4), Ucb(2, "single"), 3, "tight", rewards="known", successors="features"
    )
    assert matrix_rl(SPEC, radius=2).steps == "shared"
    assert matrix_rl(SPEC, radius=2).clip == "range"
    assert made.needs == (MeanRewards, SuccessorProjection)


def test_tuned_form_uses_its_formulas():
    sizes: dict[str, Any] = dict(dim=SPEC.dim, horizon=SPEC.horizon, num_episodes=100)
    rate = opt_wlsvi_rate(**sizes, variation=4.0)
    radius = opt_wlsvi_radius(**sizes, delta=0.1, rate=rate, beta_scale=0.2) / np.sqrt(SPEC.dim)
    made = matrix_rl.tuned(SPEC, num_episodes=100, variation=4.0, delta=0.1, beta_scale=0.2, clip="tight")
    assert made.forgetting == ExponentialWeights(rate)
    assert made == matrix_rl(SPEC, radius=radius, rate=rate, clip="tight")


def test_environments_that_cannot_tell_are_refused_in_one_sentence():
    with pytest.raises(
        ValueError, match=r"^environment must have successor_features, which the agent needs, got LinearMdp"
    ):
        dw.simulate(matrix_rl(SPEC, radius=1, steps="apart"), make(), num_episodes=2)
    uneven = factored(seed=1, alike=False)
    with pytest.raises(
        ValueError, match=r"^environment must have transitions that do not depend on the step"
    ):
        dw.simulate(matrix_rl(uneven.spec, radius=1), uneven, num_episodes=2)
    with pytest.raises(
        ValueError, match=r"^environment must have rewards and projection and shared_steps, which the agent"
    ):
        dw.simulate(matrix_rl(BANDIT, radius=1), make_bandit(), num_episodes=2)
    with pytest.raises(ValueError, match=r"^steps must be one of apart, shared, got 'pooled'"):
        matrix_rl(SPEC, radius=1, steps="pooled")  # pyright: ignore[reportArgumentType]


def test_it_learns_latent_chains_in_a_fraction_of_what_lsvi_ucb_loses():
    """It pools steps, knows rewards, and knows that successors differ by their chain alone."""
    environment = latent_chains(num_chains=3, states_per_chain=3, num_actions=3, horizon=4)
    lost = {}
    for algorithm in (matrix_rl, lsvi_ucb):
        agent = algorithm(environment.spec, radius=0.5)
        records = [one.record for one in dw.play(agent, environment, 100)]
        lost[algorithm] = sum(each.optimal - each.value for each in records)
    assert lost[matrix_rl] < lost[lsvi_ucb] / 3
