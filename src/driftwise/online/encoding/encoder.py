"""An encoder of rows of a table as features in the unit ball, and its fit to a pilot."""

import functools
import itertools
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from driftwise.base import ArgumentError, from_config, record, to_config
from driftwise.base.files import require_regular_file
from driftwise.base.schema import build_from_table, prefix_errors
from driftwise.base.validation import format_value, require_instance, require_number, suggest_name
from driftwise.online.encoding.columns import Column, as_number, as_word, is_missing
from driftwise.online.features import MOST_FEATURES

MOST_WORDS = 1000  # of a category


@record
class Encoder:
    r"""Features of rows, which map columns to values: a basis that is saved with its agent.

    ```python
    encoder = Encoder.from_table({"columns": {"hour": {"type": "Cycle", "period": 24}}})
    encoder({"hour": 13})  # [dim]
    ```

    A term is the `constant` 1, one of the `columns`, or a product of the columns named by one of the
    `interactions`. The squares of its numbers sum to at most 1, and all are divided by the root of the number
    of terms, so that every row lies in the unit ball. Other columns are left out.
    """

    columns: tuple[Column, ...] = ()
    interactions: tuple[tuple[str, ...], ...] = ()
    constant: bool = True

    def __post_init__(self) -> None:
        for name, values in (("columns", self.columns), ("interactions", self.interactions)):
            if not isinstance(values, (tuple, list)):
                raise ArgumentError(name, "be a list", values)
        columns = tuple(require_instance("columns", column, Column) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        names = [column.name for column in columns]
        if len({*names}) < len(names):
            raise ArgumentError("columns", "have different names", names)
        require_instance("constant", self.constant, bool)
        for product in self.interactions:
            if not isinstance(product, (tuple, list)) or len(product) < 2:
                raise ArgumentError("interactions", "list the names of two columns or more", product)
            for name in product:
                if name not in names:
                    got = f"{name!r}{suggest_name(name, names)}"
                    raise ArgumentError("interactions", f"name columns, of {', '.join(names)}", name, got)
        object.__setattr__(self, "interactions", tuple(map(tuple, self.interactions)))
        if not 0 < self.dim <= MOST_FEATURES:
            expected = f"make at least one feature and at most {MOST_FEATURES:,}"
            raise ArgumentError("columns", expected, columns, f"{self.dim:,} of them")

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Return the encoder of `columns`, tables by name, and of `interactions` and `constant`, if given.

        `{"columns": {"hour": {"type": "Number", "low": 0, "high": 24}}, "interactions": [["hour", "shop"]]}`
        """
        content = dict(require_instance("table", table, Mapping))
        if "columns" in content:
            columns = require_instance("columns", content["columns"], Mapping)
            content["columns"] = [_make_column(name, column) for name, column in columns.items()]
        return build_from_table(cls, content)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Return the encoder of a TOML file, whose content is as for `from_table`."""
        require_regular_file(path)
        with prefix_errors(os.fspath(path)):
            return cls.from_table(tomllib.loads(Path(path).read_text(encoding="utf-8-sig")))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        columns: Any = None,
        *,
        interactions: Any = (),
        constant: bool = True,
        deviations: float | None = 3.0,
    ) -> Self:
        """Return an encoder fitted to a pilot: a data frame, lists by the names of columns, or rows.

        Args:
          columns: names of columns, by default all of them; or tables by their names, as for `from_table`,
            of which only the missing settings are learnt: a `type` is a `Number` or, for words, a `Category`.
          deviations: how many standard deviations around its mean a `Number` covers; None for its range.
        """
        if deviations is not None:
            require_number("deviations", deviations, above=0)
        if isinstance(frame, (list, tuple)):  # rows, some of which may lack a column
            names = dict.fromkeys(name for row in frame for name in require_instance("row", row, Mapping))
            frame = {name: [row.get(name) for row in frame] for name in names}
        chosen = list(frame) if columns is None else columns
        tables = chosen if isinstance(chosen, Mapping) else {name: {} for name in chosen}
        fitted = [_fit_column(frame, name, table, deviations) for name, table in tables.items()]
        return cls(tuple(fitted), interactions, constant)

    def to_table(self) -> dict[str, Any]:
        """Return plain values from which `from_table` makes the same encoder."""
        described = to_config(self)
        columns = {column.pop("name"): column for column in described.pop("columns")}
        return {"columns": columns} | {key: value for key, value in described.items() if key != "type"}

    @property
    def dim(self) -> int:
        """Number of features."""
        return self._places[1]

    @property
    def names(self) -> list[str]:
        """Names of the features, as `hour × country=DE`."""
        products = (itertools.product(*(column.names for column in term)) for term in self._terms)
        return [" × ".join(names) or "1" for product in products for names in product]

    def __call__(self, row: Mapping[str, Any]) -> np.ndarray:
        """Return the features `[dim]` of a row."""
        if not isinstance(row, Mapping):
            raise ArgumentError("row", "map columns to values", row)
        places, dim = self._places
        vector = np.zeros(dim)
        entries = {column.name: column.encode(row) for column in self.columns}
        scale = 1 / math.sqrt(len(self._terms))
        for first, factors in places:
            product = [(first, scale)]
            for name, size in factors:
                product = [(i + size * j, u * v) for i, u in product for j, v in entries[name]]
            for i, u in product:
                vector[i] = u
        return vector

    def rows(self, table: Any) -> np.ndarray:
        """Return features `[n, dim]` of a data frame, of lists by the names of columns, or of rows."""
        features = []
        for number, row in enumerate(iterate_rows(table, [column.name for column in self.columns])):
            with prefix_errors(f"row {number}"):
                features.append(self(row))
        return np.array(features).reshape(-1, self.dim)

    @functools.cached_property
    def _terms(self) -> list[tuple[Column, ...]]:
        """The factors of each term; the constant has none."""
        columns = {column.name: column for column in self.columns}
        products = [tuple(columns[name] for name in names) for names in self.interactions]
        return [()] * self.constant + [(column,) for column in self.columns] + products

    @functools.cached_property
    def _places(self) -> tuple[list[tuple[int, list[tuple[str, int]]]], int]:
        """The place of each term's first feature, and the steps of its factors; the number of features."""
        first, placed = 0, []
        for term in self._terms:
            size, factors = 1, list[tuple[str, int]]()
            for column in reversed(term):
                factors.append((column.name, size))
                size *= len(column.names)
            placed.append((first, factors))
            first += size
        return placed, first


def _make_column(name: str, table: Any) -> Column:
    if not isinstance(table, Mapping):
        raise ArgumentError(f"columns.{name}", "be a table", table)
    with prefix_errors(f"columns.{name}", ("type",)):
        return require_instance("type", from_config({**table, "name": name}), Column)


def iterate_rows(table: Any, names: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a list, or of columns by their names, as of a data frame."""
    if isinstance(table, (list, tuple)):
        yield from table
        return
    columns = [_read_column(table, name) for name in names]
    lengths = [len(column) for column in columns]
    if len({*lengths}) > 1:
        raise ArgumentError("columns", "have one length", table, f"{lengths}")
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _fit_column(frame: Any, name: str, table: Any, deviations: float | None) -> Column:
    """Return the column of a table of settings, completed from a pilot."""
    values = _read_column(frame, name)
    known = [value for value in values if not is_missing(value)]
    if not known:
        raise ArgumentError("frame", f"have values in its column {name!r}", frame, "none")
    table = dict(require_instance(f"columns.{name}", table, Mapping))
    if len(known) < len(values) and table.get("missing", "refuse") == "refuse":
        got = f"'refuse', where {len(values) - len(known)} of {len(values)} values are missing"
        raise ArgumentError(f"columns.{name}.missing", "be 'zero' or 'own'", "refuse", got)
    if "type" not in table:
        words = all(isinstance(value, str) for value in known)
        table["type"] = "Category" if words else "Number"
        for value in known:
            if not words and not isinstance(value, (Real, Decimal, np.bool_)):
                got = f"{format_value(value)}: make numbers of it, as its hour, or say its type"
                raise ArgumentError(f"column {name!r}", "be of numbers, booleans or words", value, got)
    if table["type"] == "Number" and not {"low", "high"} <= table.keys():
        numbers = np.array([as_number(name, value) for value in known])
        low, high = float(numbers.min()), float(numbers.max())
        if all(isinstance(value, (bool, np.bool_)) for value in known):
            low, high = 0.0, 1.0
        elif low == high:  # a number that never varies becomes 0
            margin = max(1.0, abs(low))  # 1 is less than the rounding of a large number
            low, high = low - margin, high + margin
        elif deviations is not None:
            mean, reach = float(numbers.mean()), deviations * float(numbers.std())
            low, high = mean - reach, mean + reach
        table = {"low": low, "high": high} | table
    if table["type"] == "Category" and "values" not in table:
        words = sorted({as_word(name, value) for value in known})
        if len(words) > MOST_WORDS:
            expected = f"be 'Hashed' beyond {MOST_WORDS:,} different words"
            raise ArgumentError(f"columns.{name}.type", expected, "Category", f"{len(words):,} of them")
        table["values"] = words
    return _make_column(name, table)


def _read_column(table: Any, name: str) -> list[Any]:
    try:
        return list(table[name])
    except (KeyError, IndexError, TypeError, ValueError):  # as its library puts it
        known: Iterable[str] = map(str, table) if isinstance(table, Iterable) else ()
        got = f"{type(table).__name__} without it{suggest_name(name, known)}"
        raise ArgumentError("columns", f"have {name!r} among them", table, got) from None


class ArmBlocks(NamedTuple):
    """Features of arms in parts: those whose weights all arms share, and those with weights in slots."""

    shared: np.ndarray | None  # [num_arms, p]
    own: np.ndarray | None  # [num_arms, q]
    slots: list[int]  # of the arms; empty without `own`
    num_slots: int

    @property
    def features(self) -> np.ndarray:
        """`φ = (shared, e_slot ⊗ own)`, over √2 where there are both: `[num_arms, dim]`."""
        if self.own is None:
            assert self.shared is not None
            return self.shared
        num_arms, num_own = self.own.shape
        blocks = np.zeros((num_arms, self.num_slots, num_own))
        blocks[np.arange(num_arms), self.slots] = self.own
        rows = blocks.reshape(num_arms, -1)
        return rows if self.shared is None else np.hstack([self.shared, rows]) / np.sqrt(2)
