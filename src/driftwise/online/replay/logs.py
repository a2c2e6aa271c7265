"""Logged decisions, read in blocks: a log may be larger than the memory."""

from __future__ import annotations

import collections
import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from driftwise.base.files import require_regular
from driftwise.base.times import LATEST
from driftwise.base.validation import ArgumentError, nearest, require_choice, require_count
from driftwise.online.encoding import Category, Encoder, Hashed
from driftwise.online.limits import LARGEST_REWARD
from driftwise.online.replay.cells import are_words, as_floats, as_seconds, as_words, reads_as_number, texts
from driftwise.online.replay.contexts import Seen

BYTES_AT_ONCE = 1 << 20
SUFFIXES = (".csv", ".parquet")
MAX_ACTIONS = 1000
COLUMNS = ("action", "reward", "features", "propensity", "time")


class Events(NamedTuple):
    """The usable rows of a block."""

    actions: np.ndarray  # [n] words
    rewards: np.ndarray  # [n]
    features: dict[str, np.ndarray]  # [n] each, of numbers or of words
    propensities: np.ndarray | None  # [n] the chance that the logged action had
    times: np.ndarray | None  # [n] in seconds since 1970
    skipped: int  # rows of the block with a value that is missing or not finite


class Survey(NamedTuple):
    """Facts about a log that have to be known before it is replayed."""

    rows: int  # usable ones
    skipped: int
    actions: dict[str, float]  # their shares of the rows, in order
    encoder: Encoder  # of contexts
    least_propensity: float

    def arms(self, log: Log, events: Events) -> np.ndarray:
        """The numbers of the actions of a block."""
        numbers = {action: number for number, action in enumerate(self.actions)}
        if not numbers.keys() >= set(events.actions):
            raise log.changed()
        return np.array([numbers[action] for action in events.actions], dtype=int)

    def propensities(self, events: Events, arms: np.ndarray) -> np.ndarray:
        """Propensities of the logged actions, as they were logged, or else their shares of the whole log."""
        if events.propensities is not None:
            return events.propensities
        return np.array(list(self.actions.values()))[arms]


@dataclass(frozen=True)
class Log:
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
      encoder: what becomes of the features; by default numbers are scaled from their range in the log to
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
    bytes_at_once: int = BYTES_AT_ONCE

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        named = self.features if self.encoder is None else [each.name for each in self.encoder.columns]
        if self.encoder is not None and self.features and {*self.features} != {*named}:
            raise ArgumentError("features", "be the columns of the encoder, or left out", self.features)
        object.__setattr__(self, "features", tuple(named))
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
        named = self.action, self.reward, *self.features, self.propensity, self.time
        return [name for name in named if name is not None]

    @property
    def has_propensities(self) -> bool:
        """Whether the log says with which probability actions were taken."""
        return self.propensity is not None

    def described(self) -> dict[str, Any]:
        """Plain values that say what is read."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        encoder = None if self.encoder is None else self.encoder.to_table()
        return {"log": str(self.path)} | columns | {"encoder": encoder}

    def events(self) -> Iterator[Events]:
        """The rows of the file, block by block; a feature's first values say whether it is one of words."""
        row, columns = 1, () if self.encoder is None else self.encoder.columns
        words = {column.name: isinstance(column, Category | Hashed) for column in columns}
        with self._blamed():
            for batch in self._batches():
                for name in (each for each in self.features if each not in words):
                    found = are_words(batch.column(name))
                    if found is not None:
                        words[name] = found
                yield self._events(batch, row, words)
                row += batch.num_rows

    def survey(self) -> Survey:
        """Read the log once: its actions, how often each was taken, and how its contexts are encoded."""
        counts: collections.Counter[str] = collections.Counter()
        rows, skipped, least, contexts = 0, 0, 1.0, Seen()
        for events in self.events():
            counts.update(events.actions.tolist())
            if len(counts) > MAX_ACTIONS:
                most = f"must have at most {MAX_ACTIONS:,} different values"
                raise ValueError(f"{self.path}: {self.action} {most}, got more")
            if self.encoder is None:
                contexts.add(events.features)
            rows, skipped = rows + len(events.rewards), skipped + events.skipped
            if events.propensities is not None:
                least = min(least, float(events.propensities.min(initial=1.0)))
        if not rows:
            problem = f"all {skipped:,} lack a value" if skipped else "it has none"
            raise ValueError(f"{self.path} must have at least one row to learn from, but {problem}")
        shares = {action: counts[action] / rows for action in sorted(counts)}
        if self.propensity is None:
            least = min(shares.values())
        encoder = contexts.encoder(self.features) if self.encoder is None else self.encoder
        return Survey(rows, skipped, shares, encoder, least)

    def changed(self) -> ValueError:
        """The error of a file that is not the same when it is read again."""
        return ValueError(f"{self.path} must stay as it is while it is read, but it has changed")

    @contextlib.contextmanager
    def _blamed(self) -> Iterator[None]:
        try:
            yield
        except pa.ArrowException as error:
            raise ValueError(f"{self.path} cannot be read: {' '.join(str(error).split())}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{self.path} cannot be read: it is not text in UTF-8") from None
        except OSError as error:
            reason = error.strerror or error
            raise ValueError(f"{self.path} cannot be read: {reason}") from None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        require_regular(self.path)  # it is read several times
        if Path(self.path).suffix.lower() == ".parquet":
            with parquet.ParquetFile(self.path) as file:
                self._require_columns(file.schema_arrow.names)
                rows = max(1, self.bytes_at_once // (8 * len(self.columns)))
                yield from file.iter_batches(batch_size=rows, columns=self.columns)
            return
        with csv.open_csv(self.path) as shown:
            self._require_columns(shown.schema.names)
        reading = csv.ReadOptions(block_size=self.bytes_at_once)
        words = dict.fromkeys(self.columns, pa.string())  # a type guessed from a block may not fit the next
        converting = csv.ConvertOptions(
            include_columns=self.columns, column_types=words, strings_can_be_null=True
        )
        with csv.open_csv(self.path, read_options=reading, convert_options=converting) as blocks:
            yield from blocks

    def _require_columns(self, names: list[str]) -> None:
        for name in (each for each in self.columns if names.count(each) != 1):
            problem = f"more than one column {name!r}" if name in names else f"no column {name!r}"
            close = "" if name in names else nearest(name, names)
            listed = ", ".join(map(repr, names[:20])) + f" and {len(names) - 20} more" * (len(names) > 20)
            commas = "; columns have to be separated by commas" if len(names) == 1 else ""
            raise ValueError(f"{self.path} has {problem}{close}; its columns are {listed}{commas}")

    def _events(self, batch: pa.RecordBatch, first_row: int, words: dict[str, bool]) -> Events:
        names = [name for name in (self.reward, self.propensity) if name is not None]
        numbers = {name: self._numbers(batch, name, first_row) for name in names}
        features = {
            name: as_words(batch.column(name)) if words.get(name) else self._numbers(batch, name, first_row)
            for name in self.features
        }
        unnamed = np.full(batch.num_rows, "", dtype=object)
        actions = unnamed if self.action is None else as_words(batch.column(self.action))
        times = None if self.time is None else self._times(batch, self.time, first_row)
        needed = [each for name, each in features.items() if name not in self._optional]
        needed += [*numbers.values(), *(() if times is None else (times,)), actions]
        usable = np.logical_and.reduce([_present(each) for each in needed])
        chances = None if self.propensity is None else numbers[self.propensity]
        if chances is not None:
            for i in np.flatnonzero(usable & ~((chances > 0) & (chances <= 1))):
                found = f"{self.propensity} must be a probability in (0, 1], got {chances[i]:g}"
                raise self._wrong(first_row + i, found)
            chances = chances[usable]
        features = {name: each[usable] for name, each in features.items()}
        rewards, skipped = numbers[self.reward][usable], int((~usable).sum())
        times = None if times is None else times[usable]
        return Events(actions[usable], rewards, features, chances, times, skipped)

    @property
    def _optional(self) -> set[str]:
        """Features whose encoder knows what to do where they are missing."""
        columns = () if self.encoder is None else self.encoder.columns
        return {column.name for column in columns if column.missing != "refuse"}

    def _times(self, batch: pa.RecordBatch, name: str, first_row: int) -> np.ndarray:
        column = batch.column(name)
        try:
            times = as_seconds(column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            kinds = "seconds since 1970, timestamps, or ISO 8601"
            found = f"{name} must be times ({kinds}), got {column[0].as_py()!r}"
            raise self._wrong(first_row, found) from None
        for i in np.flatnonzero(np.isfinite(times) & (np.abs(times) > LATEST)):
            found = f"{name} must be seconds since 1970, within ±{LATEST:g}, got {times[i]:g}"
            raise self._wrong(first_row + i, found)
        return times

    def _numbers(self, batch: pa.RecordBatch, name: str, first_row: int) -> np.ndarray:
        """A column as float64, NaN where it is missing."""
        column = texts(batch.column(name))
        try:
            numbers = as_floats(column)
        except pa.ArrowNotImplementedError:
            raise ValueError(f"{self.path}: {name} must be a column of numbers, got {column.type}") from None
        except pa.ArrowInvalid:
            i = next(i for i, word in enumerate(column) if not reads_as_number(word))
            raise self._wrong(first_row + i, f"{name} must be a number, got {column[i].as_py()!r}") from None
        for i in np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) > LARGEST_REWARD)):
            found = f"{name} must lie between ±{LARGEST_REWARD:g}, got {numbers[i]:g}"
            raise self._wrong(first_row + i, found)
        return numbers

    def _wrong(self, row: Any, why: str) -> ValueError:
        return ValueError(f"{self.path}: row {row}: {why}")


def _present(values: np.ndarray) -> np.ndarray:
    """Whether each value is there."""
    return values != None if values.dtype == object else np.isfinite(values)  # noqa: E711
