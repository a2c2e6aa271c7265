"""Final regret over grids of two parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.elements import (
    MANY,
    Section,
    axis,
    figure,
    paragraph,
    plotly_text,
    shown,
    told_apart,
)


@dataclass(frozen=True)
class Grid:
    """Agents of one name that differ in two parameters, all combinations of which there are."""

    name: str
    keys: tuple[str, str]
    values: tuple[list[Any], list[Any]]  # of the two parameters, ascending
    agents: dict[tuple[Any, Any], str]  # labels


def heat_map(data: ReportData) -> Section | None:
    grids = find_grids(data.agents)
    if not grids:
        return None
    scores = dict(zip(data.labels, data.scores.mean(axis=0), strict=True))
    body = "".join(_figure(number, grid, scores) for number, grid in enumerate(grids))
    return Section("Parameter grids", body + paragraph("Mean final cumulative regret; lower is better."))


def find_grids(agents: Sequence[Mapping[str, Any]]) -> list[Grid]:
    """The full two-parameter grids among the manifest's agents, whose `point` says where in one they are."""
    groups: dict[Any, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for agent in agents:
        if agent.get("point"):
            groups[str(agent.get("name")), frozenset(agent["point"])][str(agent["label"])] = agent["point"]
    return [grid for (name, _), points in groups.items() if (grid := _grid(name, points))]


def _grid(name: str, points: Mapping[str, Mapping[str, Any]]) -> Grid | None:
    keys = list(next(iter(points.values())))
    values = [sorted({point[key] for point in points.values()}, key=_order) for key in keys]
    varying = [(key, own) for key, own in zip(keys, values, strict=True) if len(own) > 1]
    if len(varying) != 2:
        return None
    (first, rows), (second, columns) = varying
    agents = {(point[first], point[second]): label for label, point in points.items()}
    if len(agents) != len(rows) * len(columns):
        return None
    return Grid(name, (first, second), (rows, columns), agents)


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _figure(number: int, grid: Grid, scores: Mapping[str, float]) -> str:
    rows, columns = grid.values
    z = np.array([[scores[grid.agents[row, column]] for column in columns] for row in rows])
    names = [plotly_text(key) for key in grid.keys]
    trace = {
        "type": "heatmap",
        "x": [plotly_text(value) for value in told_apart(columns)],
        "y": [plotly_text(value) for value in told_apart(rows)],
        "z": z.tolist(),
        "text": [[shown(value) for value in row] for row in z.tolist()],
        "texttemplate": "%{text}" if len(columns) <= MANY else "",
        "colorscale": "Cividis",
        "colorbar": {"outlinewidth": 0, "thickness": 12},
        "hovertemplate": f"{names[1]} %{{x}}, {names[0]} %{{y}}: %{{text}}<extra></extra>",
    }
    layout = {
        "xaxis": axis(names[1], type="category", showgrid=False),
        "yaxis": axis(names[0], type="category", showgrid=False),
        "hovermode": "closest",
    }
    text = f"Final regret of {grid.name} over its grid"
    return figure(f"grid-{number}", [trace], layout, text=text, caption=grid.name, rows=len(rows))
