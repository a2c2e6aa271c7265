"""Choices made elsewhere: samples, weights, a warm start from a log, and arms that overrule the agent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from driftwise.online import Bandit, DecisionLog, load
from driftwise.online.decision_log import LoggedReward
from driftwise.online.replay import TableLog, read_samples
from tests.online.streams import BANDITS, bits, make, rounds

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


ARMS = np.array([[0.6, 0.0, 0.8], [0.1, 0.5, 0.2]])


@pytest.mark.parametrize("name", BANDITS)
def test_a_saved_agent_and_the_log_since_give_the_agent_that_never_stopped(name: str, tmp_path: Path) -> None:
    path, log = tmp_path / "agent.safetensors", DecisionLog(tmp_path / "log.jsonl")
    bandit, waiting = make(name, epsilon=0.3), []
    for number, (arms, reward) in enumerate(rounds(12, seed=7)):
        if number == 6:
            bandit.save(path)
        decision = bandit.decide(arms, id=number, time=number)
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
    own = asked.decide(ARMS)
    decision = overruled.decide(ARMS, arm=1 - own.arm)
    assert decision.arm != own.arm
    assert decision.probability == own.probabilities[decision.arm]
    overruled.learn(decision.id, 1.0)
    asked.learn_from(ARMS[decision.arm], 1.0)
    assert bits(overruled.state) == bits(asked.state)


@pytest.mark.parametrize("arm", [2, -1, 0.5, "0", True])
def test_an_arm_that_is_not_there_changes_nothing(arm: object) -> None:
    bandit = make()
    with pytest.raises(ValueError, match=r"^arm must be"):
        bandit.decide(ARMS, arm=arm)  # pyright: ignore[reportArgumentType]
    assert bandit.summary().decisions == 0
