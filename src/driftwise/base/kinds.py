"""Kinds of plain values, so that whoever reads a file meets what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Kind = tuple[type, ...]
Kinds = Mapping[str, Kind]

WORD, COUNT, NUMBER, TABLE, LIST, NULL = (str,), (int,), (int, float), (dict,), (list,), (type(None),)
PLAIN = (str, int, float, bool)
NAMES: Mapping[type, str] = {
    str: "a word",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
    type(None): "null",
}


def require_kind_of(path: str, value: Any, expected: Kind) -> None:
    """Refuse a value of another kind, by a `ValueError` that names its place."""
    if type(value) not in expected:  # True is no number
        kinds = " or ".join(NAMES[kind] for kind in expected)
        raise ValueError(f"{path} must be {kinds}, got {NAMES[type(value)]}")


def require_kinds_of(path: str, table: Mapping[str, Any], kinds: Kinds) -> None:
    """The same for named values of a table; they may be missing."""
    for name, expected in kinds.items():
        if name in table:
            require_kind_of(f"{path}{name}", table[name], expected)


def require_kind_of_each(path: str, table: Mapping[str, Any], expected: Kind) -> None:
    """The same for all values of a table."""
    for name, value in table.items():
        require_kind_of(f"{path}.{name}", value, expected)
