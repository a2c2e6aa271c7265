"""Kinds of what a manifest says, so that whoever reads one meets what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Kinds = Mapping[str, tuple[type, ...]]

WORD, COUNT, NUMBER, TABLE, LIST = (str,), (int,), (int, float), (dict,), (list,)
PLAIN = (str, int, float, bool)

MANIFEST: Kinds = {
    "experiment": WORD,
    "config": TABLE,
    "num_episodes": COUNT,
    "num_runs": COUNT,
    "seed": COUNT,
    "environments": TABLE,
    "agents": LIST,
    "versions": TABLE,
    "sha256": TABLE,
}
CONFIG: Kinds = {"name": WORD, "summary": WORD, "finding": WORD, "episodes": COUNT, "runs": COUNT}
AGENT: Kinds = {
    "environment": WORD,
    "label": WORD,
    "name": WORD,
    "point": TABLE,
    "parameters": TABLE,
    "seconds": NUMBER,
}


def require_kinds(manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest in which something is of another kind than driftwise writes; it may be missing."""
    _require("", manifest, MANIFEST)
    _require("config.", manifest.get("config", {}), CONFIG)
    _require_each("sha256", manifest.get("sha256", {}), WORD)
    _require_each("environments", manifest.get("environments", {}), TABLE)
    for number, agent in enumerate(manifest.get("agents", ())):
        place = f"agents.{number}"
        _require_one(place, agent, TABLE)
        _require(f"{place}.", agent, AGENT)
        _require_each(f"{place}.point", agent.get("point", {}), PLAIN)
    _require_values("config", manifest.get("config", {}))


def _require(path: str, table: Mapping[str, Any], kinds: Kinds) -> None:
    for name, expected in kinds.items():
        if name in table:
            _require_one(f"{path}{name}", table[name], expected)


def _require_each(path: str, table: Mapping[str, Any], expected: tuple[type, ...]) -> None:
    for name, value in table.items():
        _require_one(f"{path}.{name}", value, expected)


def _require_values(path: str, value: Any) -> None:
    """Refuse null, which no experiment's file can say, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            _require_values(f"{path}.{name}", each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _require_values(f"{path}.{number}", each)
    else:
        _require_one(path, value, PLAIN)


def _require_one(path: str, value: Any, expected: tuple[type, ...]) -> None:
    if type(value) not in expected:  # True is no number
        kinds = " or ".join(NAMES[kind] for kind in expected)
        raise ValueError(f"{path} must be {kinds}, got {NAMES[type(value)]}")


NAMES: Mapping[type, str] = {
    str: "a word",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
    type(None): "null",
}
