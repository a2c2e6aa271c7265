"""Make agents of the grids in their tables: a list of values is an axis of a grid."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from driftwise.base.agent import Agent
from driftwise.base.part import expand_grid, extract_parameters, to_config
from driftwise.base.validation import ArgumentError


class Built(NamedTuple):
    """An agent, and the variation that its tuning used, if any."""

    agent: Agent
    variation: float | None


class Point(NamedTuple):
    """One agent of a grid."""

    agent: Agent
    values: Mapping[str, Any]  # one of each list
    variation: float | None = None  # that its tuning used


def grids_of(
    path: str,
    label: str,
    table: Mapping[str, Any],
    build: Callable[[Mapping[str, Any]], Built],
    *,
    together: bool,
    at_most: int,
) -> Iterator[tuple[str, dict[str, Point]]]:
    """Yield all combinations of the listed values, in grids that run as one program, by their labels.

    Points that differ only in numbers are put `together`, `at_most` so many.
    """
    lists = lists_in(path, table)

    def numeric(value: Any) -> bool:
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    numbers = {key: values for key, values in lists.items() if together and all(map(numeric, values))}
    others = {key: values for key, values in lists.items() if key not in numbers}
    for chosen in combinations(others):
        points = [{key: (chosen | point)[key] for key in lists} for point in combinations(numbers)]
        for first in range(0, len(points), at_most):
            grid = {}
            for values in points[first : first + at_most]:
                built = build({**table, **values})
                grid[_label(label, values)] = Point(built.agent, values, built.variation)
            yield _label(label, chosen), grid


def grids_of_agent(
    path: str, label: str, agent: Agent, *, at_most: int
) -> Iterator[tuple[str, dict[str, Point]]]:
    """Yield the points of an agent with a grid in its numbers, as `grids_of` does."""
    by_label: dict[str, Point] = {}
    agents = expand_grid(agent)
    tables = [extract_parameters(to_config(point)) for point in agents]
    varied = [name for name in tables[0] if len({table[name] for table in tables}) > 1]
    for point, table in zip(agents, tables, strict=True):
        values = {name: table[name] for name in varied}
        by_label[_label(label, values)] = Point(point, values)
    if len(by_label) < len(agents):
        raise ArgumentError(path, "be a grid of different agents", agent)
    for first in range(0, len(by_label), at_most):
        yield label, dict([*by_label.items()][first : first + at_most])


def lists_in(path: str, table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of a table, after a check of their values."""
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    for key, values in lists.items():
        if not values or any(isinstance(value, (list, dict)) for value in values):
            raise ArgumentError(f"{path}.{key}", "be a value, or a list of values to try", values)
        if any(value in values[:index] for index, value in enumerate(values)):
            raise ArgumentError(f"{path}.{key}", "list different values", values)
    return lists


def combinations(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of one value of each list; the last list changes fastest."""
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _label(label: str, chosen: Mapping[str, Any]) -> str:
    """`OPT-WLSVI (rate=0.98, radius=0.3)`."""
    return f"{label} ({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else label
