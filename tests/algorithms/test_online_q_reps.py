"""Online Q-REPS against its definition, and what its estimates and its policies promise."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import rel_entr

import driftwise as dw
from driftwise.algorithms import online_q_reps
from driftwise.algorithms.linear_mdps.online_q_reps import DualState, OccupancyDescent
from driftwise.base import Episode, Model, random
from driftwise.environments import LinearMdp, oil_discovery, random_linear_mdp
from driftwise.parts import ExactInverse, GeometricResampling
from driftwise.theory import tuning
from tests.examples import (
    BANDIT,
    NUM_EPISODES,
    NUM_RUNS,
    SPEC,
    STATIONARY,
    make,
    make_bandit,
    plain_values,
    refused,
)
from tests.parts.test_known_model import drawn_policy, kernel_of, model_of, steady
from tests.reference import online_q_reps as textbook

RATES: dict[str, Any] = dict(learning_rate=0.2, softness=0.5)
AGENT: dict[str, Any] = dict(**RATES, exploration=0.2)
UNIFORM = np.full((3, 6, 2), 0.5)
SMALL: dict[str, Any] = dict(num_states=3, num_actions=2, horizon=2, noise=0.2, drift=dw.drift.Constant())
ALTERNATING = dw.drift.Abrupt(tuple(range(1, 400)), num_anchors=2)


@pytest.mark.parametrize(
    "environment",
    [random_linear_mdp(num_states=3, num_actions=2, dim=3, horizon=2), oil_discovery(**SMALL)],
    ids=lambda environment: environment.name,
)
@pytest.mark.parametrize(
    ("parameters", "definition"), [({}, {}), (dict(period=4), dict(restarts=lambda k: k % 4 == 0))]
)
def test_it_is_the_algorithm_of_its_paper(environment, parameters, definition):
    """Where uniform play never comes, Z is whatever it is."""
    agent = online_q_reps(environment.spec, **AGENT, ridge=1e-2, **parameters)
    played = list(dw.play(agent, environment, 12))
    dual = textbook.Dual(environment.features, kernel_of(environment), environment.initial, **RATES)
    history = [one.episode for one in played]
    reached = dual.prior.sum(-1) > 0
    explored = 0
    for one, policy in zip(
        played, textbook.policies(dual, history, exploration=0.2, ridge=1e-2, **definition), strict=True
    ):
        found = np.exp(RATES["softness"] * np.einsum("sad,hd->hsa", environment.features, one.plan.weights))
        found /= found.sum(-1, keepdims=True)
        np.testing.assert_allclose(found[reached], policy[reached], rtol=0, atol=1e-5)
        explores = (one.plan.policy == 0.5).all()
        explored += explores
        np.testing.assert_allclose(one.plan.policy, 0.5 if explores else found, rtol=0, atol=1e-12)
    assert 0 < explored < 8


def test_uniform_episodes_come_as_often_as_asked_for():
    """Of 500, within four standard errors; the estimates are such that no other policy is uniform."""
    environment, agent = make("oil_discovery"), online_q_reps(SPEC, **AGENT)
    sums = np.random.default_rng(0).normal(size=(3, 12))
    state = DualState(sums, np.zeros((3, 12)), np.asarray(3))
    shown = environment.to_arrays(needs=agent.needs).example
    plans = [agent.plan(state, shown, random.fold(random.key(1), t)) for t in range(500)]
    share = np.mean([(plan.policy == 0.5).all() for plan in plans])
    assert abs(share - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 500)


@pytest.mark.parametrize("seed", range(3))
def test_with_one_hot_features_no_policy_is_better_and_the_dual_has_no_gap(seed):
    environment = make("oil_discovery")
    agent, model = online_q_reps(SPEC, **AGENT), model_of(environment)
    prior = model.occupancy(UNIFORM)
    sums = np.random.default_rng(seed).normal(scale=10, size=(3, 12))

    def objective(policy: np.ndarray) -> float:
        visits = model.occupancy(policy)
        entropy = np.sum(rel_entr(visits, prior))
        conditional = np.sum(rel_entr(policy, UNIFORM).sum(-1) * visits.sum(-1))
        gain = np.sum(model.expected(visits) * sums)
        return float(gain - entropy / RATES["learning_rate"] - conditional / RATES["softness"])

    found = agent.solve_dual(model, prior, DualState(sums, np.zeros_like(sums), np.asarray(1)))
    best = agent.primal_variables(model, prior, sums, found).policy
    dual = textbook.Dual(environment.features, kernel_of(environment), environment.initial, **RATES)
    assert objective(best) == pytest.approx(dual(found, sums), abs=1e-8)
    others = [drawn_policy(each) for each in range(50)]
    near = [0.99 * best + 0.01 * other for other in others]
    assert max(map(objective, [*others, *near])) < objective(best)


@pytest.mark.parametrize("rate", [0.05, 0.3, 2.0])
def test_newton_s_method_solves_the_dual_from_where_it_was(rate):
    """Features expected of the flow and of the occupancy agree, also at rates far above the tuned ones."""
    environment = steady(make())
    agent = online_q_reps(SPEC, learning_rate=rate, softness=rate, exploration=0.3)
    model = model_of(environment)
    prior, sums = model.occupancy(UNIFORM), np.zeros((3, 12))
    for one in dw.play(agent, environment, 60):
        at = agent.primal_variables(model, prior, sums, one.plan.weights)
        np.testing.assert_allclose(model.expected(at.flow), model.expected(at.occupancy), rtol=0, atol=1e-6)
        sums = one.carry.state.rewards


def test_estimates_have_the_rewards_for_their_mean():
    """All trajectories of a tiny problem, weighted: `(Σ + ρI)⁻¹Σθ`, which earns what θ does if ρ is small."""
    environment = random_linear_mdp(num_states=2, num_actions=2, dim=3, horizon=2)
    spec, ridge = environment.spec, 1e-9
    agent = online_q_reps(spec, **AGENT, ridge=ridge)
    world = environment.to_arrays(needs=agent.needs)
    model, true = model_of(environment), environment.model(0)
    sums = np.random.default_rng(0).normal(size=(2, 3))
    state = DualState(sums, np.zeros_like(sums), np.asarray(5))
    key = random.key(0)
    planned = agent.plan(state, world.example, key)
    chosen = agent.primal_variables(
        model, model.occupancy(np.full((2, 2, 2), 0.5)), sums, planned.weights
    ).policy
    kernel = kernel_of(environment)
    mean = np.zeros_like(sums)
    for share, policy in ((0.8, chosen), (0.2, np.full((2, 2, 2), 0.5))):
        for states in itertools.product(range(2), repeat=3):
            for actions in itertools.product(range(2), repeat=2):
                chance = share * environment.initial[states[0]]
                for h in range(2):
                    chance *= (
                        policy[h, states[h], actions[h]] * kernel[h, states[h], actions[h], states[h + 1]]
                    )
                phi = environment.features[list(states[:2]), list(actions)]
                rewards = np.sum(phi * true.theta, axis=-1)
                seen = Episode(np.array(states[:2]), np.array(actions), phi, rewards, np.array(states[1:]))
                mean += chance * (agent.update(state, world.example, planned, seen).rewards - sums)
    np.testing.assert_allclose(
        environment.features @ mean.T, environment.features @ true.theta.T, rtol=0, atol=1e-6
    )


@pytest.mark.slow
def test_resampled_covariances_run_compiled_as_they_do_in_a_loop():
    agent, environment = online_q_reps(SPEC, **AGENT, covariance="resampled"), make("oil_discovery")
    result = dw.simulate(agent, environment, num_episodes=NUM_EPISODES)
    np.testing.assert_allclose(result.values[0], plain_values(agent, environment), rtol=0, atol=1e-9)


def regret_against_one_policy(agent: Any, environment: LinearMdp, num_episodes: int) -> float:
    """The mean over runs of what the policy that is best for the mean rewards earns more."""
    result = dw.simulate(agent, environment, num_episodes=num_episodes, num_runs=NUM_RUNS)
    weights = environment.at(np.arange(num_episodes)).mean(axis=0)
    mean = Model(np.tensordot(weights, environment.theta, axes=1), environment.mu[0])
    best = environment.initial @ dw.planning.optimal_values(environment.features, mean)[0]
    return num_episodes * float(best) - float(result.values.sum(axis=-1).mean())


@pytest.mark.parametrize("covariance", [{}, dict(covariance="resampled", num_samples=20)])
@pytest.mark.parametrize("drift", [STATIONARY, ALTERNATING], ids=["stationary", "alternating"])
def test_its_regret_against_one_policy_is_far_below_that_of_chance(drift, covariance):
    environment = make("oil_discovery", drift, centres=(0.9, 0.6))
    agent = online_q_reps(SPEC, learning_rate=0.1, softness=0.1, exploration=0.1, **covariance)
    learnt = regret_against_one_policy(agent, environment, 400)
    chance = regret_against_one_policy(dw.algorithms.uniform(SPEC), environment, 400)
    assert learnt < chance / 2


@pytest.mark.slow
def test_single_precision_is_close():
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    agent, environment = online_q_reps(SPEC, **AGENT), make("oil_discovery")
    double = dw.simulate(agent, environment, **options)
    single = dw.simulate(agent, environment, **options, precision="float32")
    np.testing.assert_allclose(single.values, double.values, rtol=0, atol=1e-3)


def test_it_believes_the_values_of_its_policy_if_estimates_are_right():
    environment = make("oil_discovery", STATIONARY)
    agent, true = online_q_reps(SPEC, **AGENT), environment.model(0)
    state = DualState(7 * true.theta, np.zeros((3, 12)), np.asarray(7))
    q, values = agent.evaluate_policy(model_of(environment), drawn_policy(2), state)
    exact = dw.planning.policy_values(environment.features, true, drawn_policy(2))
    np.testing.assert_allclose(values, exact[:3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        q, dw.planning.action_values(environment.features, true, exact), rtol=0, atol=1e-12
    )


def test_what_does_not_fit_is_refused_in_one_sentence():
    with refused("environment must have transitions that do not drift, which the agent needs, got "):
        dw.simulate(online_q_reps(SPEC, **AGENT), make(), num_episodes=3)
    needs = "environment must have measures and initial and fixed_transitions, which the agent needs, "
    with refused(f"{needs}got {make_bandit()!r}"):
        dw.simulate(online_q_reps(BANDIT, **AGENT), make_bandit(), num_episodes=3)
    with refused("num_samples must be a positive integer, got 0"):
        online_q_reps(SPEC, **AGENT, covariance="resampled", num_samples=0)


def test_tuned_balances_the_entropies_with_the_variance():
    """η = √(3 log 2 / (12 E)): E is the run of 4000 episodes, or the 20 between restarts."""
    still = online_q_reps.tuned(SPEC, num_episodes=4000)
    rate = np.sqrt(3 * np.log(2) / (12 * 4000))
    assert still == OccupancyDescent(
        SPEC, still.learning_rate, still.softness, still.exploration, ExactInverse(), 4000
    )
    assert (still.learning_rate, still.softness) == pytest.approx((rate, rate))
    assert still.exploration == pytest.approx(12 * rate)
    drifting = online_q_reps.tuned(SPEC, num_episodes=4000, variation=120.0, covariance="resampled")
    assert (
        drifting.period == tuning.restart_period(dim=12, horizon=3, num_episodes=4000, variation=120.0) == 20
    )
    assert drifting.learning_rate == pytest.approx(np.sqrt(3 * np.log(2) / (12 * 20)))
    assert drifting.exploration == 0.5
    assert drifting.covariance == GeometricResampling(100)
