"""The probabilities of decisions are those that arms are taken with."""

from __future__ import annotations

import numpy as np
import pytest

from driftwise.online import Bandit
from driftwise.online.deciders import LeastSquaresDecider, PlannedDecider, RoundDraws
from driftwise.parts.policies import winning_probabilities
from tests.online.streams import BANDITS, make, rounds

ARMS = np.array([[0.6, 0.4, 0.3], [0.0, 1.2, 0.0], [0.0, 0.0, 1.2], [0.0, 0.0, 1.2]])


def taught(name: str, **options: object) -> Bandit:
    """A bandit that has seen a few rewards."""
    bandit = Bandit(name, dim=3, seed=5, **options)  # pyright: ignore[reportArgumentType]
    for arms, reward in rounds(20, seed=1):
        bandit.learn(bandit.decide(arms).id, reward)
    return bandit


@pytest.mark.parametrize("name", BANDITS)
def test_every_decision_has_the_probabilities_and_scores_of_all_arms(name):
    bandit = make(name)
    for arms, reward in rounds(12, seed=2):
        decision = bandit.decide(arms)
        assert decision.probabilities.shape == decision.scores.shape == (len(arms),)
        np.testing.assert_allclose(decision.probabilities.sum(), 1, rtol=1e-12)
        assert decision.probability == decision.probabilities[decision.arm] > 0
        assert decision.index == decision.scores[decision.arm]
        bandit.learn(decision.id, reward)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("d_rand_lin_ucb", dict(rate=0.9, radius=1.0)),
        ("d_rand_lin_ucb", dict(rate=0.9, radius=0.5, sign="signed", epsilon=0.3)),
        ("square_cb", dict(gamma=20.0)),
        ("lin_ucb", dict(noise_scale=0.3, epsilon=0.4)),
        ("lin_ts", dict(scale=0.5, num_draws=7, epsilon=0.1)),
    ],
    ids=str,
)
def test_arms_are_taken_as_often_as_their_probabilities_say(name, options):
    num = 800
    bandit = taught(name, max_pending=10, **options)
    decisions = [bandit.decide(ARMS) for _ in range(num)]
    expected = np.mean([decision.probabilities for decision in decisions], axis=0)
    taken = np.bincount([decision.arm for decision in decisions], minlength=len(ARMS)) / num
    errors = 5 * np.sqrt(expected * (1 - expected) / num) + 1e-12
    assert (np.abs(taken - expected) < errors).all()
    assert np.count_nonzero(expected > 0.02) >= 2  # there is something to see


@pytest.mark.parametrize("folded", [True, False])
def test_the_envelope_of_lines_is_what_draws_find(folded):
    rng, num = np.random.default_rng(3), 40_000
    draws = rng.normal(size=num)
    draws = np.abs(draws) if folded else draws
    for _ in range(5):
        means, slopes = rng.normal(size=6), np.abs(rng.normal(size=6))
        means[4], slopes[4] = means[2], slopes[2]  # the same line, which shares its chance
        slopes[5] = slopes[1]  # parallel
        means[3], slopes[3] = 1.5, 0.1  # flat, and on top at least for some draws
        index = means + draws[:, None] * slopes
        wins = index >= index.max(axis=1, keepdims=True) - 1e-9
        found = (wins / wins.sum(axis=1, keepdims=True)).mean(axis=0)
        chances = winning_probabilities(means, slopes, folded=folded)
        assert (np.abs(found - chances) < 5 * np.sqrt(chances * (1 - chances) / num) + 1e-9).all()
        assert chances.sum() == pytest.approx(1, rel=1e-12)


def test_without_slopes_the_highest_lines_share():
    shares = winning_probabilities(np.array([1.0, 2.0, 2.0]), np.zeros(3), folded=True)
    np.testing.assert_array_equal(shares, [0, 0.5, 0.5])


def test_no_arm_falls_below_the_floor_and_what_is_above_it_is_the_algorithms():
    bandit, bare = taught("lin_ucb", noise_scale=0.3, epsilon=0.2), make("lin_ucb")
    decision = bandit.decide(ARMS)
    assert decision.probabilities.min() == pytest.approx(0.05)
    best = decision.scores >= decision.scores.max() - 1e-9
    np.testing.assert_allclose(decision.probabilities, 0.8 * best / best.sum() + 0.05)
    assert bare.decide(ARMS[:2]).probability in (0.5, 1.0)


def test_an_algorithm_with_an_epsilon_of_its_own_is_given_it():
    bandit = Bandit("epsilon_greedy", dim=3, epsilon=0.4)
    assert (bandit.settings.epsilon, bandit.agent.exploration.epsilon) == (0.0, 0.4)  # pyright: ignore[reportAttributeAccessIssue]


def test_weighted_by_propensities_a_log_tells_the_mean_of_another_policy():
    """IPS of always taking arm 1, from Thompson sampling by draws with a floor: five standard errors."""
    bandit = Bandit("lin_ts", dim=3, scale=0.3, num_draws=5, epsilon=0.3, seed=1)
    rng, theta, terms = np.random.default_rng(0), np.array([0.7, 0.3, 0.1]), list[float]()
    for _ in range(400):
        decision = bandit.decide(ARMS)
        reward = float(ARMS[decision.arm] @ theta + 0.1 * rng.normal())
        bandit.learn(decision.id, reward)
        terms.append(reward / decision.probability if decision.arm == 1 else 0.0)
    error = np.std(terms) / np.sqrt(len(terms))
    assert abs(np.mean(terms) - ARMS[1] @ theta) < 5 * error


@pytest.mark.parametrize("name", ["lin_ts", "d_lin_ts"])
def test_draws_at_once_have_the_shares_of_draws_one_by_one(name):
    """Five standard errors of a share in either; both have learnt the same, with Λ̃ and without."""
    num, agent = 200, make(name).agent
    fast, slow = make(name, num_draws=num)._decider, PlannedDecider(agent, RoundDraws(8), num)
    alone = PlannedDecider(agent, RoundDraws(0))
    assert isinstance(fast, LeastSquaresDecider)
    for t, (arms, reward) in enumerate(rounds(6, seed=1)):
        choice = alone.offer(arms, t).choice(0)
        for decider in (fast, slow):
            decider.learn(choice, reward)
    np.testing.assert_allclose(fast.state.cross, slow.state.cross, rtol=1e-12)
    one, other = fast.offer(ARMS, 9), slow.offer(ARMS, 9)
    errors = 5 * np.sqrt(2 * other.chances * (1 - other.chances) / num)
    assert (np.abs(one.chances - other.chances) <= errors).all()
    assert np.count_nonzero(one.chances > 0.02) >= 3
    np.testing.assert_allclose(one.scores - one.bonus, other.scores - other.bonus, atol=1e-12)
