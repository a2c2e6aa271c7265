"""Values of a column of a file: numbers, seconds or words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from driftwise.base.times import LATEST_TIMESTAMP
from driftwise.online.limits import LARGEST_REWARD

_compute: Any = compute  # its functions are made when it is imported, so that type checkers do not know them


class ColumnError(ValueError):
    """A value that cannot be read, with its row in the block, or a whole column of a wrong type."""

    def __init__(self, problem: str, row: Any = None) -> None:
        super().__init__(problem)
        self.row = row


def decode(column: Any) -> Any:
    """Return a column with its values in the place of the codes of a dictionary."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def has_words(column: Any) -> bool | None:
    """Return whether no value of a column reads as a number; None if it has no value."""
    if not _is_text(column):
        return False
    unique = _compute.unique(_with_numeric_booleans(column)).drop_null()
    values = [value for value in unique if value.as_py()]
    return not any(map(_is_number, values)) if values else None


def _read_numbers(column: Any) -> np.ndarray:
    """Return a column as float64, NaN where a value is missing; text may have `True` and `False`."""
    column = _with_numeric_booleans(column) if _is_text(column) else column
    try:
        numbers = _compute.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:
        raise ColumnError(f"must be a column of numbers, got {column.type}") from None
    except pa.ArrowInvalid:
        row = next(row for row, word in enumerate(column) if not _is_number(word))
        raise ColumnError(f"must be a number, got {column[row].as_py()!r}", row) from None
    _require_within(numbers, LARGEST_REWARD, f"must lie between ±{LARGEST_REWARD:g}")
    return numbers


def _read_seconds(column: Any) -> np.ndarray:
    """Return times as seconds since 1970, NaN where one is missing.

    Times are numbers, timestamps, or text in ISO 8601: all with a time zone, or all in UTC without one.
    """
    try:
        if has_words(column):
            column = _compute.utf8_trim_whitespace(column)
            try:
                column = _compute.cast(column, pa.timestamp("us"))
            except pa.ArrowInvalid:
                column = _compute.cast(column, pa.timestamp("us", tz="UTC"))
        if not pa.types.is_temporal(column.type):
            times = _read_numbers(column)
        else:
            for kind in (pa.timestamp("us"), pa.int64(), pa.float64()):
                column = _compute.cast(column, kind, safe=False)
            times = column.to_numpy(zero_copy_only=False) / 1e6
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ColumnError):
        kinds = "seconds since 1970, timestamps, or ISO 8601"
        raise ColumnError(f"must be times ({kinds}), got {column[0].as_py()!r}", 0) from None
    _require_within(times, LATEST_TIMESTAMP, f"must be seconds since 1970, within ±{LATEST_TIMESTAMP:g}")
    return times


def _read_words(column: Any) -> np.ndarray:
    """Return values as words without spaces around them, None where one is missing or empty."""
    if pa.types.is_floating(column.type):
        column = _compute.if_else(_compute.is_finite(column), column, None)
    words = ((word or "").strip() or None for word in _compute.cast(column, pa.string()).to_pylist())
    return np.array([*words, None], dtype=object)[:-1]


READERS = {"numbers": _read_numbers, "seconds": _read_seconds, "words": _read_words}


def _require_within(numbers: np.ndarray, limit: float, expected: str) -> None:
    for row in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) > limit)):
        raise ColumnError(f"{expected}, got {numbers[row]:g}", row)


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
    words = _compute.utf8_trim_whitespace(words)
    for word, number in (("true", "1"), ("false", "0")):
        words = _compute.if_else(_compute.equal(_compute.utf8_lower(words), word), number, words)
    return words
