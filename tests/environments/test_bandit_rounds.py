"""Rounds of a bandit: exact regret, chances that are the same for all agents, and corrupted rewards."""

import math
import re

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import uniform
from driftwise.environments import linear_bandit
from driftwise.environments.models.linear_bandit import Corruption, Mirrored, SignFlips, WrongUnit
from driftwise.parts import EpsilonGreedy, RandomisedUcb, Thompson, Ucb, Uniform
from tests.environments.bandits import EXAMPLES, noise, play_rounds, present_arms
from tests.examples import BANDIT, NUM_EPISODES, NUM_RUNS, bandit_agent, make_bandit
from tests.reference.bandits import MEANS, rounds


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("exploration", [Ucb(0.5), Thompson(0.5), EpsilonGreedy(0.3)], ids=str)
def test_agents_learn_from_the_arm_played_and_regret_is_the_best_mean_less_the_policys(name, exploration):
    total = 0.0
    for arms, plan, record, episode, theta in play_rounds(EXAMPLES[name], exploration, 60):
        (arm,) = episode.actions
        np.testing.assert_array_equal(episode.features[0], arms.values[arm])
        assert plan.policy[0, 0, arm] > 0
        assert record.reward == episode.rewards[0]
        linear = [sum(x * weight for x, weight in zip(arm, theta, strict=True)) for arm in arms.values]
        means = MEANS[EXAMPLES[name].link](np.array(linear))
        best = max(mean for mean, present in zip(means, present_arms(arms), strict=True) if present)
        value = sum(p * mean for p, mean in zip(plan.policy[0, 0], means, strict=True))
        assert record.optimal == pytest.approx(best, abs=1e-14)
        assert record.value == pytest.approx(value, abs=1e-14)
        assert record.optimal - record.value >= -1e-15
        total += record.optimal - record.value
    assert total > 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_agents_meet_the_same_arms_and_the_same_noise(name):
    environment = EXAMPLES[name]
    one, other = (play_rounds(environment, way, 40) for way in (Uniform(), RandomisedUcb(0.5)))
    assert any(a.episode.actions != b.episode.actions for a, b in zip(one, other, strict=True))
    for a, b in zip(one, other, strict=True):
        for x, y in zip(jax.tree.leaves(a.arms), jax.tree.leaves(b.arms), strict=True):
            np.testing.assert_array_equal(x, y)
        if environment.rewards == "gaussian":
            assert noise(a) == pytest.approx(noise(b), abs=1e-14)


def test_noise_is_normal_with_the_stated_deviation_and_differs_between_rounds_and_runs():
    environment = linear_bandit(
        arms=dw.arms.orthogonal_arms(2), path=dw.paths.Rotation(0.0, 1.0, 9), noise_scale=0.3
    )
    drawn = np.array(
        [[noise(one) for one in play_rounds(environment, Uniform(), 250, run=run)] for run in range(2)]
    )
    num = drawn.size
    assert len(np.unique(drawn)) == num
    assert abs(drawn.mean()) < 5 * 0.3 / math.sqrt(num)
    assert abs(np.mean(drawn**2) - 0.09) < 5 * 0.09 * math.sqrt(2 / num)
    assert abs(np.mean(np.abs(drawn) < 0.3) - 0.6827) < 5 * math.sqrt(0.6827 * 0.3173 / num)


def test_coins_pay_nought_or_one_with_the_bias_of_the_arm_and_one_toss_decides_for_all_arms():
    """What pays with a bias of 0.2 would have paid with one of 0.9."""
    num, paid = 250, []
    for bias in (0.2, 0.9):
        coin = linear_bandit(
            arms=dw.arms.FixedArms([[bias]]),
            path=dw.paths.abrupt_path([[1.0]], ()),
            rewards="bernoulli",
            noise_scale=9.0,
        )
        rewards = np.array([one.record.reward for one in play_rounds(coin, Uniform(), num)])
        assert set(rewards.tolist()) == {0.0, 1.0}
        assert abs(rewards.mean() - bias) < 5 * math.sqrt(bias * (1 - bias) / num)
        paid.append(rewards)
    assert (paid[0] <= paid[1]).all()


def test_counts_are_poisson_with_the_mean_of_the_link():
    """Mean and variance of Poisson's law are equal; the variance of the latter's estimate is below 3m²/n."""
    num = 400
    counts = linear_bandit(
        arms=dw.arms.FixedArms([[1.0]]), path=dw.paths.abrupt_path([[0.7]], ()), rewards="poisson", link="log"
    )
    rewards = np.array([one.record.reward for one in play_rounds(counts, Uniform(), num)])
    assert (rewards == np.round(rewards)).all()
    assert rewards.min() == 0
    mean = math.exp(0.7)
    assert abs(rewards.mean() - mean) < 5 * math.sqrt(mean / num)
    assert abs(rewards.var() - mean) < 5 * mean * math.sqrt(3 / num)
    np.testing.assert_array_equal(rewards, [one.rewards[0] for one in rounds(counts, num)])


def test_a_count_of_mean_nought_is_nought_and_without_noise_the_reward_is_the_mean():
    still = dw.paths.abrupt_path([[0.0]], ())
    nothing = linear_bandit(arms=dw.arms.FixedArms([[1.0]]), path=still, rewards="poisson")
    assert all(one.record.reward == 0 for one in play_rounds(nothing, Uniform(), 20))
    walk = dw.paths.SphereWalk(3, 0.1, seed=1)
    silent = linear_bandit(arms=dw.arms.FreshArms(4, 3), path=walk, noise_scale=0)
    assert np.abs([noise(one) for one in play_rounds(silent, Uniform(), 10)]).max() <= 1e-15


NUM_ROUNDS = 120


def play_corrupted(corruption: Corruption) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rewards of a uniform agent as seen and as earned, and whether its arm was the best."""
    rows = []
    environment = make_bandit(noise_scale=0.3, corruption=corruption)
    played = dw.play(uniform(BANDIT), environment, NUM_ROUNDS)
    for one, here in zip(played, rounds(environment, NUM_ROUNDS), strict=True):
        arm, best = one.episode.actions[0], here.means[here.present].max()
        assert one.record.optimal == pytest.approx(best, abs=1e-12)
        assert one.record.value == pytest.approx(here.means[here.present].mean(), abs=1e-12)
        assert one.record.reward == one.episode.rewards[0]
        rows.append((one.record.reward, here.rewards[arm], here.means[arm] == best))
    seen, earned, best = map(np.array, zip(*rows, strict=True))
    return seen, earned, best


def test_flips_change_the_best_arm_alone_and_keep_to_their_budget():
    seen, earned, best = play_corrupted(SignFlips(4.0))
    spent = np.abs(seen - earned)
    flipped = spent > 1e-12
    np.testing.assert_allclose(seen[flipped], -earned[flipped], rtol=0, atol=1e-12)
    assert best[flipped].all()
    assert not best.all()
    assert 3.0 < spent.sum() <= 4.0
    first_left_alone = np.flatnonzero(best & ~flipped)[0]
    assert spent[:first_left_alone].sum() + 2 * abs(earned[first_left_alone]) > 4.0


def test_a_share_of_the_rewards_has_a_wrong_unit_or_of_the_best_arms_is_mirrored():
    seen, earned, best = play_corrupted(WrongUnit(0.25, factor=-50.0))
    wrong = np.abs(seen - earned) > 1e-12
    np.testing.assert_allclose(seen[wrong], -50 * earned[wrong], rtol=1e-12)
    assert 15 <= wrong.sum() <= 45  # of 30 in the mean, by more than three deviations
    assert not np.array_equal(wrong, best)
    seen, earned, best = play_corrupted(Mirrored(0.5))
    mirrored = np.abs(seen - earned) > 1e-12
    np.testing.assert_allclose(seen[mirrored], 1 - earned[mirrored], rtol=0, atol=1e-12)
    assert best[mirrored].all()
    assert 0 < mirrored.sum() < best.sum()


@pytest.mark.parametrize(
    "corruption", [SignFlips(3.0), pytest.param(WrongUnit(0.2), marks=pytest.mark.slow)], ids=str
)
def test_both_engines_corrupt_alike(corruption):
    agent, environment = bandit_agent("cw_oful"), make_bandit(noise_scale=0.3, corruption=corruption)
    result = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    for run in range(NUM_RUNS):
        played = list(dw.play(agent, environment, NUM_EPISODES, run=run))
        np.testing.assert_allclose(
            result.returns[run], [one.record.reward for one in played], rtol=1e-9, atol=1e-12
        )
        regret = [one.record.optimal - one.record.value for one in played]
        np.testing.assert_allclose(result.regret[run], regret, rtol=0, atol=1e-9)


def test_corruption_tells_environments_apart_and_is_a_single_adversary():
    clean, spoilt = make_bandit(), make_bandit(corruption=SignFlips(1.0))
    digests = {each.digest() for each in (clean, spoilt, make_bandit(corruption=SignFlips(2.0)))}
    assert len(digests) == 3
    for corruption, message in (
        (SignFlips((1.0, 2.0)), "budget must be a single number, got a grid, [1.0, 2.0]"),  # pyright: ignore
        ("flips", "corruption must be a Corruption, got 'flips'"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
            make_bandit(corruption=corruption)
