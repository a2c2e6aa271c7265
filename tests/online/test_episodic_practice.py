"""Episodic agents as they come: numbers that learn, and no work for what cannot count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.online import EpisodicAgent
from driftwise.online.episodes.practice import PRACTICE
from driftwise.online.features import OneHot, PerAction
from driftwise.parts.least_squares import LeastSquares

PRICES = (0.2, 0.1, 0.3, 0.6, 0.9, 0.4, 0.7, 1.0)
LEVELS, ACTIONS = 5, 3  # keep, buy, sell
MAP = PerAction(OneHot(LEVELS), ACTIONS)
TABLE = MAP.table(range(LEVELS))


def traded(price: float, level: int, action: int) -> tuple[float, int]:
    """Reward and next level of a battery."""
    if action == 1 and level < LEVELS - 1:
        return -price, level + 1
    if action == 2 and level > 0:
        return price, level - 1
    return 0.0, level


def best_return() -> float:
    values = np.zeros(LEVELS)
    for price in reversed(PRICES):
        outcomes = [[traded(price, level, a) for a in range(ACTIONS)] for level in range(LEVELS)]
        values = np.array([max(reward + values[reached] for reward, reached in each) for each in outcomes])
    return float(values[0])


def returns(agent: EpisodicAgent, num_episodes: int) -> np.ndarray:
    earned = np.zeros(num_episodes)
    for k in range(num_episodes):
        level = 0
        agent.begin(level)
        for price in PRICES:
            reward, level = traded(price, level, agent.act())
            agent.observe(reward, level)
            earned[k] += reward
    return earned


@pytest.mark.parametrize(
    ("algorithm", "features", "parameters"),
    [
        ("adaptive_opt_wlsvi", TABLE, {}),
        ("opt_wlsvi", TABLE, dict(rate=0.995)),
        ("opt_wlsvi", MAP, dict(rate=0.995, memory=200)),
        ("change_detection", TABLE, dict(base=dict(algorithm="lsvi_ucb"))),
    ],
)
def test_a_battery_is_run_well_by_agents_that_are_told_neither_radius_nor_ridge(
    algorithm: str, features: Any, parameters: dict[str, Any]
) -> None:
    agent = EpisodicAgent(algorithm, features=features, horizon=len(PRICES), **parameters)
    earned = returns(agent, 150)
    assert earned.max() == pytest.approx(best_return())
    # These are at 0.99 or above; with radius 1 and ridge 0.1 at 0.89 to 0.97, with ridge 1 below 0.42.
    assert earned[-30:].mean() > 0.98 * best_return()


def test_numbers_that_are_given_stay_as_they_are() -> None:
    agent = EpisodicAgent("opt_wlsvi", features=TABLE, horizon=2, rate=0.9, ridge=0.5).agent
    assert isinstance(agent, LeastSquares)
    assert agent.ridge == 0.5
    assert agent.exploration.radius == PRACTICE["radius"]  # pyright: ignore[reportAttributeAccessIssue]


def test_an_algorithm_without_a_radius_has_its_own_ridge() -> None:
    agent = EpisodicAgent("epsilon_greedy_lsvi", features=TABLE, horizon=2, epsilon=0.1).agent
    assert isinstance(agent, LeastSquares)
    assert agent.ridge == 1.0


@pytest.mark.parametrize(("decision", "num_plans"), [("heaviest", 1), ("draw", 1), ("mixture", 5)])
def test_only_memories_that_decide_are_planned_with(
    decision: str, num_plans: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, plan = list[LeastSquares](), LeastSquares.plan

    def counted(agent: LeastSquares, *arguments: Any) -> Any:
        planned.append(agent)
        return plan(agent, *arguments)

    monkeypatch.setattr(LeastSquares, "plan", counted)
    sizes: Any = dict(horizon=len(PRICES), shortest=8, longest=64, decision=decision)
    agent = EpisodicAgent("adaptive_opt_wlsvi", features=TABLE, **sizes)
    agent.begin(0)
    assert len(planned) == num_plans


def test_slots_that_hold_no_episode_are_not_looked_at() -> None:
    agent = EpisodicAgent("opt_wlsvi", features=MAP, horizon=len(PRICES), rate=0.9, memory=5)
    for num in range(8):
        held = agent._state.held
        assert held.features.shape[1] == len(held.weights) == min(num, 5)
        assert held.ahead.base is not None  # a view
        returns(agent, 1)
