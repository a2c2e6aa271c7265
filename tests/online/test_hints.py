"""Hints of `Bandit.summary`: each comes where it should, and none where all is well."""

from typing import Any

import numpy as np
import pytest

from driftwise.online import Bandit

ROUNDS = 300


def play(bandit: Bandit, arms: np.ndarray | int, means: np.ndarray | None, until: int = ROUNDS) -> list[str]:
    """Return the hints after rounds with Gaussian rewards, which stop coming after `until`."""
    rng = np.random.default_rng(0)
    for t in range(ROUNDS):
        rows = rng.normal(size=(arms, 3)) if isinstance(arms, int) else arms
        decision = bandit.decide(rows)
        mean = 0.0 if means is None else rows[decision.arm] @ means
        if t < until:
            bandit.learn(decision.id, mean + rng.normal())
    return list(bandit.summary().hints)


def test_there_is_no_hint_where_all_is_well():
    assert play(Bandit(dim=3), 4, np.array([1.0, -1.0, 0.5])) == []
    assert play(Bandit(dim=3), np.eye(3), np.array([40.0, 45.0, 50.0])) == []
    assert Bandit(dim=3).summary().hints == ()


@pytest.mark.parametrize("algorithm", ["adaptive_lin_ucb", "adaptive_lin_ts", "d_lin_ucb"])
def test_features_that_explain_nothing_are_told(algorithm):
    numbers: dict[str, Any] = dict(rate=1.0, noise_scale=1.0) if algorithm == "d_lin_ucb" else {}
    (hint,) = play(Bandit(algorithm, dim=3, **numbers), 4, None)
    assert hint.startswith("The features explain no more of the rewards than chance")


def test_arms_that_were_never_tried_are_told_with_their_number():
    (hint,) = play(Bandit("lin_ucb", dim=5, noise_scale=0.01), np.eye(5), np.full(5, 7.0))
    assert hint.startswith("4 of the 5 arms of the last decision have features that were never tried")


def test_decisions_that_wait_for_more_rewards_than_count_are_told():
    hints = play(Bandit(dim=3), np.eye(3), np.array([1.0, 5.0, 9.0]), until=30)
    assert hints == [
        hint for hint in hints if hint.startswith("270 decisions wait for rewards, more than the 30")
    ]
    assert len(hints) == 1
