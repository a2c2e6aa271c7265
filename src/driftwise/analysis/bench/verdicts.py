"""The numbers of a benchmark: scores of a run, regret beside the best fixed memory, ranks and verdicts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis import adaptation
from driftwise.analysis.adaptation import Recovery
from driftwise.analysis.statistics import rank_table
from driftwise.analysis.statistics.estimation import mean_interval
from driftwise.scenarios.contestants import POLICY_SETS, RANDOM_POLICY
from driftwise.scenarios.playing import ScenarioOutcome, ScenarioRun
from driftwise.scenarios.rounds import lagged_values
from driftwise.scenarios.scenario import SUITES, Scenario

FACTORS = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
_FLOOR = 0.001  # regret of a round that counts as none
_MEANS = ("drop", "resilience", "area", "adaptability")  # scores at changes that have a mean


def run_scores(run: ScenarioRun, scenario: Scenario) -> dict[str, Any]:
    """Return the scores of a run: `share`, those at each of the `changes`, `lag` and `alarms`.

    Lag is for models that glide, and alarms are for models that rest between jumps; others have None.
    """
    changes, rounds, lag, alarms = scenario.changes, len(run.values), None, None
    if not scenario.rests:
        lags = [0, 1, 2]  # Fibonacci's numbers up to an eighth of the run
        while (ahead := lags[-2] + lags[-1]) <= rounds // 8:
            lags.append(ahead)
        lag = adaptation.decision_lag(*lagged_values(run.rounds, run.taken, lags), lags)
    elif run.alarms is not None:
        alarms = adaptation.alarm_scores(np.flatnonzero(run.alarms).tolist(), changes, rounds)._asdict()
    at = adaptation.adaptation(run.values, run.optimal, changes, frozen=run.frozen)
    return {
        "share": adaptation.performance(run.values, run.optimal).share,
        "changes": [{name: getattr(own, name) for name in (*_MEANS, "recovery")} for own in at],
        "glides": not scenario.rests,
        "lag": lag,
        "alarms": alarms,
    }


class Scores(NamedTuple):
    """An agent over all scenarios, without copies; means, where nothing else is said.

    Ratio and ranks are over all of them, and the others are over those that the agent could play.
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
    """The alarms of an agent in the scenarios of one problem and one move, without copies."""

    agent: str
    problem: str
    move: str
    changes: int  # of all runs; none where the model is constant
    found: float | None
    delay: float | None
    false_alarms: float


class Verdict(NamedTuple):
    """Whether an agent passes a test.

    For `plays` and `restarts`, `measured` is the share of the scenarios that pass, and has to be 1. For all
    others it is the geometric mean over scenarios of the agent's regret over a yardstick's, and its 95 %
    interval has to lie below 1.
    """

    agent: str
    test: str
    measured: float
    low: float | None  # ends of the interval
    high: float | None
    passed: bool


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
    alarms: tuple[FamilyAlarms, ...]  # of agents that raise any, where models rest between jumps

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.passed)


_Yardsticks = tuple[np.ndarray, np.ndarray, np.ndarray]  # of regrets in all scenarios
Outcomes = Mapping[tuple[str, str], ScenarioOutcome]  # by agent and scenario


def bench_of(
    kind: str, suite: str, agents: Sequence[str], scenarios: Sequence[str], outcomes: Outcomes
) -> Bench:
    """Return the benchmark that these outcomes make; an agent that could not play has no number there."""
    known, own = POLICY_SETS[kind], distinct(scenarios)
    regret = np.array([[_mean(outcomes[agent, name].regret) for name in scenarios] for agent in agents])
    floored = np.maximum(regret, _FLOOR * SUITES[suite].rounds)
    fixed = floored[[agents.index(name) for name in known.fixed]]
    ratio = floored / fixed.min(axis=0)
    worst = np.where(np.isnan(floored), np.inf, floored)
    within = (worst / worst.min(axis=0))[:, own]
    last = np.where(np.isinf(worst), 1e300, worst)  # agents that could not play rank last
    ranks = rank_table(dict(zip(agents, last[:, own], strict=True))).overall
    intervals = zip(ranks.estimate.tolist(), ranks.low.tolist(), ranks.high.tolist(), strict=True)
    by_name = dict(zip(agents, worst, strict=True))
    yardsticks = by_name[RANDOM_POLICY], fixed[0], fixed[-1]
    pairs = itertools.product(agents, reversed(scenarios))  # so that the first error of an agent is kept
    errors = {agent: error for agent, name in pairs if (error := outcomes[agent, name].error)}
    return Bench(
        kind=kind,
        suite=suite,
        agents=tuple(agents),
        scenarios=tuple(scenarios),
        regret=_without_nan(agents, regret),
        ratio=_without_nan(agents, ratio),
        best_fixed=tuple([*known.fixed][place] for place in fixed.argmin(axis=0)),
        scores=tuple(
            _scores(agent, [outcomes[agent, scenarios[place]] for place in own], row[own], rank)
            for agent, row, rank in zip(agents, ratio, intervals, strict=True)
        ),
        profiles={
            agent: {f"{factor:g}": float(np.mean(row <= factor)) for factor in FACTORS}
            for agent, row in zip(agents, within, strict=True)
        },
        verdicts=tuple(
            verdict
            for agent, exact in zip(agents, regret, strict=True)
            if known.judges(agent)
            for verdict in _verdicts(agent, scenarios, by_name[agent], exact, yardsticks)
        ),
        errors=errors,
        alarms=tuple(_alarms_by_family(agents, [scenarios[place] for place in own], outcomes)),
    )


def distinct(scenarios: Sequence[str]) -> list[int]:
    """Return the places of scenarios that are no copies: a restart has all draws of its cold twin."""
    copies = {name for name in scenarios if _cold_twin(name) != name and _cold_twin(name) in scenarios}
    return [place for place, name in enumerate(scenarios) if name not in copies]


def _cold_twin(scenario: str) -> str:
    return scenario.replace("/restarted", "/cold")


def _verdicts(
    agent: str, scenarios: Sequence[str], regret: np.ndarray, exact: np.ndarray, yardsticks: _Yardsticks
) -> Iterator[Verdict]:
    """Yield the verdicts on an agent; a test is left out where too few scenarios are for it.

    Args:
      regret: the agent's in all scenarios, infinite where it could not play, and not below a floor.
      exact: the same without a floor, and NaN where it could not play.
      yardsticks: those of random decisions, of the shortest fixed memory and of the longest.
    """
    places = {name: place for place, name in enumerate(scenarios)}
    twins = [(places[name], places[_cold_twin(name)]) for name in scenarios if _cold_twin(name) in places]
    repeats = np.array([exact[here] == exact[twin] for here, twin in twins if here != twin])
    for test, passes in {"plays": np.isfinite(regret), "restarts": repeats}.items():
        if len(passes):
            yield Verdict(agent, test, float(passes.mean()), None, None, passed=bool(passes.all()))
    still = np.array(["/none/" in name for name in scenarios])
    own = np.isin(np.arange(len(scenarios)), distinct(scenarios))
    random, shortest, longest = yardsticks
    for test, yardstick, chosen in (
        ("beats chance, no drift", random, own & still),
        ("beats chance, drift", random, own & ~still),
        ("remembers", shortest, own & still),
        ("forgets", longest, own & ~still),
    ):
        if chosen.sum() > 1 and np.isfinite(regret[chosen]).all():
            mean, half = mean_interval(np.log(regret[chosen] / yardstick[chosen]))
            measured, low, high = np.exp([mean, mean - half, mean + half]).tolist()
            yield Verdict(agent, test, measured, low, high, passed=high < 1)
        elif chosen.sum() > 1:
            yield Verdict(agent, test, float("inf"), None, None, passed=False)


def _scores(
    agent: str, outcomes: Sequence[ScenarioOutcome], ratio: np.ndarray, rank: tuple[float, float, float]
) -> Scores:
    runs = [scores for outcome in outcomes for scores in outcome.scores]
    changes = [change for scores in runs for change in scores["changes"]]
    gliding = [scores["lag"] for scores in runs if scores["glides"]]
    lags = [lag for lag in gliding if lag is not None]
    _, found, delay, false_alarms = _alarms(outcomes)
    recoveries = [Recovery(*own["recovery"]) for own in changes]
    means = {name: float(np.mean([own[name] for own in changes])) if changes else None for name in _MEANS}
    return Scores(
        agent,
        _mean([scores["share"] for scores in runs]),
        float(np.median(np.where(np.isnan(ratio), np.inf, ratio))),
        *rank,
        **means,
        recovery=adaptation.median_recovery(recoveries) if changes else None,
        lag=float(np.median(lags)) if 2 * len(lags) > len(gliding) else None,
        found=found,
        delay=delay,
        false_alarms=false_alarms,
    )


def _alarms(outcomes: Sequence[ScenarioOutcome]) -> tuple[int, float | None, float | None, float | None]:
    """Return the changes, the share with an alarm, the median delay, and false alarms in 1,000 rounds."""
    alarms = [scores["alarms"] for outcome in outcomes for scores in outcome.scores if scores["alarms"]]
    delays = [delay for own in alarms for delay in (*own["delays"], *[np.inf] * own["misses"])]
    return (
        len(delays),
        float(np.mean(np.isfinite(delays))) if delays else None,
        float(np.median(delays)) if delays else None,
        _mean([own["false_per_1000"] for own in alarms]) if alarms else None,
    )


def _alarms_by_family(
    agents: Sequence[str], scenarios: list[str], outcomes: Outcomes
) -> Iterator[FamilyAlarms]:
    families: dict[tuple[str, str], list[str]] = {}
    for name in scenarios:
        problem, moved, *_ = name.split("/")
        families.setdefault((problem, moved.partition("-")[0]), []).append(name)
    for agent in agents:
        for family, names in families.items():
            changes, found, delay, false_alarms = _alarms([outcomes[agent, name] for name in names])
            if false_alarms is not None:
                yield FamilyAlarms(agent, *family, changes, found, delay, false_alarms)


def _mean(numbers: Sequence[float] | np.ndarray) -> float:
    return float(np.mean(numbers)) if len(numbers) else float("nan")


def _without_nan(agents: Sequence[str], rows: np.ndarray) -> dict[str, tuple[float | None, ...]]:
    """Return the rows of agents with None in the place of NaN."""
    return {
        agent: tuple(None if np.isnan(number) else number for number in row)
        for agent, row in zip(agents, rows.tolist(), strict=True)
    }
