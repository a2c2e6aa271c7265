"""Choices: arms are taken with the probabilities that decisions have, and others learn what they earned."""

from pathlib import Path

import numpy as np
import pytest

from driftwise.online import Bandit, DecisionLog, load
from driftwise.online.deciders import LeastSquaresDecider, PlannedDecider, RoundDraws
from driftwise.online.decision_log import LoggedReward
from driftwise.online.replay import TableLog, read_samples
from driftwise.parts.exploration import winning_probabilities
from tests.online.streams import BANDITS, bits, make, rounds

ARMS = np.array([[0.6, 0.4, 0.3], [0.0, 1.2, 0.0], [0.0, 0.0, 1.2], [0.0, 0.0, 1.2]])


def taught(name: str, **options: object) -> Bandit:
    """A bandit that has seen a few rewards."""
    bandit = Bandit(name, dim=3, seed=5, **options)  # pyright: ignore[reportArgumentType]
    for arms, reward in rounds(20, seed=1):
        bandit.learn(bandit.decide(arms).id, reward)
    return bandit


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


RNG = np.random.default_rng(0)
ROWS, REWARDS = RNG.normal(size=(12, 3)) / 2, RNG.normal(size=12)
NAMES = ["d_lin_ucb", "adaptive_lin_ucb", "sw_lin_ucb", "d_lin_ts", "bob", "change_detection"]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_a_decision_with_one_arm_that_is_not_counted(name):
    decided, single, batch = make(name), make(name), make(name)
    for row, reward in zip(ROWS, REWARDS, strict=True):
        decided.learn(decided.decide([row]).id, reward)
        single.learn_from(row, reward)
    batch.learn_from(ROWS, REWARDS)
    assert bits(decided.state) == bits(single.state) == bits(batch.state)
    assert (batch.summary().decisions, batch.summary().samples, batch.pending()) == (0, 12, [])
    assert decided.decide(np.eye(3)).arm == batch.decide(np.eye(3)).arm
    assert decided.summary().recent_error == batch.summary().recent_error


def test_scores_are_those_of_the_next_decision_and_leave_nothing_behind(tmp_path: Path):
    bandit = make("d_lin_ts")
    bandit.learn_from(ROWS, REWARDS)
    before = bits(bandit.state), bandit.summary()
    scores, best = bandit.scores(ROWS), bandit.top(ROWS, 3)
    assert (bits(bandit.state), bandit.summary()) == before
    assert best == np.argsort(-scores)[:3].tolist()
    bandit.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")  # where samples are counted too
    assert (restored.summary(), restored.scores(ROWS).tolist()) == (bandit.summary(), scores.tolist())
    decision = bandit.decide(ROWS)
    assert (decision.arm, decision.index) == (best[0], scores.max())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], 1.0), r"features must have shape \(3\), got \(2,\)"),
        ((ROWS, REWARDS[:3]), r"reward must have shape \(12\), got \(3,\)"),
        ((ROWS, 1.0), r"reward must have shape \(12\), got \(\)"),
        ((ROWS[:0], []), "features must have at least one row"),
        ((ROWS[0], np.nan), "reward must be finite"),
        ((10**7 * ROWS, REWARDS), r"features must lie between ±1e\+06"),
        ((ROWS, REWARDS, -1.0), "weight must be at least 0, got -1"),
        ((ROWS, REWARDS, [1.0, 2.0]), r"weight must have shape \(12\)"),
    ],
)
def test_samples_that_are_wrong_change_nothing(arguments, message):
    bandit = make()
    before = bits(bandit.state), bandit.summary()
    features, reward, *weight = arguments
    with pytest.raises(ValueError, match=message):
        bandit.learn_from(features, reward, **dict(zip(["weight"], weight, strict=False)))
    assert (bits(bandit.state), bandit.summary()) == before


def test_agents_without_weights_and_too_many_arms_are_told():
    with pytest.raises(ValueError, match="weight must be 1 for change_detection, which has no weights"):
        make("change_detection").learn_from(ROWS, REWARDS, weight=2.0)
    with pytest.raises(ValueError, match="k must be at most the number of arms, 12, got 13"):
        make().top(ROWS, 13)


def test_a_log_warms_an_agent_up(tmp_path: Path):
    rng, lines = np.random.default_rng(1), ["x,arm,clicked"]
    for x, arm in zip(rng.uniform(-1, 1, 300), rng.integers(2, size=300), strict=True):
        lines.append(f"{x},{'ab'[arm]},{(x > 0) == arm}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    samples = read_samples(TableLog(tmp_path / "log.csv", action="arm", reward="clicked", features=("x",)))
    assert samples.encoding is not None
    bandit = Bandit("lin_ucb", dim=samples.encoding.dim, radius=0.1)
    bandit.learn_from(samples.features, samples.rewards)
    for x, best in ((-0.8, "a"), (0.8, "b")):
        (context,) = samples.encoding.encoder.rows([{"x": x}])
        assert samples.actions[bandit.top(samples.encoding.actions(context), 1)[0]] == best


@pytest.mark.parametrize("name", BANDITS)
def test_a_saved_agent_and_the_log_since_give_the_agent_that_never_stopped(name: str, tmp_path: Path) -> None:
    path, log = tmp_path / "agent.safetensors", DecisionLog(tmp_path / "log.jsonl")
    bandit, waiting = make(name, epsilon=0.3), []
    for number, (arms, reward) in enumerate(rounds(12, seed=7)):
        if number == 6:
            bandit.save(path)
        decision = bandit.decide(arms, id=number, time=number)
        assert decision.probabilities.shape == decision.scores.shape == (len(arms),)
        np.testing.assert_allclose(decision.probabilities.sum(), 1, rtol=1e-12)
        assert decision.probability == decision.probabilities[decision.arm] > 0
        assert decision.index == decision.scores[decision.arm]
        log.add_decision(decision, arms=arms)
        waiting.append((decision.id, reward))
        if number % 3:
            id, earned = waiting.pop(0)
            bandit.learn(id, earned)
            log.add_reward(id, earned)
    restored = load(path)
    seen = restored.summary()
    for event in [*log.events()][seen.decisions + seen.rewards :]:
        if isinstance(event, LoggedReward):
            restored.learn(event.id, event.reward)
        else:
            again = restored.decide(event.arms, id=event.id, arm=event.arm, time=event.time)
            assert again.probabilities.tolist() == event.probabilities.tolist()
    assert bits(restored.state) == bits(bandit.state)
    assert restored.summary() == bandit.summary()


def test_who_overrules_the_agent_has_it_learn_of_the_arm_that_was_taken() -> None:
    overruled, asked = make("greedy"), make("greedy")
    own = asked.decide(ARMS[:2])
    decision = overruled.decide(ARMS[:2], arm=1 - own.arm)
    assert decision.arm != own.arm
    assert decision.probability == own.probabilities[decision.arm]
    overruled.learn(decision.id, 1.0)
    asked.learn_from(ARMS[:2][decision.arm], 1.0)
    assert bits(overruled.state) == bits(asked.state)


@pytest.mark.parametrize("arm", [2, -1, 0.5, "0", True])
def test_an_arm_that_is_not_there_changes_nothing(arm: object) -> None:
    bandit = make()
    with pytest.raises(ValueError, match=r"^arm must be"):
        bandit.decide(ARMS[:2], arm=arm)  # pyright: ignore[reportArgumentType]
    assert bandit.summary().decisions == 0
