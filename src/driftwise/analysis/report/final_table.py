"""Final regret: a table of all agents, from whose columns all formats choose, and the points of grids."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.agent_numbers import NUMBERS_NOTE, number_cell, number_columns
from driftwise.analysis.figures import MANY_ROWS, HeatMap, distinct_texts
from driftwise.analysis.formatting import format_half_width, format_interval, format_number, format_percent
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, ReportData, differences_to_best
from driftwise.analysis.report.standings import bootstrap_caution
from driftwise.analysis.statistics import bootstrap_interval, is_lowest, mean_interval, regret_area
from driftwise.analysis.table import Cell, Table, TableColumn, cells, numbers, words
from driftwise.simulation.results import EVENTS

IN_CSV = ("environment", "rank", "agent", "point", "regret", "share", "iqm", "area", "recovery", "events")
IN_CSV += ("numbers", "seconds")
IN_LATEX = ("environment", "agent", "regret", "share", "iqm", "area", "mean recovery", "events")
ON_A_TERMINAL = ("agent", "regret", "events", "numbers", "seconds")  # after the environment of several
MARKS_NOTE = (
    "bold: the lowest; †, ‡: differs from it at 5 %, 1 %, by paired t-tests adjusted by Holm for their number"
)
_MAX_CHANGES = 2  # with a column each; of more, the table has the mean

Cells = Callable[[ReportData], Iterable[Cell | str]]  # of the agents, in the order of `labels`


def final_table(report: Report, names: Sequence[str], *, ranked: bool = True) -> Table:
    """Return the table of the named columns; `ranked`: agents from the lowest regret to the highest."""
    available = _columns(report)
    columns = [column for name in names for column in available[name]]
    rows = []
    for data in report.values():
        agents = [*zip(*(write(data) for _, write in columns), strict=True)]
        rows += [agents[index] for index in data.order] if ranked else agents
    return Table.of("final", [column for column, _ in columns], rows)


def _columns(report: Report) -> Mapping[str, list[tuple[TableColumn, Cells]]]:
    """The columns that a table on these environments may have, by name, each with its cells."""
    environments, columns = [*report.values()], defaultdict[str, list[tuple[TableColumn, Cells]]](list)
    first = environments[0]
    word, several = first.quantity, first.num_runs > 1

    def add(name: str, heading: str, write: Cells, *fields: str, explained: str = "") -> None:
        columns[name].append((TableColumn(heading, fields, explained), write))

    add("environment", "environment", lambda data: [data.environment_label] * len(data.labels))
    add("rank", "rank", lambda data: cells("{:g}".format, data.ranks), "rank")
    add("agent", "agent", lambda data: data.labels)
    if any(data.grid_notes for data in environments):
        add("point", "point", _points)
    fields = f"final_cumulative_{word}", "half_width_95"
    explained = f"final cumulative {word}{', mean ± 95 %' * several}"
    add("regret", f"final {word}", _regrets, *fields, explained=explained)
    if any(math.isfinite(data.random_regret) for data in environments):
        add("share", "of random", _shares, "share_of_random")
    fields = "iqm", "iqm_low_95", "iqm_high_95"
    add("iqm", "IQM [95 %]", lambda data: cells(format_interval, *bootstrap_interval(data.scores)), *fields)
    add("area", "area", _areas, "normalised_area")
    changes = sorted({change for data in environments for change in data.changes})
    for change in changes:
        fields = f"recovered_from_{change}", f"recovery_after_{change}"
        add("recovery", f"recovered from {change:,} (median)", partial(_recovery, change), *fields)
    if changes:
        fields = "mean_recovered", "mean_recovery"
        add("mean recovery", "recovered (median), mean", partial(_recovery, None), *fields)
    results = [result for data in environments for result in data.results.values()]
    for event in EVENTS:
        if any(event in result.counts for result in results):
            heading, explained = f"{event} in a run", f"{event}{', mean' * several}"
            add("events", heading, partial(_counts, event), f"{event}_in_a_run", explained=explained)
    all_numbers = (number for data in environments for agent in data.numbers for number in agent)
    for field, column in number_columns(all_numbers).items():
        entry = column, lambda data, field=field: [number_cell(field, agent) for agent in data.numbers]
        columns["numbers"].append(entry)
    if any("seconds" in agent for data in environments for agent in data.agents.values()):
        add("seconds", "seconds", _seconds, "seconds")
    return columns


def _regrets(data: ReportData) -> list[Cell]:
    """Final regret: the lowest stands out, and marks say how significantly the others differ from it."""
    means, half_widths = mean_interval(data.scores)
    regrets = cells(format_half_width, means, half_widths, best=is_lowest(means))
    if data.num_runs > 1 and len(data.labels) > 1:
        for index, p in zip(data.order[1:], differences_to_best(data).adjusted, strict=True):
            regrets[index] = replace(regrets[index], mark="‡" if p <= 0.01 else "†" if p <= 0.05 else "")
    return regrets


def _shares(data: ReportData) -> list[Cell]:
    shares = data.scores.mean(axis=0) / (data.random_regret * data.num_episodes)
    return cells(lambda share: "–" if math.isnan(share) else format_percent(share), shares)


def _areas(data: ReportData) -> list[Cell]:
    curves = (result.cumulative_regret for result in data.results.values())
    areas = [regret_area(curve, lengths=data.lengths, normalised=True).mean() for curve in curves]
    return cells(partial(format_number, digits=3), areas)


def _recovery(change: int | None, data: ReportData) -> list[Cell]:
    """Recovery from a change, or its mean over all changes: the share of runs, and the median of episodes."""

    def write(share: float, median: float) -> str:  # `75 % (120)`
        wait = f" ({format_number(median, 3)})" if math.isfinite(median) else ""
        return "–" if math.isnan(share) else f"{format_percent(share)}{wait}"

    if change is None:
        return cells(write, *(list(map(mean_recovery, times)) for times in data.recovery))
    if change not in data.changes:
        return cells(write, *np.full((2, len(data.labels)), math.nan))
    return cells(write, *(times[:, data.changes.index(change)] for times in data.recovery))


def mean_recovery(values: Iterable[float]) -> float:
    """Return the mean over the changes that can be judged; infinite if one is never recovered from."""
    judged = [value for value in values if not math.isnan(value)]
    return sum(judged) / len(judged) if judged else math.nan


def _counts(event: str, data: ReportData) -> list[Cell]:
    counts = (result.counts.get(event) for result in data.results.values())
    means = [math.nan if count is None else count.mean() for count in counts]
    return cells(partial(format_number, digits=3), means)


def _points(data: ReportData) -> list[str]:
    """The parameters of the best point of each grid; empty for agents that are no grid."""
    agents = zip(data.agents.values(), data.selection.agents.values(), strict=True)
    points = (entry.get("point", {}) if agent.others else {} for entry, agent in agents)
    return [", ".join(f"{key}={value}" for key, value in point.items()) for point in points]


def _seconds(data: ReportData) -> list[Cell]:
    entries = (agent.get("seconds") for agent in data.agents.values())
    seconds = [entry if isinstance(entry, int | float) else math.nan for entry in entries]
    return cells(lambda time: f"{time:,.1f}" if time >= 0.95 else format_number(time, 1), seconds)


def final(data: ReportData) -> Section:
    """Return the final table with its notes, and the numbers of the agents."""
    word, threshold, width = data.quantity, data.recovery_threshold, data.smoothing
    random = "Of random: as a share of the regret of random actions. " if threshold > 0 else ""
    if not data.is_external and "random_regret" not in data.manifest:
        random = "The manifest has no regret of random actions: an earlier version wrote it. "
    recovery = "recovery" if len(data.changes) <= _MAX_CHANGES else "mean recovery"
    columns = ("rank", "agent", "regret", "share", "iqm", "area", recovery, "events", "seconds")
    notes = [
        f"Final {word}: cumulative {word} after the last episode, mean ± 95 % half-width (Student’s t); "
        f"{MARKS_NOTE}. {random}"
        f"IQM: mean of the middle half of the runs, with a bootstrap interval.{bootstrap_caution(data)} "
        f"Area: under the curve of cumulative {word}, divided by K²/2, so that a constant {word} of r in "
        "each episode gives r."
    ]
    if data.changes and math.isnan(threshold):
        notes.append("Recovery is unknown: its threshold is a share of the regret of random actions.")
    elif data.changes:
        averaged = f", averaged over {width} points," if width > 1 else ""
        duration = " and stays there as long" if width > 1 else ""
        notes.append(
            f"Recovered: the share of runs in which the regret of an episode{averaged} falls to "
            f"{format_number(threshold, 3)}{duration} before the next change or the end, and the median "
            "number of episodes from the change until then. A run that does not recover counts as infinitely "
            "long, so there is a median only where more than half recover, and it is the median over all "
            "runs. The threshold is a quarter of the mean regret of random actions: the same for all agents, "
            "and in every report on this environment with as many episodes, recorded as often. "
            "100 % (0): the agent never exceeded it. –: too few points after the change to judge."
        )
    report = {data.environment_label: data}
    own = replace(final_table(report, ("agent", "point", "numbers")).without_empty(), name="numbers")
    own_numbers = [own, NUMBERS_NOTE] if len(own.columns) > 1 else []
    return Section("Final table", [final_table(report, columns), *notes, *data.grid_notes, *own_numbers])


class ParameterGrid(NamedTuple):
    """Agents of one name at all combinations of the values of two parameters."""

    name: str
    keys: tuple[str, str]
    values: tuple[list[Any], list[Any]]  # of the two parameters, ascending
    agents: dict[tuple[Any, Any], str]  # labels


def grids(data: ReportData) -> Section | None:
    """Return a heat map for each grid of two parameters, and a table of all points of grids."""
    agents = [agent for agent in data.selection.agents.values() if agent.others]
    if not agents:
        return None
    points = {point: result for agent in agents for point, result in agent.points.items()}
    scores = {point: result.cumulative_regret[:, -1] for point, result in points.items()}
    figures = []
    for number, grid in enumerate(find_grids([*data.entries.values()])):
        rows, columns = grid.values
        values = np.array([[scores[grid.agents[row, column]].mean() for column in columns] for row in rows])
        texts = [[format_number(value) for value in row] for row in values.tolist()]
        labels = distinct_texts(rows), distinct_texts(columns), values, texts
        look: dict[str, Any] = dict(texts_shown=len(columns) <= MANY_ROWS, rows=len(rows))
        look |= dict(caption=grid.name, x_label=grid.keys[1], y_label=grid.keys[0])
        heading = f"Final regret of {grid.name} over its grid"
        figures.append(HeatMap(f"grid-{number}", *labels, heading, **look))
    intervals = zip(*(mean_interval(regrets) for regrets in scores.values()), strict=True)
    best = [point == agent.best for agent in agents for point in agent.points]
    regrets = cells(format_half_width, *intervals, best=best)
    rows = zip(scores, regrets, strict=True)
    table = Table.of("points", words("point") + numbers("final regret"), rows)
    note = "Mean final cumulative regret in the runs that are shown; bold: the best point."
    return Section("Parameter grids", [*figures, table, note, *data.grid_notes])


def find_grids(agents: Sequence[Mapping[str, Any]]) -> list[ParameterGrid]:
    """Return the full two-parameter grids among the manifest's agents, by their `point`."""
    groups: dict[Any, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for agent in agents:
        if agent.get("point"):
            groups[str(agent.get("name")), frozenset(agent["point"])][str(agent["label"])] = agent["point"]
    grids = []
    for (name, _), points in groups.items():
        values = {key: {point[key] for point in points.values()} for key in next(iter(points.values()))}
        varying = [key for key, distinct in values.items() if len(distinct) > 1]
        if len(varying) == 2:
            first, second = varying
            rows, columns = (sorted(values[key], key=lambda v: (isinstance(v, str), v)) for key in varying)
            labels = {(point[first], point[second]): label for label, point in points.items()}
            if len(labels) == len(rows) * len(columns):
                grids.append(ParameterGrid(name, (first, second), (rows, columns), labels))
    return grids
