"""A list in an agent's table is a grid: its points are agents of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from driftwise.base.agent import Agent
from driftwise.base.parameters import parameters
from driftwise.base.part import points, to_config
from driftwise.base.validation import ArgumentError


class Built(NamedTuple):
    """An agent, and the variation that it was told; None if it was told nothing."""

    agent: Agent
    variation: float | None


class Point(NamedTuple):
    """One agent of a grid."""

    agent: Agent
    values: Mapping[str, Any]  # one of each list
    variation: float | None = None  # that it was told


def grids_of(
    path: str,
    label: str,
    table: Mapping[str, Any],
    build: Callable[[Mapping[str, Any]], Built],
    *,
    together: bool,
    at_most: int,
) -> Iterator[tuple[str, dict[str, Point]]]:
    """All combinations of the listed values, in grids that can run as one program, by their labels.

    Points that differ in numbers alone are put `together`, `at_most` so many.
    """
    lists = lists_in(path, table)
    numbers = {key: values for key, values in lists.items() if together and _numeric(values)}
    others = {key: values for key, values in lists.items() if key not in numbers}
    for chosen in combinations(others):
        points = [{key: (chosen | point)[key] for key in lists} for point in combinations(numbers)]
        for first in range(0, len(points), at_most):
            some = {_labelled(label, values): values for values in points[first : first + at_most]}
            yield (
                _labelled(label, chosen),
                {name: _point(build({**table, **values}), values) for name, values in some.items()},
            )


def _point(built: Built, values: Mapping[str, Any]) -> Point:
    return Point(built.agent, values, built.variation)


def grids_of_agent(
    path: str, label: str, agent: Agent, *, at_most: int
) -> Iterator[tuple[str, dict[str, Point]]]:
    """The points of an agent that was made with a grid in its numbers, as `grids_of` has them."""
    made: dict[str, Point] = {}
    agents = points(agent)
    tables = [parameters(to_config(each)) for each in agents]
    varied = [name for name in tables[0] if len({table[name] for table in tables}) > 1]
    for each, table in zip(agents, tables, strict=True):
        values = {name: table[name] for name in varied}
        made[_labelled(label, values)] = Point(each, values)
    if len(made) < len(agents):
        raise ArgumentError(path, "be a grid of different agents", agent)
    for first in range(0, len(made), at_most):
        yield label, dict([*made.items()][first : first + at_most])


def lists_in(path: str, table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The lists of a table, checked."""
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    for key, values in lists.items():
        if not values or any(isinstance(value, (list, dict)) for value in values):
            raise ArgumentError(f"{path}.{key}", "be a value, or a list of values to try", values)
        if any(value in values[:index] for index, value in enumerate(values)):
            raise ArgumentError(f"{path}.{key}", "list different values", values)
    return lists


def combinations(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """One value of each list in all ways, the last list changing fastest."""
    for values in itertools.product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


def _labelled(label: str, chosen: Mapping[str, Any]) -> str:
    """`OPT-WLSVI (rate=0.98, radius=0.3)`."""
    return f"{label} ({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else label


def _numeric(values: list[Any]) -> bool:
    return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
