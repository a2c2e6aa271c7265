"""The final table: a row for each agent in each environment. All formats choose from the same columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.numbers import NOTE, number_cell, number_columns
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.report.panels.common import bootstrap_caution
from driftwise.analysis.report.panels.comparisons import differences_to_best
from driftwise.analysis.statistics import bootstrap_interval, lowest, mean_interval, regret_area
from driftwise.analysis.statistics.wording import daggers, percent, rounded, with_half_width, with_interval
from driftwise.analysis.table import Cell, Column, Table
from driftwise.simulation.results import EVENTS

IN_CSV = ("environment", "rank", "agent", "point", "regret", "share", "iqm", "area", "recovery", "events")
IN_CSV += ("numbers", "seconds")
IN_LATEX = ("environment", "agent", "regret", "share", "iqm", "area", "mean recovery", "events")
ON_A_TERMINAL = ("agent", "regret", "events", "numbers", "seconds")  # after the environment of several
_short = partial(rounded, digits=3)
MARKED = (
    "bold: the lowest; †, ‡: differs from it at 5 %, 1 %, by paired t-tests adjusted by Holm for their number"
)
MAX_CHANGES = 2  # with a column each; of more, the table has the mean


class Measure(NamedTuple):
    """A column of the table, and its cells for the agents of an environment, in the order of `labels`."""

    column: Column
    cells: Callable[[ReportData], Iterable[Cell | str]]


def final_table(report: Report, names: Sequence[str], *, ranked: bool = True) -> Table:
    """The table of the named columns; `ranked`: agents from the lowest regret to the highest."""
    catalogue = _catalogue(report)
    measures = [measure for name in names for measure in catalogue[name]]
    rows = []
    for data in report.values():
        listed = [*zip(*(measure.cells(data) for measure in measures), strict=True)]
        rows += [listed[index] for index in data.order] if ranked else listed
    return Table.of("final", [measure.column for measure in measures], rows)


def _catalogue(report: Report) -> dict[str, list[Measure]]:
    """All columns that a table on these environments may have, by name."""
    first = next(iter(report.values()))
    several, word = first.num_runs > 1, first.quantity
    interval, mean = (", mean ± 95 %", ", mean") if several else ("", "")
    changes = sorted({change for data in report.values() for change in data.changes})
    events = [event for event in EVENTS if any(event in data.events for data in report.values())]
    timed = any("seconds" in agent for data in report.values() for agent in data.agents)
    regret = Column(
        f"final {word}", (f"final_cumulative_{word}", "half_width_95"), f"final cumulative {word}{interval}"
    )
    iqm = Column("IQM [95 %]", ("iqm", "iqm_low_95", "iqm_high_95"))
    after = [
        Column(
            f"recovered from {change:,} (median)", (f"recovered_from_{change}", f"recovery_after_{change}")
        )
        for change in changes
    ]
    counted = [Column(f"{event} in a run", (f"{event}_in_a_run",), f"{event}{mean}") for event in events]
    return {
        "environment": [
            Measure(Column("environment"), lambda data: [data.environment_label] * len(data.labels))
        ],
        "rank": [Measure(Column("rank", ("rank",)), lambda data: _cells("{:g}".format, data.ranks))],
        "agent": [Measure(Column("agent"), lambda data: data.labels)],
        "point": [Measure(Column("point"), _points) for data in report.values() if data.grid_notes][:1],
        "regret": [Measure(regret, _regrets)],
        "share": [
            Measure(Column("of random", ("share_of_random",)), _shares)
            for _ in [each for each in report.values() if math.isfinite(each.random_regret)][:1]
        ],
        "iqm": [Measure(iqm, lambda data: _cells(with_interval, *bootstrap_interval(data.scores)))],
        "area": [Measure(Column("area", ("normalised_area",)), _areas)],
        "recovery": [
            Measure(column, partial(_recovery, change)) for column, change in zip(after, changes, strict=True)
        ],
        "mean recovery": [
            Measure(Column("recovered (median), mean", ("mean_recovered", "mean_recovery")), _mean_recovery)
            for _ in changes[:1]
        ],
        "events": [
            Measure(column, partial(_counts, event)) for column, event in zip(counted, events, strict=True)
        ],
        "numbers": [
            Measure(column, partial(_numbers, field))
            for field, column in number_columns(
                each for data in report.values() for agent in data.numbers for each in agent
            ).items()
        ],
        "seconds": [Measure(Column("seconds", ("seconds",)), _seconds)] if timed else [],
    }


def _regrets(data: ReportData) -> list[Cell]:
    """Final regret: the lowest stands out, and marks tell how surely the others differ from it."""
    marks = dict.fromkeys(data.labels, "")
    if data.num_runs > 1 and len(data.labels) > 1:
        others = (data.labels[index] for index in data.order[1:])
        marks |= dict(zip(others, map(daggers, differences_to_best(data).adjusted), strict=True))
    means, half_widths = mean_interval(data.scores)
    columns = (means.tolist(), half_widths.tolist(), lowest(means).tolist(), marks.values())
    return [
        Cell.of(with_half_width, mean, half_width, best=best, mark=mark)
        for mean, half_width, best, mark in zip(*columns, strict=True)
    ]


def _shares(data: ReportData) -> list[Cell]:
    shares = data.scores.mean(axis=0) / (data.random_regret * data.num_episodes)
    return _cells(lambda share: "–" if math.isnan(share) else percent(share), shares)


def _areas(data: ReportData) -> list[Cell]:
    curves = (result.cumulative_regret for result in data.results.values())
    areas = (regret_area(each, lengths=data.lengths, normalised=True).mean() for each in curves)
    return _cells(_short, areas)


def _recovery(change: int, data: ReportData) -> list[Cell]:
    if change not in data.changes:
        return _cells(_recovered, *np.full((2, len(data.labels)), math.nan))
    return _cells(_recovered, *(each[:, data.changes.index(change)] for each in data.recovery))


def _mean_recovery(data: ReportData) -> list[Cell]:
    return _cells(_recovered, *(map(mean_recovery, each) for each in data.recovery))


def _recovered(share: float, median: float) -> str:
    """The share of runs that recovered, and the median episodes until then: `75 % (120)`."""
    if math.isnan(share):
        return "–"
    return f"{percent(share)} ({_short(median)})" if math.isfinite(median) else percent(share)


def mean_recovery(values: Iterable[float]) -> float:
    """Mean over the changes that can be judged; infinite if one is never recovered from."""
    judged = [value for value in values if not math.isnan(value)]
    return sum(judged) / len(judged) if judged else math.nan


def _counts(event: str, data: ReportData) -> list[Cell]:
    counts = (result.counts.get(event) for result in data.results.values())
    return _cells(_short, (math.nan if count is None else count.mean() for count in counts))


def _points(data: ReportData) -> list[str]:
    """The values of the point that stands for each agent, of one that is a grid."""
    values = (agent.get("point", {}) if data.shown[label].others else {} for label, agent in _named(data))
    return [", ".join(f"{key}={value}" for key, value in each.items()) for each in values]


def _named(data: ReportData) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return zip(data.labels, data.agents, strict=True)


def _numbers(field: str, data: ReportData) -> list[Cell]:
    return [number_cell(field, agent) for agent in data.numbers]


def _seconds(data: ReportData) -> list[Cell]:
    found = (agent.get("seconds") for agent in data.agents)
    seconds = (each if isinstance(each, int | float) else math.nan for each in found)
    return _cells(lambda each: f"{each:,.1f}" if each >= 0.95 else rounded(each, 1), seconds)


def _cells(write: Callable[..., str], *columns: Iterable[float]) -> list[Cell]:
    """A cell for each agent, of its number in each of the columns."""
    return [Cell.of(write, *map(float, row)) for row in zip(*columns, strict=True)]


def final(data: ReportData) -> Section:
    """Regret, area, recovery and events of every agent."""
    word, known = data.quantity, math.isfinite(data.random_regret)
    random = "Of random: as a share of the regret of random actions. " if known else ""
    recovery = "recovery" if len(data.changes) <= MAX_CHANGES else "mean recovery"
    columns = ("rank", "agent", "regret", "share", "iqm", "area", recovery, "events", "seconds")
    note = (
        f"Final {word}: cumulative {word} after the last episode, mean ± 95 % half-width (Student’s t); "
        f"{MARKED}. {random}"
        f"IQM: mean of the middle half of the runs, with a bootstrap interval.{bootstrap_caution(data)} "
        f"Area: under the curve of cumulative {word}, divided by K²/2, so that a constant {word} of r in "
        "each episode gives r."
    )
    notes = [note, _recovery_note(data)] if data.changes else [note]
    report = {data.environment_label: data}
    numbers = replace(final_table(report, ("agent", "point", "numbers")).without_empty(), name="numbers")
    shown = [numbers, NOTE] if len(numbers.columns) > 1 else []
    return Section("Final table", [final_table(report, columns), *notes, *data.grid_notes, *shown])


def _recovery_note(data: ReportData) -> str:
    threshold, width = data.recovery_threshold, data.smoothing
    if math.isnan(threshold):
        return "Recovery is not known: its threshold is a property of the environment, which cannot be made."
    averaged = f", averaged over {width} points," if width > 1 else ""
    held = " and stays there as long" if width > 1 else ""
    return (
        f"Recovered: the share of runs in which the regret of an episode{averaged} comes down to "
        f"{rounded(threshold, 3)}{held} before the next change or the end, and the median episodes from the "
        "change until then. A run that does not recover counts as infinitely long: the median is there where "
        "more than half recover. It is the middle of all runs, so where some do not recover it is one of the "
        "slower of those that do. "
        "The level is a quarter of the mean regret of random actions: the same for all agents, and in every "
        "report on this environment with as many episodes, recorded as often. 100 % (0): the agent never "
        "rose above it. –: too little was recorded after the change to judge."
    )
