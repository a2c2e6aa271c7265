"""A log in a table, read in blocks: it may be larger than the memory."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv, parquet

from driftwise.base.files import require_regular_file
from driftwise.base.times import LATEST_TIMESTAMP
from driftwise.base.validation import ArgumentError, require_choice, require_count, suggest_name
from driftwise.online.encoding import Category, Encoder, Hashed
from driftwise.online.limits import LARGEST_REWARD

SUFFIXES = (".csv", ".parquet")
_TEXT = pa.string(), pa.large_string()
_compute: Any = compute  # its functions are made when it is imported, so that type checkers do not know them


class TableBlock(NamedTuple):
    """The usable rows of a part of a table."""

    actions: np.ndarray  # [n] words
    rewards: np.ndarray  # [n]
    features: dict[str, np.ndarray]  # [n] each, of numbers or of words
    propensities: np.ndarray | None  # [n] probabilities of the logged actions
    times: np.ndarray | None  # [n] in seconds since 1970
    skipped: int  # rows with a value that is missing or not finite


@dataclass(frozen=True)
class TableLog:
    """A CSV or parquet file with a row for each decision, oldest first.

    Args:
      action: the column of the action that was taken, of any type; None if there is one action only.
      reward: the column of its reward.
      features: the columns of the context, of numbers, or of words, none of which reads as a number.
      propensity: the column with the probability at which the logging policy took that action, if known.
      time: the column of the time of the decision, if known: seconds since 1970, timestamps, or ISO 8601.
      encoder: the encoder of the features; by default numbers are scaled from their range in the log to
        [−1, 1], and words are one-hot.
      bytes_at_once: how much of the file is held at a time; nothing else depends on it.
    """

    path: str | os.PathLike[str]
    action: str | None
    reward: str
    features: tuple[str, ...] = ()
    propensity: str | None = None
    time: str | None = None
    encoder: Encoder | None = None
    bytes_at_once: int = 1 << 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        names = self.features if self.encoder is None else [column.name for column in self.encoder.columns]
        if self.encoder is not None and self.features and {*self.features} != {*names}:
            raise ArgumentError("features", "be the columns of the encoder, or left out", self.features)
        object.__setattr__(self, "features", tuple(names))
        require_count("bytes_at_once", self.bytes_at_once)
        require_choice("the ending of the log's name", Path(self.path).suffix.lower(), SUFFIXES)
        if not self.features:
            raise ArgumentError("features", "name at least one column", self.features, "none")
        for name in self.columns:
            if self.columns.count(name) > 1:
                names = "action, reward, features, propensity and time"
                raise ArgumentError(names, "be different columns", name, f"{name!r} twice")

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        names = self.action, self.reward, *self.features, self.propensity, self.time
        return [name for name in names if name is not None]

    def describe(self) -> dict[str, Any]:
        """Return the path, the columns and the encoder as plain values."""
        encoder = None if self.encoder is None else self.encoder.to_table()
        columns = {name: value for name, value in vars(self).items() if name not in ("path", "bytes_at_once")}
        return {"log": str(self.path)} | columns | {"encoder": encoder}

    def blocks(self) -> Iterator[TableBlock]:
        """Read the file block by block; a feature's first values say whether it is one of words."""
        row, columns = 1, () if self.encoder is None else self.encoder.columns
        words = {column.name: isinstance(column, Category | Hashed) for column in columns}
        optional = {column.name for column in columns if column.missing != "refuse"}
        try:
            for batch in self._batches():
                yield self._block(batch, row, words, optional)
                row += batch.num_rows
        except pa.ArrowException as error:
            problem = " ".join(str(error).split())
        except UnicodeDecodeError:
            problem = "it is not text in UTF-8"
        except OSError as error:
            problem = error.strerror or error
        else:
            return
        raise ValueError(f"{self.path} cannot be read: {problem}")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        require_regular_file(self.path)  # it is read several times
        of_parquet = Path(self.path).suffix.lower() == ".parquet"
        with parquet.ParquetFile(self.path) if of_parquet else csv.open_csv(self.path) as file:
            names = (file.schema_arrow if of_parquet else file.schema).names
            for name in self.columns:
                if names.count(name) != 1:
                    problem = f"more than one column {name!r}" if name in names else f"no column {name!r}"
                    close = "" if name in names else suggest_name(name, names)
                    more = f" and {len(names) - 20} more" * (len(names) > 20)
                    listed = ", ".join(map(repr, names[:20])) + more
                    commas = "; columns have to be separated by commas" if len(names) == 1 else ""
                    raise ValueError(f"{self.path} has {problem}{close}; its columns are {listed}{commas}")
            if of_parquet:
                rows = max(1, self.bytes_at_once // (8 * len(self.columns)))
                yield from file.iter_batches(batch_size=rows, columns=self.columns)
                return
        texts = dict.fromkeys(self.columns, pa.string())  # a type guessed from a block may not fit the next
        convert = csv.ConvertOptions(include_columns=[*texts], column_types=texts, strings_can_be_null=True)
        read = csv.ReadOptions(block_size=self.bytes_at_once)
        with csv.open_csv(self.path, read_options=read, convert_options=convert) as batches:
            yield from batches

    def _block(
        self, batch: pa.RecordBatch, first_row: int, words: dict[str, bool], optional: set[str]
    ) -> TableBlock:
        """Return the usable rows of a batch; `words` keeps which features have words."""
        columns, usable = dict[str | None, np.ndarray](), np.ones(batch.num_rows, dtype=bool)
        for name in self.columns:
            column: Any = batch.column(name)
            column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            if name in self.features and name not in words and (of_words := _has_words(column)) is not None:
                words[name] = of_words
            read = _read_seconds if name == self.time else _read_numbers
            try:
                values = (_read_words if name == self.action or words.get(name) else read)(column)
            except ColumnError as error:
                problem, row = error.args
                where = "" if row is None else f" row {first_row + row}:"
                raise ValueError(f"{self.path}:{where} {name} {problem}") from None
            columns[name] = values
            if name not in optional:
                usable &= values != None if values.dtype == object else np.isfinite(values)  # noqa: E711
        if self.propensity is not None:
            chances = columns[self.propensity]
            for row in np.flatnonzero(usable & ~((chances > 0) & (chances <= 1))):
                problem = f"{self.propensity} must be a probability in (0, 1], got {chances[row]:g}"
                raise ValueError(f"{self.path}: row {first_row + row}: {problem}")
        kept = {name: values[usable] for name, values in columns.items()}
        rewards, features = kept[self.reward], {name: kept[name] for name in self.features}
        actions = kept.get(self.action, np.full(len(rewards), "", dtype=object))
        others = kept.get(self.propensity), kept.get(self.time), len(usable) - len(rewards)
        return TableBlock(actions, rewards, features, *others)


class ColumnError(ValueError):
    """A problem with the values of a column, and the row in the block, or None for all of them."""


def _has_words(column: Any) -> bool | None:
    """Return whether no value of a column reads as a number; None if it has no value."""
    if column.type not in _TEXT:
        return False
    values = [word for word in _compute.unique(_with_numeric_booleans(column)).drop_null() if word.as_py()]
    return not any(map(_is_number, values)) if values else None


def _read_numbers(column: Any) -> np.ndarray:
    """Return a column as float64, NaN where a value is missing; text may have `True` and `False`."""
    column = _with_numeric_booleans(column) if column.type in _TEXT else column
    try:
        numbers = _compute.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError:
        raise ColumnError(f"must be a column of numbers, got {column.type}", None) from None
    except pa.ArrowInvalid:
        row = next(row for row, word in enumerate(column) if not _is_number(word))
        raise ColumnError(f"must be a number, got {column[row].as_py()!r}", row) from None
    _require_within(numbers, LARGEST_REWARD, f"must lie between ±{LARGEST_REWARD:g}")
    return numbers


def _read_seconds(column: Any) -> np.ndarray:
    """Return times as seconds since 1970, NaN where one is missing; all words have a time zone, or none."""
    try:
        if _has_words(column):
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


def _require_within(numbers: np.ndarray, limit: float, expected: str) -> None:
    for row in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) > limit)):
        raise ColumnError(f"{expected}, got {numbers[row]:g}", row)


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
