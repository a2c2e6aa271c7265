"""The engine equals the textbook: OPT-WLSVI from stored history, counts on one-hot features, D-LinUCB."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.algorithms import lsvi_ucb, opt_wlsvi
from driftwise.base import Episode, FeatureTable, Moments, Sample, Spec, random
from driftwise.environments import LinearMdp, combination_lock, random_linear_mdp
from driftwise.online.deciders.memories import Width
from driftwise.parts import ExponentialWeights, Greedy, LearntNoise, LeastSquares, NoForgetting, Ucb, Uniform
from driftwise.parts.least_squares import prior_excess
from tests.examples import SPEC, STATIONARY, assert_fields_close, make
from tests.reference import bandits, planning
from tests.reference import opt_wlsvi as textbook

TOLERANCE: dict[str, Any] = dict(rtol=0, atol=1e-8)  # two ways to sum, two to invert
small = partial(random_linear_mdp, num_states=5, num_actions=3, dim=4, horizon=3)


@pytest.mark.parametrize("clip", ["paper", "tight"])
@pytest.mark.parametrize("norm", ["sandwich", "single"])
@pytest.mark.parametrize(("seed", "rate", "radius", "ridge"), [(0, 0.9, 0.3, 1.0), (1, 0.6, 2.0, 0.3)])
def test_engine_equals_textbook_opt_wlsvi(norm, clip, seed, rate, radius, ridge):
    environment = small(drift=dw.drift.Abrupt((10,)), rewards="bernoulli", seed=seed)
    agent = opt_wlsvi(environment.spec, rate=rate, radius=radius, ridge=ridge, norm=norm, clip=clip)
    options: dict[str, Any] = dict(rate=rate, radius=radius, ridge=ridge, norm=norm, clip=clip)
    history = []
    for t, played in enumerate(dw.play(agent, environment, 26, seed=seed)):
        if t % 5 == 0:
            expected = textbook.plan(history, environment.features, 3, **options)
            assert_fields_close(played.plan, expected)
            if norm == "sandwich":  # the only norm that a common factor of all weights leaves alone
                literal = textbook.plan(history, environment.features, 3, **options, literal=True)
                np.testing.assert_allclose(played.plan.q, literal.q, **TOLERANCE)
        history.append(played.episode)


def test_both_clips_bind_in_the_textbook_comparison():
    """Else the comparison above would say nothing about clipping."""
    environment = small(seed=1)
    options: dict[str, Any] = dict(rate=0.6, radius=2.0, ridge=0.3)
    history = [one.episode for one in dw.play(opt_wlsvi(environment.spec, **options), environment, 20)]
    paper, tight = (
        textbook.plan(history, environment.features, 3, **options, clip=clip) for clip in ("paper", "tight")
    )
    assert paper.q[1].max(axis=-1).max() > 3
    assert np.abs(paper.q - tight.q).max() > 0.1


@pytest.mark.parametrize("clip", ["paper", "tight", "range"])
def test_all_clips_but_the_papers_lift_negative_values_to_zero(clip):
    """Rewards are never negative; these are, to see the floor of the clip."""
    environment = small()
    agent = LeastSquares(environment.spec, ExponentialWeights(0.9), Ucb(0.01, "sandwich"), clip=clip)
    table, key = _planning(environment)
    state = agent.init(table)
    history = []
    for played in dw.play(agent, environment, 10):
        history.append(played.episode._replace(rewards=-np.ones(3)))
        state = agent.update(state, table, played.plan, history[-1])
    plan = agent.plan(state, table, key)
    expected = textbook.plan(history, environment.features, 3, rate=0.9, radius=0.01, ridge=1.0, clip=clip)
    np.testing.assert_allclose(plan.q, expected.q, **TOLERANCE)
    assert (plan.value.min() < 0) == (clip == "paper")


@pytest.mark.parametrize("norm", ["sandwich", "single"])
def test_shared_steps_are_one_regression_with_one_ridge(norm):
    """In Λ and in Λ̃ alike: a ridge for each step would count H times."""
    environment = small(rewards="bernoulli")
    agent = LeastSquares(environment.spec, ExponentialWeights(0.8), Ucb(0.5, norm), ridge=2.0, steps="shared")
    table, key = _planning(environment)
    state, history = agent.init(table), []
    for played in dw.play(opt_wlsvi(environment.spec, rate=0.8, radius=0.5), environment, 12):
        plan = agent.plan(state, table, key)
        options: dict[str, Any] = dict(rate=0.8, radius=0.5, ridge=2.0, norm=norm, shared=True)
        expected = textbook.plan(history, environment.features, 3, **options)
        assert_fields_close(plan, expected)
        state = agent.update(state, table, plan, played.episode)
        history.append(played.episode)


def test_engine_works_where_the_literal_weights_overflow():
    environment = random_linear_mdp(num_states=2, num_actions=2, dim=2, horizon=2)
    rate, num_episodes = 0.2, 470  # 0.2^−τ passes 10^308 at τ = 441
    agent = opt_wlsvi(environment.spec, rate=rate, radius=0.5)
    played = list(dw.play(agent, environment, num_episodes))
    history = [one.episode for one in played[:-1]]
    options: dict[str, Any] = dict(rate=rate, radius=0.5, ridge=1.0)
    with pytest.raises(OverflowError):
        textbook.plan(history, environment.features, 2, **options, literal=True)
    expected = textbook.plan(history, environment.features, 2, **options)
    np.testing.assert_allclose(played[-1].plan.q, expected.q, **TOLERANCE)


def test_zero_bonus_with_exact_data_recovers_the_optimal_action_values():
    """Every (s, a, s') once, with its probability as the count: only the ridge stands between w and Q*."""
    environment = small(concentration=1.0)
    _, probability = planning.kernel(environment.features, environment.model(0))
    rewards = np.einsum("sad,hd->hsa", environment.features, environment.theta[0])
    agent = LeastSquares(environment.spec, NoForgetting(), Greedy(), ridge=1e-10)
    table, key = _planning(environment)
    state = agent.init(table)
    for s, a, s_next in np.ndindex(5, 3, 5):
        phi = np.broadcast_to(environment.features[s, a], (3, 4))
        sample = Sample(phi, rewards[:, s, a], np.full(3, s_next), probability[:, s, a, s_next])
        state = agent.forgetting.update(state, sample)
    q = planning.optimal(environment.features, environment.model(0))[1]
    # ridge 1e-10 over the least eigenvalue of the gram (about 0.1), times H
    np.testing.assert_allclose(agent.plan(state, table, key).q, q, rtol=0, atol=1e-7)


def test_zero_bonus_recovers_the_optimal_action_values_from_uniform_exploration():
    environment = random_linear_mdp(num_states=3, num_actions=2, dim=2, horizon=2, concentration=0.5)
    explorer, greedy = (
        LeastSquares(environment.spec, NoForgetting(), each, ridge=1e-6) for each in (Uniform(), Greedy())
    )
    *_, last = dw.play(explorer, environment, 2000)
    plan = greedy.plan(last.carry.state, *_planning(environment))
    q = planning.optimal(environment.features, environment.model(0))[1]
    # the last step's rewards are seen without noise; before it, transitions sampled 2000 times: about 0.03
    np.testing.assert_allclose(plan.q[-1], q[-1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(plan.q, q, rtol=0, atol=0.1)


@pytest.mark.parametrize("clip", ["paper", "tight"])
@pytest.mark.parametrize("norm", ["sandwich", "single"])
def test_optimistic_action_values_dominate_the_optimal_ones(norm, clip):
    """A radius of 2H√d covers the bias of the ridge (‖w‖ ≤ 2H√d) and, here, the noise of transitions."""
    radius = 2 * SPEC.horizon * np.sqrt(SPEC.dim)
    agent = opt_wlsvi(SPEC, rate=0.95, radius=radius, norm=norm, clip=clip)
    for seed in range(6):
        environment = make(drift=STATIONARY, seed=seed)
        q = planning.optimal(environment.features, environment.model(0))[1]
        for played in dw.play(agent, environment, 25, seed=seed):
            assert (played.plan.q >= q).all()
            assert (played.plan.value >= q[0].max(axis=-1)).all()


def test_without_a_bonus_there_is_no_optimism():
    environment = make(drift=STATIONARY)
    q = planning.optimal(environment.features, environment.model(0))[1]
    *_, last = dw.play(lsvi_ucb(SPEC, radius=0), environment, 25)
    assert (last.plan.q < q).any()
    np.testing.assert_array_equal(last.plan.bonus, 0)


@pytest.mark.parametrize(("rate", "ridge", "radius"), [(1.0, 1.0, 0.4), (1.0, 0.3, 1.5), (0.9, 0.5, 0.0)])
def test_on_one_hot_features_the_regression_is_discounted_counting(rate, ridge, radius):
    """`Q_h(s,a) = (Σ r + Σ_{s'} n(s,a,s') V_{h+1}(s')) / (n + λ) + β/√(n + λ)`, `V = min(max_a Q, H)`."""
    environment = combination_lock(horizon=3, drift=dw.drift.Abrupt((20,)), rewards="bernoulli")
    forgetting = NoForgetting() if rate == 1 else ExponentialWeights(rate)
    exploration = Ucb(radius, "single") if radius else Uniform()
    agent = LeastSquares(environment.spec, forgetting, exploration, ridge=ridge)
    states, actions = SPEC.num_states, SPEC.num_actions
    visits, reward_sums = np.zeros((2, 3, states, actions))
    arrivals = np.zeros((3, states, actions, states))
    for played in dw.play(agent, environment, 60):
        value = np.zeros(states)
        for h in reversed(range(3)):
            estimate = (reward_sums[h] + arrivals[h] @ value) / (visits[h] + ridge)
            np.testing.assert_allclose(played.plan.weights[h], estimate.ravel(), rtol=0, atol=1e-9)
            q = estimate + radius / np.sqrt(visits[h] + ridge)
            np.testing.assert_allclose(played.plan.q[h], q, rtol=0, atol=1e-9)
            value = np.minimum(q.max(axis=1), 3)
        for table in (visits, reward_sums, arrivals):
            table *= rate
        for h, (s, a, _, reward, s_next) in enumerate(zip(*played.episode[:5], strict=True)):
            visits[h, s, a] += 1
            reward_sums[h, s, a] += reward
            arrivals[h, s, a, s_next] += 1
        for h in range(3):
            counts = np.diag(visits[h].ravel() + ridge)
            np.testing.assert_allclose(played.carry.state.gram[h], counts, rtol=0, atol=1e-9)
    assert reward_sums.sum() > 0  # else the comparison saw nothing but bonuses


def test_one_step_one_state_mdp_is_d_linucb_arm_by_arm():
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(7, 3))
    lengths = np.linspace(0.3, 0.6, 7)[:, None]  # all different: no ties in the first round
    arms[:, :2] *= lengths / np.linalg.norm(arms[:, :2], axis=1, keepdims=True)
    arms[:, 2] = 0.8  # a constant coordinate carries the probability of the only state
    directions = np.array([[0.6, 0.2], [-0.5, 0.4], [0.1, -0.7]])
    thetas = np.column_stack([directions, np.full(3, 0.5 / 0.8)])
    environment = LinearMdp(
        features=arms[None],
        theta=thetas[:, None],
        mu=np.broadcast_to([[0.0], [0.0], [1 / 0.8]], (3, 1, 3, 1)),
        initial=np.ones(1),
        drift=dw.drift.Abrupt((60, 130)),
    )
    agent = opt_wlsvi(environment.spec, rate=0.93, radius=0.3, ridge=0.1)
    played = dw.play(agent, environment, 200)
    arms_of_engine = [int(one.episode.actions[0]) for one in played]
    means = np.repeat(thetas, [60, 70, 70], axis=0) @ arms.T
    rounds = [bandits.Round(arms, np.full(7, True), here, here) for here in means]
    textbook = bandits.Textbook(lambda t, tau: 0.93 ** (t - 1 - tau), lambda t, v: 0.3, 0.1, sandwich=True)
    expected = [step.arm for step in bandits.play(textbook, rounds)]
    assert arms_of_engine == expected
    assert len(set(expected)) >= 5  # it does explore


def test_actions_follow_the_probabilities_of_the_plan_which_treats_what_is_alike_alike():
    table, key = _planning(combination_lock(horizon=3, drift=dw.drift.Abrupt((20,))))
    agent = opt_wlsvi(SPEC, rate=0.9, radius=1.0)
    plan = agent.plan(agent.init(table), table, key)
    np.testing.assert_array_equal(plan.policy, 0.5)
    plan.policy[1, 4] = [0.25, 0.75]
    drawn = [int(agent.act(plan, 1, np.asarray(4), np.asarray(u))) for u in (0.0, 0.2, 0.25, 0.9)]
    assert drawn == [0, 0, 1, 1]


def _planning(environment: LinearMdp) -> tuple:
    return environment.to_arrays().table, random.key(0)


@given(seed=st.integers(0, 99), dim=st.integers(1, 4), ridge=st.floats(0.01, 3), variance=st.floats(1e-6, 9))
def test_the_excess_of_a_learnt_prior_is_its_formula(seed, dim, ridge, variance):
    """ρ = λ(λτ²/s² − 1)₊ with τ² = ‖w‖²/√r and r = d − λ tr Λ⁻¹, at least 1."""
    rng, expected = np.random.default_rng(seed), []
    rows, cross = rng.normal(size=(2, dim // 2 + 1, dim)), rng.normal(size=(2, dim))
    variances = np.array([variance, 0.0])  # without noise there is none
    grams = [ridge * np.eye(dim) + each.T @ each for each in rows]
    for gram, target, noise in zip(grams, cross, variances, strict=True):
        weights, known = np.linalg.solve(gram, target), float(dim)
        for value in np.linalg.eigvalsh(gram):
            known -= ridge / value
        size = sum(w * w for w in weights) / max(known, 1.0) ** 0.5
        expected.append(ridge * max(ridge * size / noise - 1, 0.0) if noise > 0 else 0.0)
    zero = np.zeros(2)
    moments = Moments(np.stack(grams), None, cross[..., None], np.array(ridge), zero, zero, zero, zero, ())
    excess = prior_excess(np.linalg.inv(moments.gram), moments, variances)
    np.testing.assert_allclose(excess, expected, rtol=1e-7, atol=1e-9)
    weights, trace = np.linalg.solve(grams[0], cross[0]), float(np.trace(np.linalg.inv(grams[0])))
    own = Width(1.0, ridge, variance).excess(weights, lambda: trace)  # as deciders have it
    assert own == pytest.approx(expected[0], rel=1e-7, abs=1e-9)


def test_a_learnt_prior_explores_what_was_never_tried_whatever_the_noise():
    """The width of a direction without samples is the root of τ², not of the variance of little noise."""
    agent = LeastSquares(
        Spec.bandit(dim=2, num_arms=2), NoForgetting(), Ucb(1.0), 0.5, noise=LearntNoise(), prior="learnt"
    )
    table, nowhere = FeatureTable(np.eye(2)), np.zeros(1, dtype=np.int32)
    state, key = agent.init(table), random.key(0)
    for t in range(30):
        plan = agent.plan(state, table, key)
        reward = np.array([5.0 + 1e-3 * (-1) ** t])
        state = agent.update(state, table, plan, Episode(nowhere, nowhere, table.values[:1], reward, nowhere))
    bonus = agent.plan(state, table, key).bonus[0, 0]
    assert bonus[1] == pytest.approx(5.0, rel=0.05)
    assert bonus[0] < 0.1 * bonus[1]
    with pytest.raises(ValueError, match="prior must be 'given' without noise"):
        replace(agent, noise=None)
    with pytest.raises(ValueError, match="prior must be 'given' without noise, or where exploration"):
        replace(agent, exploration=Ucb(1.0, "single"))
