"""The numbers of a benchmark: scores of a run, regret beside the best fixed memory, ranks and verdicts."""

import itertools
from collections import defaultdict
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
    """Return the scores of a run; `lag` is None unless the model glides, `alarms` if it does."""
    changes, rounds, lag, alarms = scenario.changes, len(run.values), None, None
    if not scenario.rests:
        lags = [0, 1, 2]  # Fibonacci's numbers up to an eighth of the run
        while (longer := lags[-2] + lags[-1]) <= rounds // 8:
            lags.append(longer)
        lag = adaptation.decision_lag(*lagged_values(run.rounds, run.taken, lags), lags)
    elif run.alarms is not None:
        alarms = adaptation.alarm_scores(np.flatnonzero(run.alarms).tolist(), changes, rounds)._asdict()
    at = adaptation.adaptation(run.values, run.optimal, changes, frozen=run.frozen)
    means = [{name: getattr(change, name) for name in (*_MEANS, "recovery")} for change in at]
    share = adaptation.performance(run.values, run.optimal).share
    return dict(share=share, changes=means, glides=not scenario.rests, lag=lag, alarms=alarms)


class Scores(NamedTuple):
    """An agent over all scenarios without copies: means where nothing else is said, NaN where there is none.

    Ratio and ranks are over all of them, and the others are over those that the agent could play.
    """

    agent: str
    share: float
    ratio: float  # median of its regret over that of the best fixed memory
    rank: float
    rank_low: float
    rank_high: float
    drop: float
    resilience: float
    recovery: float  # Kaplan and Meier's median
    area: float
    adaptability: float
    lag: float  # median of the runs with one, which have to be more than half
    found: float  # share of the changes that an alarm followed
    delay: float  # median rounds to it, infinite where there was none
    false_alarms: float  # in 1,000 rounds


class FamilyAlarms(NamedTuple):
    """The alarms of an agent in the scenarios of one problem and one move, without copies."""

    agent: str
    problem: str
    move: str
    changes: int  # of all runs; none where the model is constant
    found: float
    delay: float
    false_alarms: float


class Verdict(NamedTuple):
    """Whether an agent passes a test."""

    agent: str
    test: str
    measured: float  # geometric mean over scenarios of its regret over a yardstick's, or share that passes
    low: float  # ends of the 95 % interval of the mean, NaN of a share
    high: float
    passed: bool  # whether the interval lies below 1, or the share is 1


@dataclass(frozen=True)
class Bench:
    """A finished benchmark of the problems of one kind; regrets are NaN where an agent could not play."""

    kind: str  # "bandits" or "mdps"
    suite: str
    agents: tuple[str, ...]
    scenarios: tuple[str, ...]
    regret: Mapping[str, tuple[float, ...]]  # mean of the runs, by agent
    ratio: Mapping[str, tuple[float, ...]]
    best_fixed: tuple[str, ...]  # in each scenario
    scores: tuple[Scores, ...]
    profiles: Mapping[str, Mapping[str, float]]  # shares of scenarios within a factor of the best agent
    verdicts: tuple[Verdict, ...]
    errors: Mapping[str, str]  # the first of each agent that could not play
    alarms: tuple[FamilyAlarms, ...]  # of agents that raise any, where models rest between jumps

    @property
    def failed(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if not verdict.passed)


Outcomes = Mapping[tuple[str, str], ScenarioOutcome]  # by agent and scenario


def bench_of(
    kind: str, suite: str, agents: Sequence[str], scenarios: Sequence[str], outcomes: Outcomes
) -> Bench:
    """Return the benchmark that these outcomes make."""
    policies, originals = POLICY_SETS[kind], distinct(scenarios)
    regret = np.array([[_mean(outcomes[agent, name].regret) for name in scenarios] for agent in agents])
    floored = np.maximum(regret, _FLOOR * SUITES[suite].rounds)
    fixed = floored[[agents.index(name) for name in policies.fixed]]
    ratio = floored / fixed.min(axis=0)
    worst = np.where(np.isnan(floored), np.inf, floored)
    within = (worst / worst.min(axis=0))[:, originals]
    last = np.where(np.isinf(worst), 1e300, worst)  # agents that could not play rank last
    ranks = rank_table(dict(zip(agents, last[:, originals], strict=True))).overall
    ranks = np.stack([ranks.estimate, ranks.low, ranks.high], axis=-1).tolist()
    yardsticks = [worst[agents.index(RANDOM_POLICY)], fixed[0], fixed[-1]]
    scores, profiles, verdicts = [], {}, []
    for place, agent in enumerate(agents):
        played = [outcomes[agent, scenarios[number]] for number in originals]
        scores.append(_scores(agent, played, ratio[place, originals], ranks[place]))
        profiles[agent] = {f"{factor:g}": float(np.mean(within[place] <= factor)) for factor in FACTORS}
        if policies.judges(agent):
            verdicts += _verdicts(agent, scenarios, worst[place], regret[place], yardsticks)
    pairs = itertools.product(agents, reversed(scenarios))  # so that the first error of an agent is kept
    errors = {agent: error for agent, name in pairs if (error := outcomes[agent, name].error)}
    best_fixed = tuple([*policies.fixed][place] for place in fixed.argmin(axis=0))
    return Bench(
        kind=kind,
        suite=suite,
        agents=tuple(agents),
        scenarios=tuple(scenarios),
        regret=dict(zip(agents, map(tuple, regret.tolist()), strict=True)),
        ratio=dict(zip(agents, map(tuple, ratio.tolist()), strict=True)),
        best_fixed=best_fixed,
        scores=tuple(scores),
        profiles=profiles,
        verdicts=tuple(verdicts),
        errors=errors,
        alarms=tuple(_alarms_by_family(agents, [scenarios[place] for place in originals], outcomes)),
    )


def distinct(scenarios: Sequence[str]) -> list[int]:
    """Return the places of scenarios that are no copies: a restart has all draws of its cold twin."""
    copies = {name for name in scenarios if _cold_twin(name) != name and _cold_twin(name) in scenarios}
    return [place for place, name in enumerate(scenarios) if name not in copies]


def _cold_twin(scenario: str) -> str:
    return scenario.replace("/restarted", "/cold")


def _verdicts(
    agent: str, scenarios: Sequence[str], regret: np.ndarray, exact: np.ndarray, yardsticks: list[np.ndarray]
) -> Iterator[Verdict]:
    """Yield the verdicts on an agent; a test is left out where too few scenarios are for it.

    Where it could not play, `regret`, which has a floor, is infinite, and `exact` is NaN.
    """
    places = {name: place for place, name in enumerate(scenarios)}
    twins = [(places[name], places[_cold_twin(name)]) for name in scenarios if _cold_twin(name) in places]
    repeats = np.array([exact[here] == exact[twin] for here, twin in twins if here != twin])
    for test, passes in {"plays": np.isfinite(regret), "restarts": repeats}.items():
        if len(passes):
            yield Verdict(agent, test, float(passes.mean()), np.nan, np.nan, passed=bool(passes.all()))
    still = np.array(["/none/" in name for name in scenarios])
    original = np.isin(np.arange(len(scenarios)), distinct(scenarios))
    random, shortest, longest = yardsticks  # regrets of random decisions and of two fixed memories
    for test, yardstick, chosen in (
        ("beats chance, no drift", random, original & still),
        ("beats chance, drift", random, original & ~still),
        ("remembers", shortest, original & still),
        ("forgets", longest, original & ~still),
    ):
        if chosen.sum() > 1 and np.isfinite(regret[chosen]).all():
            mean, half = mean_interval(np.log(regret[chosen] / yardstick[chosen]))
            measured, low, high = np.exp([mean, mean - half, mean + half]).tolist()
            yield Verdict(agent, test, measured, low, high, passed=high < 1)
        elif chosen.sum() > 1:
            yield Verdict(agent, test, np.inf, np.nan, np.nan, passed=False)


def _scores(agent: str, outcomes: list[ScenarioOutcome], ratio: np.ndarray, rank: list[float]) -> Scores:
    runs = [scores for outcome in outcomes for scores in outcome.scores]
    changes = [change for scores in runs for change in scores["changes"]]
    gliding = [scores["lag"] for scores in runs if scores["glides"]]
    lags = [lag for lag in gliding if lag is not None]
    recoveries = [Recovery(*change["recovery"]) for change in changes]
    share, middle = _mean([scores["share"] for scores in runs]), np.where(np.isnan(ratio), np.inf, ratio)
    drop, resilience, area, adaptability = (_mean([change[name] for change in changes]) for name in _MEANS)
    recovery = adaptation.median_recovery(recoveries) if changes else np.nan
    lag = float(np.median(lags)) if 2 * len(lags) > len(gliding) else np.nan
    numbers = share, float(np.median(middle)), *rank, drop, resilience, recovery, area, adaptability, lag
    return Scores._make((agent, *numbers, *_alarms(outcomes)[1:]))


def _alarms(outcomes: Sequence[ScenarioOutcome]) -> tuple[int, float, float, float]:
    """Return the changes, the share with an alarm, the median delay, and false alarms in 1,000 rounds."""
    alarms = [scores["alarms"] for outcome in outcomes for scores in outcome.scores if scores["alarms"]]
    delays = [delay for row in alarms for delay in (*row["delays"], *[np.inf] * row["misses"])]
    median = float(np.median(delays)) if delays else np.nan
    return len(delays), _mean(np.isfinite(delays)), median, _mean([row["false_per_1000"] for row in alarms])


def _alarms_by_family(agents: Sequence[str], names: list[str], outcomes: Outcomes) -> Iterator[FamilyAlarms]:
    families = defaultdict[tuple[str, str], list[str]](list)
    for name in names:
        problem, moved, *_ = name.split("/")
        families[problem, moved.partition("-")[0]].append(name)
    for agent, (family, members) in itertools.product(agents, families.items()):
        alarms = FamilyAlarms(agent, *family, *_alarms([outcomes[agent, name] for name in members]))
        if not np.isnan(alarms.false_alarms):
            yield alarms


def _mean(numbers: Sequence[float] | np.ndarray) -> float:
    return float(np.mean(numbers)) if len(numbers) else np.nan
