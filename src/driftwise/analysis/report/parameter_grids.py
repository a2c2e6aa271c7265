"""Parameter grids: final regret at all their points, and over two parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.analysis.figures import MANY_ROWS, HeatMap, distinct_texts
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.statistics.formatting import format_half_width, format_number
from driftwise.analysis.table import Cell, Table, numbers, words


@dataclass(frozen=True)
class ParameterGrid:
    """Agents of one name at all combinations of the values of two parameters."""

    name: str
    keys: tuple[str, str]
    values: tuple[list[Any], list[Any]]  # of the two parameters, ascending
    agents: dict[tuple[Any, Any], str]  # labels


def parameter_grids(data: ReportData) -> Section | None:
    """Return a heat map for each grid of two parameters, and a table of all points of grids."""
    agents = {label: agent for label, agent in data.best_points.items() if agent.others}
    if not agents:
        return None
    scores = {
        point: result.cumulative_regret[:, -1]
        for agent in agents.values()
        for point, result in agent.points.items()
    }
    grids = find_grids([*data.entries.values()])
    figures = [_figure(number, grid, scores) for number, grid in enumerate(grids)]
    rows = []
    for agent in agents.values():
        for point in agent.points:
            mean, half_width = map(float, mean_interval(scores[point]))
            rows.append((point, Cell.of(format_half_width, mean, half_width, best=point == agent.best)))
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
        varying = [key for key, own in values.items() if len(own) > 1]
        if len(varying) != 2:
            continue
        first, second = varying
        rows, columns = (
            sorted(values[key], key=lambda value: (isinstance(value, str), value)) for key in varying
        )
        labels = {(point[first], point[second]): label for label, point in points.items()}
        if len(labels) == len(rows) * len(columns):
            grids.append(ParameterGrid(name, (first, second), (rows, columns), labels))
    return grids


def _figure(number: int, grid: ParameterGrid, scores: Mapping[str, np.ndarray]) -> HeatMap:
    rows, columns = grid.values
    values = np.array([[scores[grid.agents[row, column]].mean() for column in columns] for row in rows])
    return HeatMap(
        f"grid-{number}",
        distinct_texts(rows),
        distinct_texts(columns),
        values,
        [[format_number(value) for value in row] for row in values.tolist()],
        f"Final regret of {grid.name} over its grid",
        caption=grid.name,
        x_label=grid.keys[1],
        y_label=grid.keys[0],
        texts_shown=len(columns) <= MANY_ROWS,
        rows=len(rows),
    )
