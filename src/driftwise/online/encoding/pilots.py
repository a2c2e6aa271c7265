"""Columns that are learnt from a pilot: the scaling of numbers, and the words that there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, in_one_line, nearest, require_kind, require_number
from driftwise.online.encoding.columns import as_number, as_word, is_missing

MOST_WORDS = 1000  # of a category


def rows_of(table: Any, names: Sequence[str]) -> Iterator[Any]:
    """Rows of a list of them, or of columns by their names, as a data frame has."""
    if isinstance(table, (list, tuple)):
        yield from table
        return
    columns = [_values(table, name) for name in names]
    if len({len(each) for each in columns}) > 1:
        raise ArgumentError("columns", "have one length", table, f"{[len(each) for each in columns]}")
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def learnt_columns(frame: Any, columns: Any, deviations: float | None) -> Iterator[tuple[str, Any]]:
    """Tables of columns by their names, completed by what a pilot says."""
    if deviations is not None:
        require_number("deviations", deviations, above=0)
    if isinstance(frame, (list, tuple)):
        frame = _columns_of(frame)
    told = list(frame) if columns is None else columns
    tables = told if isinstance(told, Mapping) else {name: {} for name in told}
    for name, table in tables.items():
        values = _values(frame, name)
        known = [value for value in values if not is_missing(value)]
        if not known:
            raise ArgumentError("frame", f"have values in its column {name!r}", frame, "none")
        table = dict(require_kind(f"columns.{name}", table, Mapping))
        if len(known) < len(values) and table.get("missing", "refuse") == "refuse":
            found = f"'refuse', where {len(values) - len(known)} of {len(values)} values are missing"
            raise ArgumentError(f"columns.{name}.missing", "be 'zero' or 'own'", "refuse", found)
        table.setdefault("type", _type(name, known))
        yield name, _learnt(name, table, known, deviations) | table


def _learnt(name: str, table: Mapping[str, Any], values: list[Any], deviations: float | None) -> dict:
    """Settings of a column that its table does not have."""
    if table["type"] == "Number" and not {"low", "high"} <= table.keys():
        numbers = np.array([as_number(name, value) for value in values])
        low, high = edges(float(numbers.min()), float(numbers.max()))
        if deviations is not None and numbers.min() < numbers.max():
            mean, reach = float(numbers.mean()), deviations * float(numbers.std())
            low, high = mean - reach, mean + reach
        booleans = all(isinstance(value, (bool, np.bool_)) for value in values)
        return {"low": 0.0, "high": 1.0} if booleans else {"low": low, "high": high}
    if table["type"] == "Category" and "values" not in table:
        words = sorted({as_word(name, value) for value in values})
        if len(words) > MOST_WORDS:
            expected = f"be 'Hashed' beyond {MOST_WORDS:,} different words"
            raise ArgumentError(f"columns.{name}.type", expected, "Category", f"{len(words):,} of them")
        return {"values": words}
    return {}


def edges(low: float, high: float) -> tuple[float, float]:
    """The numbers that become −1 and 1 for a range; a number that never varies becomes 0."""
    if low < high:
        return low, high
    around = max(1.0, abs(low))  # 1 is less than the rounding of a large number
    return low - around, high + around


def _type(name: str, values: list[Any]) -> str:
    if all(isinstance(value, str) for value in values):
        return "Category"
    for value in values:
        if not isinstance(value, (Real, Decimal, np.bool_)):
            expected = "be of numbers, booleans or words"
            advice = ": make numbers of it, as its hour, or say its type"
            raise ArgumentError(f"column {name!r}", expected, value, f"{in_one_line(value)}{advice}")
    return "Number"


def _columns_of(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Values of rows by the names of columns, None where a row has none."""
    names = dict.fromkeys(name for row in rows for name in require_kind("row", row, Mapping))
    return {name: [row.get(name) for row in rows] for name in names}


def _values(table: Any, name: str) -> list[Any]:
    try:
        return list(table[name])
    except (KeyError, IndexError, TypeError, ValueError):  # as its library puts it
        known: Iterable[str] = map(str, table) if isinstance(table, Iterable) else ()
        found = f"{type(table).__name__} without it{nearest(name, known)}"
        raise ArgumentError("columns", f"have {name!r} among them", table, found) from None
