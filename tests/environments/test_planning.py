"""Exact planning equals dynamic programming with the kernel written out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.base import Model
from driftwise.environments import LinearMdp, planning, random_linear_mdp
from tests.examples import DRIFTS, make
from tests.reference import planning as textbook

TOLERANCE: dict[str, Any] = dict(rtol=0, atol=1e-12)  # three steps of sums of numbers of size one
problems = st.builds(
    random_linear_mdp,
    num_states=st.integers(1, 5),
    num_actions=st.integers(1, 4),
    dim=st.integers(1, 4),
    horizon=st.integers(1, 4),
    concentration=st.sampled_from([0.1, 1.0]),
    seed=st.integers(0, 1000),
)


@given(problems, st.integers(0, 100))
def test_values_equal_the_textbook_and_no_policy_beats_the_optimal_ones(environment, seed):
    features, model = environment.features, environment.model(0)
    values, q = textbook.optimal(features, model)
    best = planning.optimal_values(features, model)
    np.testing.assert_allclose(best, values, **TOLERANCE)
    np.testing.assert_allclose(planning.action_values(features, model, best), q, **TOLERANCE)
    shape = (environment.spec.horizon, environment.spec.num_states)
    policy = np.random.default_rng(seed).dirichlet(np.ones(environment.spec.num_actions), size=shape)
    found = planning.policy_values(features, model, policy)
    np.testing.assert_allclose(found, textbook.of_policy(features, model, policy), **TOLERANCE)
    assert (found <= best + 1e-12).all()
    greedy = q.argmax(axis=-1)
    np.testing.assert_allclose(planning.policy_values(features, model, greedy), best, **TOLERANCE)


def test_a_policy_may_be_actions_their_probabilities_or_a_list():
    environment = make()
    features, model = environment.features, environment.model(3)
    actions = np.random.default_rng(0).integers(2, size=(3, 6))
    expected = textbook.of_policy(features, model, np.eye(2)[actions])
    for policy in (actions, np.eye(2)[actions], actions.tolist()):
        np.testing.assert_allclose(planning.policy_values(features, model, policy), expected, **TOLERANCE)


def test_values_on_jax_equal_those_on_numpy():
    environment = make()
    with jax.enable_x64(True):
        features = jnp.asarray(environment.features)
        model = Model(*map(jnp.asarray, environment.model(3)))
        values = np.asarray(planning.optimal_values(features, model))
    expected, _ = textbook.optimal(environment.features, environment.model(3))
    np.testing.assert_allclose(values, expected, **TOLERANCE)


@pytest.mark.parametrize("transition_norm", ["total_variation", "frobenius"])
@pytest.mark.parametrize("drift", [*DRIFTS.values(), dw.drift.Constant()], ids=str)
def test_variation_equals_the_sum_over_the_models(drift: dw.drift.Drift, transition_norm):
    environment = make(drift=drift)
    for num_episodes in (1, 2, 30):
        models = [environment.model(t) for t in range(num_episodes)]
        reward, transition = textbook.variation(models, transition_norm)
        found = environment.variation(num_episodes, transition_norm=transition_norm)
        assert found.reward.shape == found.transition.shape == (num_episodes - 1,)
        budgets = [found.reward_budget, found.transition_budget, found.total]
        np.testing.assert_allclose(budgets, [reward, transition, reward + transition], rtol=1e-12, atol=1e-12)
    assert (found.total > 0) == (drift != dw.drift.Constant())


def test_variation_of_an_abrupt_drift_sits_at_its_changes_and_sees_what_the_printed_form_misses():
    environment = make(drift=dw.drift.Abrupt((7, 20), num_anchors=2))
    found = environment.variation(30)
    assert np.flatnonzero(found.reward).tolist() == np.flatnonzero(found.transition).tolist() == [6, 19]
    moves = environment.model(7).mu - environment.model(6).mu
    assert np.linalg.norm(moves.sum(axis=-1), axis=-1).sum() < 1e-12  # ‖μ_t(S) − μ_{t+1}(S)‖
    assert found.transition[6] > 1


def test_variation_does_not_depend_on_the_chunks_it_is_computed_in():
    """A million states: the chunk is three episodes, and all measures are moved by hand."""

    class Path:
        features = np.ones((1, 1, 1))
        theta = np.zeros((2, 1, 1))
        mu = np.zeros((2, 1, 1, 1_300_000))

        def at(self, episodes: np.ndarray) -> np.ndarray:
            return np.column_stack([1 - episodes / 10, episodes / 10])

    path: Any = Path()
    path.mu[0, 0, 0, 0] = path.mu[1, 0, 0, -1] = 1.0  # all mass in the first, or in the last state
    found = LinearMdp.variation(path, 9)
    np.testing.assert_allclose(found.transition, np.full(8, 0.2), rtol=1e-12)


@pytest.mark.parametrize("name", ["latent_chains", "combination_lock"])
def test_variation_of_pairs_is_that_of_the_pair_that_moves_most(name):
    environment = make(name, dw.drift.Gradual((2, 9)))
    found = environment.variation(12, norm="pairs")
    for t in range(11):
        now, then = environment.model(t), environment.model(t + 1)
        rewards = [np.abs(environment.features @ move).max() for move in then.theta - now.theta]
        kernels = [np.abs(environment.features @ move).sum(-1).max() for move in then.mu - now.mu]
        assert found.reward[t] == pytest.approx(sum(rewards), abs=1e-12)
        assert found.transition[t] == pytest.approx(sum(kernels), abs=1e-12)
    assert 0 < found.total < environment.variation(12).total
