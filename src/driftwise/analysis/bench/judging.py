"""Verdicts of a benchmark: what an agent has to show, and whether it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from driftwise.analysis.statistics.intervals import mean_interval


class Verdict(NamedTuple):
    """Whether an agent passes a test.

    Of `plays` and `restarts` the share of the scenarios in which it holds is measured, and has to be 1. Of
    all others it is the geometric mean over scenarios of the agent's regret over a yardstick's: its 95 %
    interval has to lie below 1.
    """

    agent: str
    test: str
    measured: float
    low: float | None  # ends of the interval
    high: float | None
    passed: bool


def distinct(scenarios: Sequence[str]) -> list[int]:
    """Places of the scenarios that are no copy: one that restarts has all draws of its cold twin."""
    copies = {name for name in scenarios if cold_twin(name) != name and cold_twin(name) in scenarios}
    return [place for place, name in enumerate(scenarios) if name not in copies]


def cold_twin(scenario: str) -> str:
    """The scenario that is the same without a restart."""
    return scenario.replace("/restarted", "/cold")


def verdicts_on(
    agent: str,
    scenarios: Sequence[str],
    regret: np.ndarray,
    *,
    exact: np.ndarray,
    chance: np.ndarray,
    shortest: np.ndarray,
    longest: np.ndarray,
) -> list[Verdict]:
    """The verdicts on an agent, of regrets in all scenarios; a test that too few are for is left out.

    Args:
      regret: the agent's, infinite where it could not play, and not below a floor.
      exact: the same without a floor, and NaN where it could not play.
      chance: that of decisions by chance.
      shortest: that of the shortest fixed memory.
      longest: that of the memory that forgets nothing.
    """
    places = {name: place for place, name in enumerate(scenarios)}
    twins = [(places[name], places[cold_twin(name)]) for name in scenarios if cold_twin(name) in places]
    again = [exact[here] == exact[twin] for here, twin in twins if here != twin]
    of_scenarios = {"plays": np.isfinite(regret), "restarts": np.array(again)}
    still = np.array(["/none/" in name for name in scenarios])
    own = np.isin(np.arange(len(scenarios)), distinct(scenarios))
    against = {
        "beats chance, no drift": (chance, own & still),
        "beats chance, drift": (chance, own & ~still),
        "remembers": (shortest, own & still),
        "forgets": (longest, own & ~still),
    }
    shares = [
        Verdict(agent, test, float(held.mean()), None, None, passed=bool(held.all()))
        for test, held in of_scenarios.items()
        if len(held)
    ]
    return shares + [
        _compared(agent, test, regret[places], yardstick[places])
        for test, (yardstick, places) in against.items()
        if places.sum() > 1
    ]


def _compared(agent: str, test: str, regret: np.ndarray, yardstick: np.ndarray) -> Verdict:
    if not np.isfinite(regret).all():
        return Verdict(agent, test, float("inf"), None, None, passed=False)
    mean, half = mean_interval(np.log(regret / yardstick))
    measured, low, high = np.exp([mean, mean - half, mean + half]).tolist()
    return Verdict(agent, test, measured, low, high, passed=high < 1)
