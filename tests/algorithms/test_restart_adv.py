"""Restart-Adv: its design, its probabilities, its estimates, and its bound."""

import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import restart_adv
from driftwise.base import Episode, FeatureTable, random
from driftwise.environments import LinearBandit
from driftwise.online import Bandit
from driftwise.parts.designs import g_optimal_design, moment_inverse
from driftwise.theory.bandit_tuning import adversarial_period
from tests.examples import make_bandit
from tests.reference import adversarial as textbook


def sphere(num: int, dim: int, seed: int = 0) -> np.ndarray:
    arms = np.random.default_rng(seed).normal(size=(num, dim))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def flat(num: int) -> np.ndarray:
    """Arms of a plane in three dimensions."""
    return sphere(num, 2) @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 2)))[0].T


ARMS = {"sphere": sphere(20, 3), "plane": flat(9), "few": sphere(3, 3), "unequal": 0.1 * sphere(9, 3, 4)}
for row in range(4):
    ARMS["unequal"][row] *= 10


@pytest.mark.parametrize("name", ARMS)
def test_a_design_is_as_good_as_any_and_its_support_spans_all_arms(name):
    arms, even = ARMS[name], np.full(len(ARMS[name]), 1 / len(ARMS[name]))
    design, rank = g_optimal_design(arms, even), np.linalg.matrix_rank(arms)
    assert design.min() >= 0
    assert abs(design.sum() - 1) < 1e-12
    assert textbook.widths(arms, design).max() <= 1.01 * rank + 1e-6
    assert np.linalg.matrix_rank(arms[design > 1e-3]) == rank
    np.testing.assert_allclose(design, textbook.multiplied_design(arms), rtol=0, atol=1e-8)
    other = textbook.frank_wolfe_design(arms)  # which is 1 % from the best as well
    dets = [np.linalg.eigvalsh(textbook.moment(arms, each))[-rank:].prod() for each in (design, other)]
    assert abs(math.log(dets[0] / dets[1])) < 0.01 * rank


@pytest.mark.parametrize("name", ["sphere", "plane"])
def test_probabilities_equal_the_plain_loop_in_every_round_of_every_block(name):
    arms = ARMS[name]
    environment = LinearBandit(
        dw.arms.FixedArms(arms.tolist()),
        dw.paths.abrupt_path(((0.8, 0, 0), (-0.3, 0.5, 0)), (30,)),
        noise_scale=0.1,
    )
    loop = textbook.RestartAdv(arms, period=25, scale=1.3)
    for one in dw.play(restart_adv(environment.spec, period=25, step_scale=1.3), environment, 60):
        np.testing.assert_allclose(one.plan.policy[0, 0], loop.chances(), rtol=0, atol=1e-8)
        loop.learn(int(one.episode.actions[0]), float(one.episode.rewards[0]))
    assert np.ptp(loop.chances() - loop.mixing * loop.design) > 1e-3  # it had learnt something


def test_estimates_have_no_bias_whatever_is_played():
    """The exact expectation over the drawn arm: what a round adds to gains is `xᵀθ`, for all x."""
    arms, theta = ARMS["sphere"], np.array([0.4, -0.3, 0.5])
    agent, shown = restart_adv(dw.Spec.bandit(dim=3, num_arms=20), period=50), FeatureTable(ARMS["sphere"])
    state = agent.init(shown)._replace(cross=np.array([[[9.0], [-4.0], [2.0]]]))
    plan, start = agent.plan(state, shown, random.key(0)), np.zeros(1, dtype=np.int32)
    added = np.zeros(3)
    for arm, chance in enumerate(plan.policy[0, 0]):
        episode = Episode(start, start + arm, arms[[arm]], arms[[arm]] @ theta, start)
        added += chance * (agent.update(state, shown, plan, episode).cross - state.cross)[0, :, 0]
    np.testing.assert_allclose(arms @ added, arms @ theta, rtol=0, atol=1e-8)


def test_no_step_is_longer_than_the_proof_allows():
    """`ζ|xᵀQ⁻¹a| ≤ 1.01` for all arms: then `e^z ≤ 1 + z + z²` is at hand."""
    arms = ARMS["sphere"]
    agent = restart_adv(dw.Spec.bandit(dim=3, num_arms=20), period=100)
    state = agent.init(FeatureTable(arms))._replace(cross=np.array([[[80.0], [0.0], [0.0]]]))
    policy = agent.plan(state, FeatureTable(arms), random.key(0)).policy[0, 0]
    pulls = arms @ np.linalg.inv(textbook.moment(arms, policy)) @ arms.T
    assert math.sqrt(math.log(20) / 900) * np.abs(pulls).max() <= 1.01 + 1e-9


def test_blocks_are_those_that_make_the_bound_least():
    run = dict(dim=3, num_arms=20, num_episodes=20_000, variation=8.0)
    root, best = math.sqrt(3 * 3 * math.log(20)), adversarial_period(**run)  # pyright: ignore[reportArgumentType]

    def total(length: float) -> float:
        return 2 * 20_000 * root / math.sqrt(length) + 2 * 8.0 * length

    assert total(best) <= min(total(best - 1), total(best + 1))
    assert abs(total(best) / (6 * (0.75 * 3 * math.log(20)) ** (1 / 3) * 2.0 * 20_000 ** (2 / 3)) - 1) < 1e-4
    spec = dw.Spec.bandit(dim=3, num_arms=20)
    assert restart_adv.tuned(spec, num_episodes=20_000, variation=8.0).forgetting.period == best
    assert restart_adv.tuned(spec, num_episodes=500, variation=0.0).forgetting.period == 500
    assert restart_adv.tuned(spec, num_episodes=500, variation=1e9).forgetting.period == 1


def test_arms_that_change_have_a_design_of_their_own_and_absent_ones_no_chance():
    environment = make_bandit()
    for one in dw.play(restart_adv(environment.spec, period=15), environment, 20):
        present = np.asarray(one.features.present)
        policy = one.plan.policy[0, 0]
        assert (policy[~present] == 0).all()
        assert (policy[present] > 0).all()
        assert abs(policy.sum() - 1) < 1e-12


def test_online_it_takes_any_number_of_arms_and_refuses_rewards_beyond_its_bound():
    bandit, arms = Bandit("restart_adv", dim=3, period=40, seed=0), ARMS["sphere"]
    for num in (20, 20, 5, 1):
        decision = bandit.decide(arms[:num])
        assert abs(decision.probabilities.sum() - 1) < 1e-9
        bandit.learn(decision.id, reward=0.5)
    with pytest.raises(ValueError, match=r"^reward must lie in reward_range, from -1 to 1, got 7"):
        bandit.learn(bandit.decide(arms).id, reward=7.0)


@pytest.mark.slow
def test_a_tuned_run_stays_below_its_bound():
    """20 arms, four jumps in 20,000 rounds: about a third of the bound, and of what chance would lose."""
    angles = [(0.9, 0, 0), (0, 0.9, 0), (-0.9, 0, 0), (0, -0.9, 0), (0, 0, 0.9)]
    environment = LinearBandit(
        dw.arms.FixedArms(ARMS["sphere"].tolist()),
        dw.paths.abrupt_path(angles, (4000, 8000, 12000, 16000)),
        noise_scale=0.1,
    )
    variation = environment.variation(20_000).total
    agent = restart_adv.tuned(environment.spec, num_episodes=20_000, variation=variation)
    sizes: Any = dict(num_episodes=20_000, num_runs=4, record_every=100)
    result = dw.simulate(agent, environment, **sizes)
    lost = float(result.cumulative_regret[..., -1].max())
    assert lost < 6 * (0.75 * 3 * math.log(20)) ** (1 / 3) * variation ** (1 / 3) * 20_000 ** (2 / 3)
    uniform = dw.simulate(dw.algorithms.uniform(environment.spec), environment, **sizes)
    assert lost < 0.6 * float(uniform.cumulative_regret[..., -1].min())


def test_estimates_are_by_the_probability_that_an_arm_was_drawn_with_and_not_the_agents_own():
    bandit = Bandit("restart_adv", dim=3, period=100, epsilon=0.4)
    decision = bandit.decide(ARMS["sphere"])
    bandit.learn(decision.id, 0.7)
    moment = textbook.moment(ARMS["sphere"], decision.probabilities)
    expected = np.linalg.solve(moment, 0.7 * ARMS["sphere"][decision.arm])
    np.testing.assert_allclose(bandit.state.cross[0, :, 0], expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_short_arm_that_is_played_now_and_then_is_a_direction_in_either_precision(dtype):
    arms, chances = np.array([[1, 0], [0, 0.1]], dtype=dtype), np.array([0.993, 0.007], dtype=dtype)
    np.testing.assert_allclose(moment_inverse(arms, chances), np.diag([1 / 0.993, 1 / 7e-5]), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_direction_that_no_arm_has_is_none_in_either_precision(dtype):
    for dim in (3, 10, 30):
        turn = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))[0]
        arms = (sphere(500, dim - 1) @ turn[:, 1:].T).astype(dtype)
        inverse = moment_inverse(arms, np.full(500, 1 / 500, dtype=dtype))
        assert abs(turn[:, 0] @ inverse @ turn[:, 0]) < 1e-3 * np.linalg.norm(inverse, 2)
