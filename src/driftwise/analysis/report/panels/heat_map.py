"""Grids: final regret at all their points, and over two parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.analysis.page import MANY, Figure, Section, axis, distinct_texts, plotly_text
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.statistics.wording import rounded, with_half_width
from driftwise.analysis.table import Cell, Table, numbers, words


@dataclass(frozen=True)
class ParameterGrid:
    """Agents of one name that differ in two parameters, all combinations of which there are."""

    name: str
    keys: tuple[str, str]
    values: tuple[list[Any], list[Any]]  # of the two parameters, ascending
    agents: dict[tuple[Any, Any], str]  # labels


def heat_map(data: ReportData) -> Section | None:
    """A heat map for each grid of two parameters, and a table of all points of grids."""
    agents = {label: shown for label, shown in data.shown.items() if shown.others}
    if not agents:
        return None
    scores = {
        point: result.cumulative_regret[:, -1]
        for shown in agents.values()
        for point, result in shown.points.items()
    }
    grids = find_grids([*data.entries.values()])
    figures = [_figure(number, grid, scores) for number, grid in enumerate(grids)]
    rows = []
    for shown in agents.values():
        for point in shown.points:
            mean, half_width = map(float, mean_interval(scores[point]))
            rows.append((point, Cell.of(with_half_width, mean, half_width, best=point == shown.best)))
    table = Table.of("points", words("point") + numbers("final regret"), rows)
    note = "Mean final cumulative regret in the runs that are shown; bold: the point chosen."
    return Section("Parameter grids", [*figures, table, note, *data.grid_notes])


def find_grids(agents: Sequence[Mapping[str, Any]]) -> list[ParameterGrid]:
    """The full two-parameter grids among the manifest's agents, whose `point` says where in one they are."""
    groups: dict[Any, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for agent in agents:
        if agent.get("point"):
            groups[str(agent.get("name")), frozenset(agent["point"])][str(agent["label"])] = agent["point"]
    return [grid for (name, _), points in groups.items() if (grid := _grid(name, points))]


def _grid(name: str, points: Mapping[str, Mapping[str, Any]]) -> ParameterGrid | None:
    keys = list(next(iter(points.values())))
    values = [sorted({point[key] for point in points.values()}, key=_order) for key in keys]
    varying = [(key, own) for key, own in zip(keys, values, strict=True) if len(own) > 1]
    if len(varying) != 2:
        return None
    (first, rows), (second, columns) = varying
    agents = {(point[first], point[second]): label for label, point in points.items()}
    if len(agents) != len(rows) * len(columns):
        return None
    return ParameterGrid(name, (first, second), (rows, columns), agents)


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _figure(number: int, grid: ParameterGrid, scores: Mapping[str, np.ndarray]) -> Figure:
    rows, columns = grid.values
    z = np.array([[scores[grid.agents[row, column]].mean() for column in columns] for row in rows])
    names = [plotly_text(key) for key in grid.keys]
    trace = {
        "type": "heatmap",
        "x": [plotly_text(value) for value in distinct_texts(columns)],
        "y": [plotly_text(value) for value in distinct_texts(rows)],
        "z": z.tolist(),
        "text": [[rounded(value) for value in row] for row in z.tolist()],
        "texttemplate": "%{text}" if len(columns) <= MANY else "",
        "hovertemplate": f"{names[1]} %{{x}}, {names[0]} %{{y}}: %{{text}}<extra></extra>",
    }
    layout = {"xaxis": axis(names[1]), "yaxis": axis(names[0])}
    text = f"Final regret of {grid.name} over its grid"
    return Figure(f"grid-{number}", [trace], layout, text, caption=grid.name, rows=len(rows))
