"""What a benchmark says: regret beside the best fixed memory, ranks, profiles, and what passes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.analysis.adaptation import Recovery, median_recovery
from driftwise.analysis.bench.cells import Cell, Pair
from driftwise.analysis.bench.judging import Verdict, distinct, verdicts_on
from driftwise.analysis.statistics import rank_table
from driftwise.scenarios.contestants import CHANCE, FIELDS
from driftwise.scenarios.scenario import SUITES

FACTORS = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
FLOOR = 0.001  # regret of a round that counts as none


class Scores(NamedTuple):
    """An agent over all scenarios, of copies one; means, where nothing else is said.

    Ratio and ranks are over all of them, and all else is over those that the agent could play.
    """

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
    lag: float | None  # median of the runs with one, which have to be more than half
    found: float | None  # share of the changes that an alarm followed
    delay: float | None  # median rounds to it, infinite where there was none
    false_alarms: float | None  # in 1,000 rounds


class FamilyAlarms(NamedTuple):
    """The alarms of an agent in the scenarios of one problem and one move, of copies one."""

    agent: str
    problem: str
    move: str
    changes: int  # of all runs; none where the world stays as it is
    found: float | None
    delay: float | None
    false_alarms: float


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
    alarms: tuple[FamilyAlarms, ...]  # of who raises any, in worlds that rest between jumps

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
    counted = distinct(scenarios)
    within = [own[counted] / best[counted] for own in worst]
    near = [{f"{each:g}": float(np.mean(own <= each)) for each in FACTORS} for own in within]
    last = np.where(np.isinf(worst), 1e300, worst)  # who could not play ranks behind all who could
    ranks = rank_table(dict(zip(agents, last[:, counted], strict=True)))
    ends = zip(ranks.overall.low.tolist(), ranks.overall.high.tolist(), strict=True)
    scores = [
        _scores(agent, [cells[agent, scenarios[each]] for each in counted], own[counted], float(rank), *end)
        for agent, own, rank, end in zip(agents, ratio, ranks.overall.estimate, ends, strict=True)
    ]
    contestants = [agent for agent in agents if field.judges(agent)]
    by_name, exact = dict(zip(agents, worst, strict=True)), dict(zip(agents, regret, strict=True))
    judged = [
        verdict
        for agent in contestants
        for verdict in verdicts_on(
            agent,
            scenarios,
            by_name[agent],
            exact=exact[agent],
            chance=by_name[CHANCE],
            shortest=fixed[0],
            longest=fixed[-1],
        )
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
        tuple(_by_family(agents, [scenarios[each] for each in counted], cells)),
    )


def _scores(
    agent: str, cells: Sequence[Cell], ratio: np.ndarray, rank: float, low: float, high: float
) -> Scores:
    changes = [change for cell in cells for change in cell.changes]
    share = [number for cell in cells for number in cell.share]
    lags = [number for cell in cells for number in cell.lag]
    known = [number for number in lags if number is not None]

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
        float(np.median(known)) if 2 * len(known) > len(lags) else None,
        *_alarms(cells)[1:],
    )


def _alarms(cells: Sequence[Cell]) -> tuple[int, float | None, float | None, float | None]:
    """Changes, the share that was found, the median delay, and false alarms in 1,000 rounds."""
    alarms = [each for cell in cells for each in cell.alarms]
    delays = [delay for each in alarms for delay in (*each["delays"], *[np.inf] * each["misses"])]
    return (
        len(delays),
        float(np.mean(np.isfinite(delays))) if delays else None,
        float(np.median(delays)) if delays else None,
        _mean([each["false_per_1000"] for each in alarms]) if alarms else None,
    )


def _by_family(
    agents: Sequence[str], scenarios: Sequence[str], cells: Mapping[Pair, Cell]
) -> Iterator[FamilyAlarms]:
    families: dict[tuple[str, str], list[str]] = {}
    for name in scenarios:
        problem, moved, *_ = name.split("/")
        families.setdefault((problem, moved.partition("-")[0]), []).append(name)
    for agent in agents:
        for family, names in families.items():
            changes, found, delay, false_alarms = _alarms([cells[agent, name] for name in names])
            if false_alarms is not None:
                yield FamilyAlarms(agent, *family, changes, found, delay, false_alarms)


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")


def _plain(numbers: np.ndarray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(each) else each for each in numbers.tolist())
