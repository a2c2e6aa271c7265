"""Comparison of two results folders: differences in what was run, and in the results, each with a test."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.formatting import format_interval, format_number, format_p_value
from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.statistics import (
    holm_adjust,
    mean_interval,
    rounded_difference,
    sample_equality,
    t_test,
)
from driftwise.analysis.statistics.estimation import ROUNDING, rounding_tolerance, standard_error
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, words
from driftwise.base.extras import require_extra
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.experiments.results_folder import table_differences
from driftwise.simulation.results import Result

with require_extra("comparison", "cli"):
    from scipy.special import stdtr, stdtrit

_LEVEL, _ALPHA = 0.95, 0.05
_VOLATILE = ("written", "history", "seconds", "sha256")  # entries that differ between any two runs
_VERDICTS = {
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


@dataclass(frozen=True)
class ComparedAgent:
    """An agent in an environment of both folders: its mean cumulative metric and their difference."""

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
    differs_from: int | None  # the first episode recorded by both at which paired means differ
    p: float  # NaN where nothing is tested
    p_adjusted: float
    verdict: str  # lower, higher, unclear; identical, rounding; not tested


@dataclass(frozen=True)
class Comparison:
    """The comparison of two results folders."""

    metric: str
    method: str  # paired or welch
    facts: tuple[ManifestDifference, ...]
    rows: tuple[ComparedAgent, ...]
    only_first: tuple[Participant, ...]
    only_second: tuple[Participant, ...]
    notes: tuple[str, ...]  # sentences that explain the rows


def compare_folders(first: Report, second: Report, *, metric: str = "regret") -> Comparison:
    """Compare two folders, as returned by `load_report_data`, after the last episode that both recorded.

    With the same seed, run `i` of both meets the same draws, and the differences of paired runs are tested
    (paired t-test). With different seeds the samples are independent (Welch's t-test).
    """
    require_choice("metric", metric, list(METRICS))
    reports = first, second
    for data in (*first.values(), *second.values()):
        if metric not in data.metrics:
            name = str(data.manifest.get("experiment", ""))
            raise ArgumentError("metric", f"be {data.metrics[0]}, which is all that {name} has", metric)
    sides = [
        [Participant(name, agent) for name, data in report.items() for agent in data.labels]
        for report in reports
    ]
    common = [participant for participant in sides[0] if participant in sides[1]]
    settings = [_settings(report, common) for report in reports]
    seeds = [next(iter(report.values())).manifest.get("seed") for report in reports]
    paired = seeds[0] is not None and seeds[0] == seeds[1]
    pairs = ((agent, first[agent.environment], second[agent.environment]) for agent in common)
    rows = [compare_agent(*pair, metric=metric, paired=paired) for pair in pairs]
    for place, p in enumerate(holm_adjust([row.p for row in rows]).tolist()):
        if not math.isnan(p):
            verdict = "unclear" if p > _ALPHA else "lower" if rows[place].difference < 0 else "higher"
            rows[place] = replace(rows[place], p_adjusted=p, verdict=verdict)
    facts = tuple(ManifestDifference(*place) for place in table_differences(settings[0], settings[1]))
    alone = [tuple(participant for participant in side if participant not in common) for side in sides]
    notes = tuple(_notes(rows, first, second, seeds, paired))
    return Comparison(metric, "paired" if paired else "welch", facts, tuple(rows), alone[0], alone[1], notes)


def _notes(
    rows: Sequence[ComparedAgent], first: Report, second: Report, seeds: Sequence[Any], paired: bool
) -> Iterator[str]:
    """Sentences on the test, on runs and episodes left out, and on the meaning of the verdicts."""
    if not rows:
        yield "No agent in the same environment is in both: there are no results to compare."
    elif paired:
        yield f"Both have seed {seeds[0]}: differences are taken run by run (paired t-test)."
    elif None in seeds:
        yield "A seed is not known: two independent samples (Welch's t-test)."
    else:
        yield f"The seeds are {seeds[0]} and {seeds[1]}: two independent samples (Welch's t-test)."
    for name, row in {row.environment: row for row in rows}.items():
        sides = first[name], second[name]
        if (row.runs_first, row.runs_second) != (runs := tuple(side.num_runs for side in sides)):
            yield f"{name}: compared are the {row.runs_first} runs in common, of {runs[0]} and {runs[1]}."
        lengths = [side.num_episodes for side in sides]
        if max(lengths) > row.episode:
            of = f"the last that both recorded of {lengths[0]} and {lengths[1]}"
            yield f"{name}: results are those after episode {row.episode}, {of}."
        yield from (f"{name}: {note}" for note in dict.fromkeys(n for side in sides for n in side.grid_notes))
    verdicts = {row.verdict for row in rows}
    if number := sum(not math.isnan(row.p) for row in rows):
        yield f"lower, higher: p ≤ {_ALPHA:g}, adjusted by Holm for the number of tests, which is {number}."
    yield from (f"{word}: {meaning}." for word, meaning in _VERDICTS.items() if word in verdicts)


def compare_agent(
    participant: Participant, first: ReportData, second: ReportData, *, metric: str, paired: bool
) -> ComparedAgent:
    """Return the comparison of an agent, with an unadjusted p-value; `paired`: runs are paired by number."""
    episodes, *points = np.intersect1d(first.episodes, second.episodes, return_indices=True)
    if len(episodes) == 0:
        raise ValueError(
            f"the folders must both have recorded some episode of {participant.environment!r}, got none"
        )
    results = first.results[participant.agent], second.results[participant.agent]
    curves = [METRICS[metric](result)[:, at] for result, at in zip(results, points, strict=True)]
    if paired:
        _, *runs = np.intersect1d(first.selection.runs, second.selection.runs, return_indices=True)
        if len(runs[0]) == 0:
            raise ValueError(f"the folders must both show some run of {participant.environment!r}, got none")
        curves = [curve[common] for curve, common in zip(curves, runs, strict=True)]
    scores = [curve[:, -1] for curve in curves]
    if paired:
        differences = rounded_difference(scores[1], scores[0])
        numbers = (*mean_interval(differences, _LEVEL), t_test(differences))
    else:
        numbers = welch_test(*scores)
    estimate, half_width, p = map(float, numbers)
    means = [curve.mean(axis=0) for curve in curves]
    apart = np.flatnonzero(paired & (np.abs(means[1] - means[0]) > rounding_tolerance(*curves)))
    sizes = int(episodes[-1]), len(scores[0]), len(scores[1])
    interval = estimate, estimate - half_width, estimate + half_width
    differs_from, equal = int(episodes[apart[0]]) if len(apart) else None, sample_equality(*curves)
    test = math.nan if equal else p, math.nan, equal or "not tested"
    ends = float(means[0][-1]), float(means[1][-1])
    return ComparedAgent(*participant, *sizes, *ends, *interval, differs_from, *test)


def comparison_table(rows: Iterable[ComparedAgent]) -> Table:
    """Return the table of compared agents."""
    columns = [*words("environment", "agent")]
    columns += numbers("episode", "runs_first", "runs_second", "first", "second")
    fields = {"difference [95 %]": ("difference", "low", "high"), "apart from": ("differs_from",)}
    fields |= {"p": ("p",), "p, adjusted": ("p_adjusted",)}
    columns += [TableColumn(*column) for column in fields.items()]
    lines = []
    for row in rows:
        counts = (Cell.of(str, count) for count in (row.episode, row.runs_first, row.runs_second))
        means = (Cell.of(format_number, mean) for mean in (row.first, row.second))
        difference = Cell.of(format_interval, row.difference, row.low, row.high)
        since = row.differs_from
        apart = Cell("–", (math.nan,)) if since is None else Cell(f"episode {since}", (since,))
        tests = (Cell.of(format_p_value, p) for p in (row.p, row.p_adjusted))
        lines.append((row.environment, row.agent, *counts, *means, difference, apart, *tests, row.verdict))
    return Table.of("comparison", [*columns, *words("verdict")], lines)


def welch_test(first: np.ndarray, second: np.ndarray) -> tuple[float, float, float]:
    """Return `second − first` of independent samples of any variances, its half-width, and Welch's p-value.

    `t = (ȳ − x̄) / e` with `e² = e_x² + e_y²`, the standard errors of the means, on
    `e⁴ / (e_x⁴ / (n_x − 1) + e_y⁴ / (n_y − 1))` degrees of freedom. Half-width and p are NaN where runs are
    too few.

    Reference: Welch, *The Generalization of "Student's" Problem when Several Different Population Variances
    Are Involved*, Biometrika 1947.
    """
    estimate = float(second.mean() - first.mean())
    if abs(estimate) <= rounding_tolerance(first, second):
        estimate = 0.0
    errors = np.array([standard_error(first), standard_error(second)])
    error = np.hypot(*errors)
    if error == 0:  # as in `t_test`
        return estimate, 0.0, float(estimate == 0)
    own_degrees = np.maximum([len(first) - 1, len(second) - 1], 1)
    degrees = 1 / np.sum((errors / error) ** 4 / own_degrees)
    half_width = stdtrit(degrees, (1 + _LEVEL) / 2) * error
    return estimate, float(half_width), float(2 * stdtr(degrees, -abs(estimate) / error))


def manifests_table(differences: Iterable[ManifestDifference]) -> Table:
    """Return the table of manifest entries that differ."""
    rows = []
    for path, *values in differences:
        values = ["–" if value is None else value for value in values]
        texts = (item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in values)
        rows.append((path, *texts))
    return Table.of("manifests", words("what", "first", "second"), rows, "What differs in what was run")


def _settings(report: Report, common: Collection[Participant]) -> dict[str, Any]:
    """The manifest without entries that differ between any two runs; of the agents, those in `common`."""
    agents: dict[str, Any] = {}  # as tables, so that their order does not matter
    for place, label in common:
        items, dropped = report[place].agents[label].items(), (*_VOLATILE, "environment", "label")
        agents.setdefault(place, {})[label] = {key: value for key, value in items if key not in dropped}
    items = next(iter(report.values())).manifest.items()
    return {**{key: value for key, value in items if key not in _VOLATILE}, "agents": agents}
