"""Values of a column of a file: numbers, seconds or words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftwise.base.times import LATEST_TIMESTAMP
from driftwise.online.limits import LARGEST_REWARD


class ColumnError(ValueError):
    """A value that cannot be read, with its row in the block, or a whole column of a wrong type."""

    def __init__(self, problem: str, row: Any = None) -> None:
        super().__init__(problem)
        self.row = row


def has_words(column: Any) -> bool | None:
    """Return whether no value of a column reads as a number; None if it has no value."""
    column = _decoded(column)
    if not _is_text(column):
        return False
    words = _with_numeric_booleans(column)
    unique = pc.unique(words).drop_null()  # pyright: ignore[reportAttributeAccessIssue]
    values = [value for value in unique if value.as_py()]
    return not any(map(_is_number, values)) if values else None


def read_numbers(column: Any) -> np.ndarray:
    """Return a column as float64, NaN where a value is missing; text may have `True` and `False`."""
    column = _decoded(column)
    column = _with_numeric_booleans(column) if _is_text(column) else column
    try:
        numbers = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:
        raise ColumnError(f"must be a column of numbers, got {column.type}") from None
    except pa.ArrowInvalid:
        row = next(row for row, word in enumerate(column) if not _is_number(word))
        raise ColumnError(f"must be a number, got {column[row].as_py()!r}", row) from None
    for row in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) > LARGEST_REWARD)):
        raise ColumnError(f"must lie between ±{LARGEST_REWARD:g}, got {numbers[row]:g}", row)
    return numbers


def read_seconds(column: Any) -> np.ndarray:
    """Return times as seconds since 1970, NaN where one is missing.

    Times are numbers, timestamps, or text in ISO 8601: all with a time zone, or all in UTC without one.
    """
    column = _decoded(column)
    try:
        if has_words(column):
            column = pc.utf8_trim_whitespace(column)  # pyright: ignore[reportAttributeAccessIssue]
            try:
                column = pc.cast(column, pa.timestamp("us"))
            except pa.ArrowInvalid:
                column = pc.cast(column, pa.timestamp("us", tz="UTC"))
        if not pa.types.is_temporal(column.type):
            times = read_numbers(column)
        else:
            microseconds = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
            times = pc.cast(microseconds, pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ColumnError):
        kinds = "seconds since 1970, timestamps, or ISO 8601"
        raise ColumnError(f"must be times ({kinds}), got {column[0].as_py()!r}", 0) from None
    for row in np.flatnonzero(np.isfinite(times) & (np.abs(times) > LATEST_TIMESTAMP)):
        raise ColumnError(
            f"must be seconds since 1970, within ±{LATEST_TIMESTAMP:g}, got {times[row]:g}", row
        )
    return times


def read_words(column: Any) -> np.ndarray:
    """Return values as words without spaces around them, None where one is missing or empty."""
    column = _decoded(column)
    if pa.types.is_floating(column.type):
        finite = pc.is_finite(column)  # pyright: ignore[reportAttributeAccessIssue]
        column = pc.if_else(finite, column, None)  # pyright: ignore[reportAttributeAccessIssue]
    words = ((word or "").strip() or None for word in pc.cast(column, pa.string()).to_pylist())
    return np.array([*words, None], dtype=object)[:-1]


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _is_text(column: Any) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _is_number(word: Any) -> bool:
    try:
        word.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _with_numeric_booleans(words: Any) -> Any:
    """Return trimmed words in which `True` and `False` are 1 and 0, as data frames write them."""
    words = pc.utf8_trim_whitespace(words)  # pyright: ignore[reportAttributeAccessIssue]
    for word, number in (("true", "1"), ("false", "0")):
        equal = pc.equal(pc.utf8_lower(words), word)  # pyright: ignore[reportAttributeAccessIssue]
        words = pc.if_else(equal, number, words)  # pyright: ignore[reportAttributeAccessIssue]
    return words
