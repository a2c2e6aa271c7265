"""A log in a table, read in blocks: it may be larger than the memory."""

from __future__ import annotations

import collections
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from driftwise.base.files import require_regular_file
from driftwise.base.validation import ArgumentError, require_choice, require_count, suggest_name
from driftwise.online.decision_log import DecisionLog
from driftwise.online.encoding import Category, Encoder, Hashed
from driftwise.online.encoding.encoder import MOST_WORDS
from driftwise.online.replay.column_values import READERS, ColumnError, decode, has_words

SUFFIXES = (".csv", ".parquet")
_BLOCK_BYTES = 1 << 20
_MAX_ACTIONS = 1000


class TableBlock(NamedTuple):
    """The usable rows of a part of a table."""

    actions: np.ndarray  # [n] words
    rewards: np.ndarray  # [n]
    features: dict[str, np.ndarray]  # [n] each, of numbers or of words
    propensities: np.ndarray | None  # [n] probabilities of the logged actions
    times: np.ndarray | None  # [n] in seconds since 1970
    skipped: int  # rows with a value that is missing or not finite


class Survey(NamedTuple):
    """Facts about a table that a first reading collects."""

    rows: int  # usable ones
    skipped: int
    shares: dict[str, float]  # of the rows, by action
    encoder: Encoder  # of contexts
    least_propensity: float

    def arms(self, log: TableLog, block: TableBlock) -> np.ndarray:
        """Return the numbers of the actions of a block."""
        return number_actions(log, {action: i for i, action in enumerate(self.shares)}, block.actions)


@dataclass(frozen=True)
class TableLog:
    """A CSV or parquet file with a row for each decision, oldest first.

    Args:
      path: the file, which ends in `.csv` or `.parquet`.
      action: the column of the action that was taken, of any type; None if there is one action only.
      reward: the column of its reward.
      features: the columns of the context, known before the decision, of numbers, or of words, none of which
        reads as a number.
      propensity: the column with the probability at which the logging policy took that action, if known.
      time: the column of the time of the decision, if known: seconds since 1970, timestamps, or ISO 8601; it
        is needed by agents that forget by the clock.
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
    bytes_at_once: int = _BLOCK_BYTES

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
                values = {name: decode(batch.column(name)) for name in self.columns}
                for name in self.features:
                    if name not in words and (of_words := has_words(values[name])) is not None:
                        words[name] = of_words
                yield self._block(values, row, words, optional)
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

    def survey(self) -> Survey:
        """Read the log once: its actions, how often each was taken, and how its contexts are encoded."""
        counts: collections.Counter[str] = collections.Counter()
        rows, skipped, least, pilot = 0, 0, 1.0, dict[str, list[Any]]()
        for block in self.blocks():
            counts.update(block.actions.tolist())
            if len(counts) > _MAX_ACTIONS:
                most = f"must have at most {_MAX_ACTIONS:,} different values"
                raise ValueError(f"{self.path}: {self.action} {most}, got more")
            if self.encoder is None:
                for name, values in block.features.items():
                    pilot[name] = _words_or_range(name, values, pilot.get(name, []))
            rows, skipped = rows + len(block.rewards), skipped + block.skipped
            if block.propensities is not None:
                least = min(least, float(block.propensities.min(initial=1.0)))
        if not rows:
            problem = f"all {skipped:,} lack a value" if skipped else "it has none"
            raise ValueError(f"{self.path} must have at least one row to learn from, but {problem}")
        shares = {action: counts[action] / rows for action in sorted(counts)}
        if self.propensity is None:
            least = min(shares.values())
        encoder = self.encoder or Encoder.from_frame(pilot, self.features, deviations=None)
        return Survey(rows, skipped, shares, encoder, least)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        require_regular_file(self.path)  # it is read several times
        if Path(self.path).suffix.lower() == ".parquet":
            with parquet.ParquetFile(self.path) as file:
                self._require_columns(file.schema_arrow.names)
                rows = max(1, self.bytes_at_once // (8 * len(self.columns)))
                yield from file.iter_batches(batch_size=rows, columns=self.columns)
            return
        with csv.open_csv(self.path) as first_block:
            self._require_columns(first_block.schema.names)
        reading = csv.ReadOptions(block_size=self.bytes_at_once)
        types = dict.fromkeys(self.columns, pa.string())  # a type guessed from a block may not fit the next
        converting = csv.ConvertOptions(
            include_columns=self.columns, column_types=types, strings_can_be_null=True
        )
        with csv.open_csv(self.path, read_options=reading, convert_options=converting) as batches:
            yield from batches

    def _require_columns(self, names: list[str]) -> None:
        for name in self.columns:
            if names.count(name) != 1:
                problem = f"more than one column {name!r}" if name in names else f"no column {name!r}"
                close = "" if name in names else suggest_name(name, names)
                listed = ", ".join(map(repr, names[:20])) + f" and {len(names) - 20} more" * (len(names) > 20)
                commas = "; columns have to be separated by commas" if len(names) == 1 else ""
                raise ValueError(f"{self.path} has {problem}{close}; its columns are {listed}{commas}")

    def _block(
        self, given: Mapping[str, Any], first_row: int, words: Mapping[str, bool], optional: set[str]
    ) -> TableBlock:
        kinds = {self.reward: "numbers", self.propensity: "numbers"}
        kinds |= {name: "words" if words.get(name) else "numbers" for name in self.features}
        kinds |= {self.action: "words", self.time: "seconds"}
        columns = dict[str, np.ndarray]()
        for name, kind in kinds.items():
            if name is not None:
                try:
                    columns[name] = READERS[kind](given[name])
                except ColumnError as error:
                    row = "" if error.row is None else f" row {first_row + error.row}:"
                    raise ValueError(f"{self.path}:{row} {name} {error}") from None
        usable = np.ones(len(columns[self.reward]), dtype=bool)
        for name, values in columns.items():
            if name not in optional:
                usable &= values != None if values.dtype == object else np.isfinite(values)  # noqa: E711
        if self.propensity is not None:
            chances = columns[self.propensity]
            for row in np.flatnonzero(usable & ~((chances > 0) & (chances <= 1))):
                problem = f"{self.propensity} must be a probability in (0, 1], got {chances[row]:g}"
                raise ValueError(f"{self.path}: row {first_row + row}: {problem}")
        kept: dict[str | None, np.ndarray] = {name: values[usable] for name, values in columns.items()}
        rewards, actions = kept[self.reward], kept.get(self.action)
        return TableBlock(
            actions=np.full(len(rewards), "", dtype=object) if actions is None else actions,
            rewards=rewards,
            features={name: kept[name] for name in self.features},
            propensities=kept.get(self.propensity),
            times=kept.get(self.time),
            skipped=len(usable) - len(rewards),
        )


def changed_error(log: TableLog | DecisionLog) -> ValueError:
    """Return the error of a file that differs when it is read again."""
    return ValueError(f"{log.path} must stay as it is while it is read, but it has changed")


def number_actions(
    log: TableLog | DecisionLog, numbers: Mapping[str, int], actions: Iterable[str]
) -> np.ndarray:
    """Return the numbers of actions; one that was not there before is an error of the log."""
    try:
        return np.array([numbers[action] for action in actions], dtype=int)
    except KeyError:
        raise changed_error(log) from None


def _words_or_range(name: str, values: np.ndarray, before: list[Any]) -> list[Any]:
    """Return all words of a feature so far, or the smallest and the largest of its numbers."""
    if values.dtype == object:
        words = {*before, *values.tolist()}
        if len(words) > MOST_WORDS:
            most = f"{name} must have at most {MOST_WORDS:,} different words, got more"
            raise ValueError(f"{most}: take an encoder that hashes them")
        return [*words]
    numbers = np.append(values, before)
    return [float(numbers.min()), float(numbers.max())] if len(numbers) else []
