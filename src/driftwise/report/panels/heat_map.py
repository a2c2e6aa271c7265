"""Final regret over grids of two parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.report.data import ReportData
from driftwise.report.elements import MANY, Section, axis, figure, paragraph, plotly_text, shown


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
    """The full two-parameter grids among the manifest's agents."""
    groups: dict[Any, dict[str, dict[str, Any]]] = defaultdict(dict)
    for agent in agents:
        flat = _flat(agent.get("parameters") or {})
        groups[str(agent["label"]).split(" (")[0], frozenset(flat)][str(agent["label"])] = flat
    return [grid for (name, _), members in groups.items() if (grid := _grid(name, members))]


def _grid(name: str, members: Mapping[str, Mapping[str, Any]]) -> Grid | None:
    flats = list(members.values())
    varying = [key for key in flats[0] if len({flat[key] for flat in flats}) > 1]
    keys: list[str] = []
    for key in varying:  # one that follows from another, as a capacity from a length, is no parameter
        if not any(
            _follows(key, other, flats)
            for other in varying
            if other in keys or not _follows(other, key, flats)
        ):
            keys.append(key)
    if len(keys) != 2:
        return None
    first, second = keys
    agents = {(flat[first], flat[second]): label for label, flat in members.items()}
    values = tuple(sorted({flat[key] for flat in flats}, key=_order) for key in keys)
    if len(agents) != len(members) or len(agents) != len(values[0]) * len(values[1]):
        return None
    return Grid(name, (first, second), (values[0], values[1]), agents)


def _follows(key: str, other: str, flats: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the value of `other` fixes that of `key`."""
    if key == other:
        return False
    return len({(flat[other], flat[key]) for flat in flats}) == len({flat[other] for flat in flats})


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested parameters as dotted ones."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, (int, float, str, bool)) else str(value)
    return flat


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _figure(number: int, grid: Grid, scores: Mapping[str, float]) -> str:
    rows, columns = grid.values
    z = np.array([[scores[grid.agents[row, column]] for column in columns] for row in rows])
    names = [plotly_text(key.rsplit(".", 1)[-1]) for key in grid.keys]
    trace = {
        "type": "heatmap",
        "x": _categories(columns),
        "y": _categories(rows),
        "z": z.round(6).tolist(),
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


def _categories(values: Sequence[Any]) -> list[str]:
    """Short where that tells them apart."""
    short = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return [plotly_text(text) for text in (short if len({*short}) == len(values) else map(str, values))]
