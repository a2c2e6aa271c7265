"""An agent that is told which arms were taken, by a log or by somebody who overrules it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from driftwise.online import DecisionLog, load
from driftwise.online.decision_log import Rewarded
from tests.online.streams import BANDITS, bits, make, rounds

ARMS = np.array([[0.6, 0.0, 0.8], [0.1, 0.5, 0.2]])


@pytest.mark.parametrize("name", BANDITS)
def test_a_saved_agent_and_the_log_since_give_the_agent_that_never_stopped(name: str, tmp_path: Path) -> None:
    path, log = tmp_path / "agent.safetensors", DecisionLog(tmp_path / "log.jsonl")
    bandit, waiting = make(name, epsilon=0.3), []
    for number, (arms, reward) in enumerate(rounds(12, seed=7)):
        if number == 6:
            bandit.save(path)
        decision = bandit.decide(arms, id=number, time=number)
        log.decided(decision, arms=arms)
        waiting.append((decision.id, reward))
        if number % 3:
            id, earned = waiting.pop(0)
            bandit.learn(id, earned)
            log.rewarded(id, earned)
    restored = load(path)
    seen = restored.summary()
    for event in [*log.events()][seen.decisions + seen.rewards :]:
        if isinstance(event, Rewarded):
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
