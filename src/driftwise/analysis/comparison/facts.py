"""Where two manifests differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from driftwise.base.making import dotted

OF_THE_MOMENT = ("written", "seconds", "sha256")  # differ between any two runs


class Cell(NamedTuple):
    """What has curves of its own."""

    environment: str
    agent: str


class Fact(NamedTuple):
    """A place at which two manifests differ; `None` where one of them has nothing."""

    path: str
    first: Any
    second: Any


def differing_facts(
    first: Mapping[str, Any], second: Mapping[str, Any], cells: Collection[Cell]
) -> tuple[Fact, ...]:
    """All places at which manifests differ, but for when and how long; of the agents, those in `cells`."""
    return tuple(_differing(_lasting(first, cells), _lasting(second, cells), ()))


def _lasting(manifest: Mapping[str, Any], cells: Collection[Cell]) -> dict[str, Any]:
    agents: dict[str, dict[str, Any]] = {}
    for agent in manifest["agents"]:
        cell = Cell(str(agent["environment"]), str(agent["label"]))
        if cell in cells:  # the list as tables, so that a place in it does not matter
            agents.setdefault(cell.environment, {})[cell.agent] = _without(agent, "environment", "label")
    return {**_without(manifest), "agents": agents}


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in (*OF_THE_MOMENT, *keys)}


def _differing(first: Any, second: Any, keys: tuple[str, ...]) -> Iterator[Fact]:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            yield from _differing(first.get(key), second.get(key), (*keys, str(key)))
    elif first != second:
        yield Fact(dotted(*keys), first, second)
