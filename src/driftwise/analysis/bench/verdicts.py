"""What a benchmark says: regret beside the best fixed memory, ranks, profiles, and what passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.analysis.adaptation import Recovery, median_recovery
from driftwise.analysis.bench.cells import Cell, Pair
from driftwise.analysis.statistics import rank_table
from driftwise.scenarios.contestants import CHANCE, FIELDS
from driftwise.scenarios.scenario import SUITES

FACTORS = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
FLOOR = 0.001  # regret of a round that counts as none
WITHIN, MOST, HALF = 2.0, 0.9, 0.5


class Verdict(NamedTuple):
    """Whether an agent passes a test: the share of scenarios in which it holds, and the least that passes."""

    agent: str
    test: str
    share: float
    needed: float
    passed: bool


class Scores(NamedTuple):
    """An agent over all scenarios; means, where nothing else is said."""

    agent: str
    share: float
    ratio: float  # median of its regret over that of the best fixed memory
    rank: float
    rank_low: float
    rank_high: float
    drop: float | None
    resilience: float | None
    recovery: float | None  # Kaplan and Meier's median
    area: float | None
    adaptability: float | None


@dataclass(frozen=True)
class Bench:
    """A finished benchmark of the problems of one kind."""

    kind: str  # "bandits" or "mdps"
    suite: str
    agents: tuple[str, ...]
    scenarios: tuple[str, ...]
    regret: Mapping[str, tuple[float | None, ...]]  # mean of the runs, by agent
    ratio: Mapping[str, tuple[float | None, ...]]
    best_fixed: tuple[str, ...]  # in each scenario
    scores: tuple[Scores, ...]
    profiles: Mapping[str, Mapping[str, float]]  # shares of scenarios within a factor of the best agent
    verdicts: tuple[Verdict, ...]
    errors: Mapping[str, str]  # the first of each agent that could not play

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(each for each in self.verdicts if not each.passed)


def bench_of(
    kind: str, suite: str, agents: Sequence[str], scenarios: Sequence[str], cells: Mapping[Pair, Cell]
) -> Bench:
    """All that the cells say; an agent that could not play has no number there."""
    field = FIELDS[kind]
    regret = np.array([[_mean(cells[agent, each].regret) for each in scenarios] for agent in agents])
    floored = np.maximum(regret, FLOOR * SUITES[suite].rounds)
    fixed = floored[[agents.index(each) for each in field.fixed]]
    ratio = floored / fixed.min(axis=0)
    worst = np.where(np.isnan(floored), np.inf, floored)
    best = worst.min(axis=0)
    near = [{f"{each:g}": float(np.mean(own <= each * best)) for each in FACTORS} for own in worst]
    last = np.where(np.isinf(worst), 1e300, worst)  # who could not play ranks behind all who could
    ranks = rank_table(dict(zip(agents, last, strict=True)))
    ends = zip(ranks.overall.low.tolist(), ranks.overall.high.tolist(), strict=True)
    scores = [
        _scores(agent, [cells[agent, each] for each in scenarios], own, float(rank), *end)
        for agent, own, rank, end in zip(agents, ratio, ranks.overall.estimate, ends, strict=True)
    ]
    contestants = [agent for agent in agents if agent not in field.yardsticks]
    by_name = dict(zip(agents, worst, strict=True))
    judged = [
        verdict
        for agent in contestants
        for verdict in _verdicts(agent, scenarios, by_name[agent], by_name[CHANCE], fixed.min(axis=0))
    ]
    errors = {
        agent: next(cells[agent, each].error for each in scenarios if cells[agent, each].error)
        for agent in agents
        if any(cells[agent, each].error for each in scenarios)
    }
    return Bench(
        kind,
        suite,
        tuple(agents),
        tuple(scenarios),
        dict(zip(agents, map(_plain, regret), strict=True)),
        dict(zip(agents, map(_plain, ratio), strict=True)),
        tuple([*field.fixed][place] for place in fixed.argmin(axis=0)),
        tuple(scores),
        dict(zip(agents, near, strict=True)),
        tuple(judged),
        errors,
    )


def _verdicts(
    agent: str, scenarios: Sequence[str], regret: np.ndarray, chance: np.ndarray, best: np.ndarray
) -> list[Verdict]:
    """The tests of an agent: shares of scenarios; one that no scenario is for is left out."""
    places = {name: place for place, name in enumerate(scenarios)}
    cold = {name: name.replace("/restarted", "/cold") for name in scenarios if name.endswith("/restarted")}
    kept = [regret[places[name]] == regret[places[twin]] for name, twin in cold.items() if twin in places]
    still = np.array(["/none/" in name for name in scenarios])
    near = regret <= WITHIN * best
    tests = {
        "plays": (np.isfinite(regret), 1.0),
        "keeps its state over a restart": (np.array(kept), 1.0),
        "beats chance": (regret < chance, MOST),
        f"within {WITHIN:g} × the best fixed memory, no drift": (near[still], HALF),
        f"within {WITHIN:g} × the best fixed memory, drift": (near[~still], HALF),
    }
    return [
        Verdict(agent, test, float(np.mean(held)), needed, passed=bool(np.mean(held) >= needed))
        for test, (held, needed) in tests.items()
        if len(held)
    ]


def _scores(
    agent: str, cells: Sequence[Cell], ratio: np.ndarray, rank: float, low: float, high: float
) -> Scores:
    changes = [change for cell in cells for change in cell.changes]
    share = [number for cell in cells for number in cell.share]

    def mean(name: str) -> float | None:
        return float(np.mean([change[name] for change in changes])) if changes else None

    return Scores(
        agent,
        _mean(share),
        float(np.median(np.where(np.isnan(ratio), np.inf, ratio))),
        rank,
        low,
        high,
        mean("drop"),
        mean("resilience"),
        median_recovery([Recovery(*change["recovery"]) for change in changes]) if changes else None,
        mean("area"),
        mean("adaptability"),
    )


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")


def _plain(numbers: np.ndarray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(each) else each for each in numbers.tolist())
