"""Comparison of two results folders: of what was run, and of the numbers, with a test for each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.statistics import ROUNDING, difference, equality, holm, mean_interval, t_test
from driftwise.analysis.statistics.intervals import standard_error
from driftwise.analysis.statistics.samples import rounding
from driftwise.analysis.statistics.wording import probability, rounded, with_interval
from driftwise.analysis.table import Cell, Column, Table, numbers, words
from driftwise.base.extras import needed_by
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.experiments.storage import differences
from driftwise.simulation.results import Result

with needed_by("comparison", "cli"):
    from scipy.special import stdtr, stdtrit

LEVEL, ALPHA = 0.95, 0.05
OF_THE_MOMENT = ("written", "history", "seconds", "sha256")  # of a manifest, differ between any two runs
VERDICTS = {
    "unclear": "a difference is not shown, nor is it shown that there is none",
    "identical": "all numbers agree to the last bit",
    "rounding": f"all numbers agree to {ROUNDING:g} of the largest",
    "not tested": "one run cannot tell luck from a difference",
}
METRICS: dict[str, Callable[[Result], np.ndarray]] = {
    "regret": lambda result: result.cumulative_regret,
    "reward": lambda result: np.cumsum(result.returns * result.lengths, axis=-1),
}


class Participant(NamedTuple):
    """An agent in an environment."""

    environment: str
    agent: str


class ManifestDifference(NamedTuple):
    """A place at which two manifests differ; `None` where one of them has nothing."""

    path: str
    first: Any
    second: Any


class Difference(NamedTuple):
    """`second − first` of two means; half-width and p are NaN where runs are too few."""

    estimate: float
    half_width: float
    p: float  # two-sided


@dataclass(frozen=True)
class ComparedAgent:
    """An agent in an environment of both folders: its mean cumulative metric, and how that differs."""

    environment: str
    agent: str
    episode: int  # after which the metric is taken
    runs_first: int
    runs_second: int
    first: float
    second: float
    difference: float  # second − first
    low: float
    high: float
    differs_from: int | None  # the first episode recorded by both at which runs that belong together part
    p: float  # NaN where nothing is tested
    p_adjusted: float
    verdict: str  # lower, higher, unclear; identical, rounding; not tested

    @property
    def tested(self) -> bool:
        return not math.isnan(self.p)


@dataclass(frozen=True)
class Comparison:
    """Two results folders side by side."""

    metric: str
    method: str  # paired or welch
    facts: tuple[ManifestDifference, ...]
    rows: tuple[ComparedAgent, ...]
    only_first: tuple[Participant, ...]
    only_second: tuple[Participant, ...]
    notes: tuple[str, ...]  # how to read the rows, in sentences


def compare(first: Report, second: Report, *, metric: str = "regret") -> Comparison:
    """Compare two folders, each as `load_report_data` gives it, after the last episode that both recorded.

    With one seed, run `i` of both meets the same draws: the two samples depend on each other, and it is their
    differences that are tested (paired t-test). With two seeds they are independent (Welch's t-test).
    """
    require_choice("metric", metric, list(METRICS))
    for data in (*first.values(), *second.values()):
        if metric not in data.measured:
            name = str(data.manifest.get("experiment", ""))
            raise ArgumentError("metric", f"be {data.measured[0]}, which is all that {name} has", metric)
    sides = [
        [Participant(name, agent) for name, data in side.items() for agent in data.labels]
        for side in (first, second)
    ]
    common = [each for each in sides[0] if each in sides[1]]
    manifests = [next(iter(side.values())).manifest for side in (first, second)]
    lasting = [_lasting(side, common) for side in (first, second)]
    seeds = [manifest.get("seed") for manifest in manifests]
    paired = seeds[0] is not None and seeds[0] == seeds[1]
    rows = [
        compared_agent(each, first[each.environment], second[each.environment], metric=metric, paired=paired)
        for each in common
    ]
    rows = tuple(map(_adjusted, rows, holm([row.p for row in rows]).tolist()))
    return Comparison(
        metric=metric,
        method="paired" if paired else "welch",
        facts=tuple(ManifestDifference(*place) for place in differences(lasting[0], lasting[1])),
        rows=rows,
        only_first=tuple(each for each in sides[0] if each not in common),
        only_second=tuple(each for each in sides[1] if each not in common),
        notes=tuple(_notes(rows, first, second, seeds, paired)),
    )


def _notes(
    rows: Sequence[ComparedAgent], first: Report, second: Report, seeds: Sequence[Any], paired: bool
) -> Iterator[str]:
    """How it was tested, what was left out, and what the verdicts mean."""
    if not rows:
        yield "No agent in the same environment is in both: there are no numbers to compare."
    elif paired:
        yield f"Both have seed {seeds[0]}: differences are taken run by run (paired t-test)."
    elif None in seeds:
        yield "A seed is not known: two independent samples (Welch's t-test)."
    else:
        yield f"The seeds are {seeds[0]} and {seeds[1]}: two independent samples (Welch's t-test)."
    for name, row in {row.environment: row for row in rows}.items():
        sides = first[name], second[name]
        if (row.runs_first, row.runs_second) != (runs := tuple(side.num_runs for side in sides)):
            yield f"{name}: only the {row.runs_first} runs in common count, of {runs[0]} and {runs[1]}."
        lengths = [side.num_episodes for side in sides]
        if max(lengths) > row.episode:
            yield (
                f"{name}: the numbers are those after episode {row.episode}, the last that both recorded "
                f"of {lengths[0]} and {lengths[1]}."
            )
        yield from (f"{name}: {note}" for note in dict.fromkeys(n for side in sides for n in side.grid_notes))
    found = {row.verdict for row in rows}
    if number := sum(row.tested for row in rows):
        yield f"lower, higher: p ≤ {ALPHA:g}, adjusted by Holm for the number of tests, which is {number}."
    yield from (f"{word}: {meaning}." for word, meaning in VERDICTS.items() if word in found)


def compared_agent(
    own: Participant, first: ReportData, second: ReportData, *, metric: str, paired: bool
) -> ComparedAgent:
    """An agent compared, its p-value not yet adjusted; `paired`: runs of one number belong together."""
    episodes, *points = np.intersect1d(first.episodes, second.episodes, return_indices=True)
    if len(episodes) == 0:
        raise ValueError(f"the folders must both have recorded some episode of {own.environment!r}, got none")
    curves = [
        METRICS[metric](side.results[own.agent])[:, at]
        for side, at in zip((first, second), points, strict=True)
    ]
    if paired:
        _, *runs = np.intersect1d(first.selection.runs, second.selection.runs, return_indices=True)
        if len(runs[0]) == 0:
            raise ValueError(f"the folders must both show some run of {own.environment!r}, got none")
        curves = [curve[own] for curve, own in zip(curves, runs, strict=True)]
    scores = [curve[:, -1] for curve in curves]
    found = (paired_test if paired else welch_test)(*scores)
    means = [curve.mean(axis=0) for curve in curves]
    apart = np.flatnonzero(paired & (np.abs(means[1] - means[0]) > rounding(*curves)))
    equal = equality(*curves)
    return ComparedAgent(
        *own,
        episode=int(episodes[-1]),
        runs_first=len(scores[0]),
        runs_second=len(scores[1]),
        first=float(means[0][-1]),
        second=float(means[1][-1]),
        difference=found.estimate,
        low=found.estimate - found.half_width,
        high=found.estimate + found.half_width,
        differs_from=int(episodes[apart[0]]) if len(apart) else None,
        p=math.nan if equal else found.p,
        p_adjusted=math.nan,
        verdict=equal or "not tested",
    )


def _adjusted(row: ComparedAgent, p: float) -> ComparedAgent:
    """The comparison with its p-value adjusted to this one, and with its verdict, if it is tested."""
    if not row.tested:
        return row
    verdict = "unclear" if p > ALPHA else "lower" if row.difference < 0 else "higher"
    return replace(row, p_adjusted=p, verdict=verdict)


def comparison_table(rows: Iterable[ComparedAgent]) -> Table:
    """All that was found of every agent."""
    columns = (
        *words("environment", "agent"),
        *numbers("episode", "runs_first", "runs_second", "first", "second"),
        Column("difference [95 %]", ("difference", "low", "high")),
        Column("apart from", ("differs_from",)),
        Column("p", ("p",)),
        Column("p, adjusted", ("p_adjusted",)),
        *words("verdict"),
    )
    return Table.of("comparison", columns, map(_cells, rows))


def _cells(row: ComparedAgent) -> tuple[Cell | str, ...]:
    apart = Cell("–", (math.nan,))
    if row.differs_from is not None:
        apart = Cell(f"episode {row.differs_from}", (row.differs_from,))
    return (
        row.environment,
        row.agent,
        *(Cell.of(str, count) for count in (row.episode, row.runs_first, row.runs_second)),
        *(Cell.of(rounded, mean) for mean in (row.first, row.second)),
        Cell.of(with_interval, row.difference, row.low, row.high),
        apart,
        *(Cell.of(probability, p) for p in (row.p, row.p_adjusted)),
        row.verdict,
    )


def paired_test(first: np.ndarray, second: np.ndarray) -> Difference:
    """`second − first` of runs that belong together: Student's test on their differences."""
    differences = difference(second, first)
    mean, half_width = mean_interval(differences, LEVEL)
    return Difference(float(mean), float(half_width), float(t_test(differences)))


def welch_test(first: np.ndarray, second: np.ndarray) -> Difference:
    """`second − first` of independent samples whose variances may differ.

    `t = (ȳ − x̄) / e` with `e² = e_x² + e_y²`, the standard errors of the means, on
    `e⁴ / (e_x⁴ / (n_x − 1) + e_y⁴ / (n_y − 1))` degrees of freedom.

    Reference: Welch, *The Generalization of "Student's" Problem when Several Different Population Variances
    Are Involved*, Biometrika 1947.
    """
    estimate = float(second.mean() - first.mean())
    if abs(estimate) <= rounding(first, second):
        estimate = 0.0
    errors = np.array([standard_error(first), standard_error(second)])
    error = np.hypot(*errors)
    if error == 0:  # as in `t_test`
        return Difference(estimate, 0.0, float(estimate == 0))
    spare = np.maximum([len(first) - 1, len(second) - 1], 1)
    freedom = 1 / np.sum((errors / error) ** 4 / spare)
    half_width = stdtrit(freedom, (1 + LEVEL) / 2) * error
    return Difference(estimate, float(half_width), float(2 * stdtr(freedom, -abs(estimate) / error)))


def manifests_table(differences: Iterable[ManifestDifference]) -> Table:
    """The places, and what each of the manifests has there."""
    rows = [(path, _text(first), _text(second)) for path, first, second in differences]
    return Table.of("manifests", words("what", "first", "second"), rows, "What differs in what was run")


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lasting(report: Report, common: Collection[Participant]) -> dict[str, Any]:
    """The manifest less what differs between any two runs; of the agents, those in `common`."""
    agents: dict[str, dict[str, Any]] = {}  # as tables, so that a place in a list does not matter
    for environment, data in report.items():
        for label, entry in zip(data.labels, data.agents, strict=True):
            if Participant(environment, label) in common:
                agents.setdefault(environment, {})[label] = _without(entry, "environment", "label")
    return {**_without(next(iter(report.values())).manifest), "agents": agents}


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in (*OF_THE_MOMENT, *keys)}
