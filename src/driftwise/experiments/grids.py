"""A list is a grid: its points are agents of their own; those that differ in numbers alone run together."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from driftwise.base.agent import Agent
from driftwise.base.part import to_config
from driftwise.base.validation import ArgumentError
from driftwise.simulation.results import Result, over_curves


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """Agents that can run together."""

    name: str  # the agent's in its file
    label: str  # what progress is reported of
    agent: Agent  # with several points, its numbers are arrays over them
    points: Mapping[str, Agent]  # every single agent, by what tables and figures show
    values: Mapping[str, Mapping[str, Any]]  # and what the lists have there


def grids_of(
    path: str,
    label: str,
    given: Mapping[str, Any],
    build: Callable[[Mapping[str, Any]], Agent],
    *,
    one_by_one: bool = False,
    at_once: int | None = None,
) -> Iterator[Grid]:
    """All combinations of the listed values, `at_once` in a grid; `one_by_one` if `build` takes no arrays."""
    lists = {key: value for key, value in given.items() if isinstance(value, list)}
    for key, values in lists.items():
        _check_list(f"{path}.{key}", values)
    numbers = {key: values for key, values in lists.items() if _numeric(values) and not one_by_one}
    others = {key: values for key, values in lists.items() if key not in numbers}
    for chosen in combinations(others):
        points = list(combinations(numbers))
        size = at_once or len(points)
        for first in range(0, len(points), size):
            some = points[first : first + size]
            listed = [{key: (chosen | point)[key] for key in lists} for point in some]
            values = {labelled(label, each): each for each in listed}
            agents = {point: build({**given, **each}) for point, each in values.items()}
            if len(agents) == 1:
                (agent,) = agents.values()
            else:  # each number as an array over the points
                arrays = {key: tuple(point[key] for point in some) for key in numbers}
                agent = build({**given, **chosen, **arrays})
            yield Grid(name=label, label=labelled(label, chosen), agent=agent, points=agents, values=values)


def combinations(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """One value of each list in all ways, the last list changing fastest."""
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def labelled(label: str, chosen: Mapping[str, Any]) -> str:
    """`OPT-WLSVI (rate=0.98, radius=0.3)`."""
    return f"{label} ({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else label


def split_result(result: Result, grid: Grid) -> dict[str, Result]:
    """The results of a grid's points, as if each had run alone, up to rounding; they share the time."""
    if len(grid.points) == 1:
        return dict.fromkeys(grid.points, result)
    seconds = result.manifest["seconds"] / len(grid.points)
    return {
        label: dataclasses.replace(
            result,
            **over_curves(operator.itemgetter(index), result),
            manifest={**result.manifest, "agent": to_config(agent), "seconds": seconds},
        )
        for index, (label, agent) in enumerate(grid.points.items())
    }


def _check_list(path: str, values: list[Any]) -> None:
    if not values or any(isinstance(value, (list, dict)) for value in values):
        raise ArgumentError(path, "be a value, or a list of values to try", values)
    if any(value in values[:index] for index, value in enumerate(values)):
        raise ArgumentError(path, "list different values", values)


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
