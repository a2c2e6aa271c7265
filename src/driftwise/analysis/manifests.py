"""Differences between the manifests of two results folders."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from driftwise.analysis.table import Table, words
from driftwise.experiments.storage import differences

OF_THE_MOMENT = ("written", "seconds", "sha256")  # differ between any two runs


class Participant(NamedTuple):
    """An agent in an environment."""

    environment: str
    agent: str


class ManifestDifference(NamedTuple):
    """A place at which two manifests differ; `None` where one of them has nothing."""

    path: str
    first: Any
    second: Any


def manifest_differences(
    first: Mapping[str, Any], second: Mapping[str, Any], common: Collection[Participant]
) -> tuple[ManifestDifference, ...]:
    """All places at which manifests differ, but for when and how long; of the agents, those in `common`."""
    places = differences(_lasting(first, common), _lasting(second, common))
    return tuple(ManifestDifference(*place) for place in places)


def manifests_table(differences: Iterable[ManifestDifference]) -> Table:
    """The places, and what each of the manifests has there."""
    rows = [(path, _text(first), _text(second)) for path, first, second in differences]
    return Table.of("manifests", words("what", "first", "second"), rows, "What differs in what was run")


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _lasting(manifest: Mapping[str, Any], common: Collection[Participant]) -> dict[str, Any]:
    """The manifest less what differs between any two runs."""
    agents: dict[str, dict[str, Any]] = {}
    for agent in manifest["agents"]:
        own = Participant(str(agent["environment"]), str(agent["label"]))
        if own in common:  # the list as tables, so that a place in it does not matter
            agents.setdefault(own.environment, {})[own.agent] = _without(agent, "environment", "label")
    return {**_without(manifest), "agents": agents}


def _without(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in (*OF_THE_MOMENT, *keys)}
