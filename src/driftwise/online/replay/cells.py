"""Values of a column of a file, as numbers or as words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def are_words(column: Any) -> bool | None:
    """Whether no value of a column reads as a number; None if it has no value."""
    column = _plain(column)
    if not _is_text(column):
        return False
    found = pc.unique(_as_numbers(_trimmed(column))).drop_null()  # pyright: ignore[reportAttributeAccessIssue]
    values = [each for each in found if each.as_py()]
    return not any(reads_as_number(each) for each in values) if values else None


def as_floats(column: Any) -> Any:
    """A column as float64, NaN where a value is missing; pyarrow's error if one is no number."""
    column = texts(column)
    return pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def as_seconds(column: Any) -> np.ndarray:
    """Times as seconds since 1970, NaN where one is missing: numbers, timestamps, or text in ISO 8601."""
    column = _plain(column)
    if are_words(column):
        column = _as_timestamps(_trimmed(column))
    if not pa.types.is_temporal(column.type):
        return as_floats(column)
    since = pc.cast(pc.cast(column, pa.timestamp("us"), safe=False), pa.int64())
    return pc.cast(since, pa.float64(), safe=False).to_numpy(zero_copy_only=False) / 1e6


def _as_timestamps(words: Any) -> Any:
    """Times as they are written, all with a time zone or all without, which is UTC then."""
    try:
        return pc.cast(words, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return pc.cast(words, pa.timestamp("us", tz="UTC"))


def texts(column: Any) -> Any:
    """A column in which `True` and `False` are numbers, if it is text."""
    column = _plain(column)
    return _as_numbers(_trimmed(column)) if _is_text(column) else column


def _is_text(column: Any) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _trimmed(column: Any) -> Any:
    return pc.utf8_trim_whitespace(column)  # pyright: ignore[reportAttributeAccessIssue]


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def reads_as_number(word: Any) -> bool:
    try:
        word.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def as_words(column: Any) -> np.ndarray:
    """Values as words without spaces around them, None where one is missing or empty."""
    column = _plain(column)
    if pa.types.is_floating(column.type):
        finite = pc.is_finite(column)  # pyright: ignore[reportAttributeAccessIssue]
        column = pc.if_else(finite, column, None)  # pyright: ignore[reportAttributeAccessIssue]
    words = ((word or "").strip() or None for word in pc.cast(column, pa.string()).to_pylist())
    return np.array([*words, None], dtype=object)[:-1]


def _as_numbers(words: Any) -> Any:
    """Words in which `True` and `False` are 1 and 0, as data frames write them."""
    for word, number in (("true", "1"), ("false", "0")):
        said = pc.equal(pc.utf8_lower(words), word)  # pyright: ignore[reportAttributeAccessIssue]
        words = pc.if_else(said, number, words)  # pyright: ignore[reportAttributeAccessIssue]
    return words
