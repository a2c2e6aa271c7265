"""An encoder: rows of a table as features in the unit ball."""

from __future__ import annotations

import functools
import itertools
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.base.files import require_regular
from driftwise.base.making import errors_under, make
from driftwise.base.part import from_config, record, to_config
from driftwise.base.validation import ArgumentError, nearest, require_kind
from driftwise.online.encoding.columns import Column
from driftwise.online.encoding.pilots import learnt_columns, rows_of
from driftwise.online.features import MOST_FEATURES


@record
class Encoder:
    r"""Features of rows, which map columns to values: a basis that is saved with its agent.

    ```python
    encoder = Encoder.from_table({"columns": {"hour": {"type": "Cycle", "period": 24}}})
    encoder({"hour": 13})  # [dim]
    ```

    A term is a product of columns: of none, which is the `constant` 1, of one, for each of `columns`, or of
    several, for each of `interactions`, which name them. Each column becomes numbers whose squares sum to at
    most 1, and so do products; all are divided by the root of the number of terms. So every row lies in the
    unit ball, and the same value always becomes the same numbers. Columns that the encoder does not know are
    left out.
    """

    columns: tuple[Column, ...] = ()
    interactions: tuple[tuple[str, ...], ...] = ()
    constant: bool = True

    def __post_init__(self) -> None:
        for each in ("columns", "interactions"):
            if not isinstance(getattr(self, each), (tuple, list)):
                raise ArgumentError(each, "be a list", getattr(self, each))
        columns = tuple(require_kind("columns", column, Column) for column in self.columns)
        object.__setattr__(self, "columns", columns)
        names = [column.name for column in columns]
        if len({*names}) < len(names):
            raise ArgumentError("columns", "have different names", names)
        require_kind("constant", self.constant, bool)
        object.__setattr__(
            self, "interactions", tuple(_interaction(each, names) for each in self.interactions)
        )
        if not 0 < self.dim <= MOST_FEATURES:
            expected = f"make at least one feature and at most {MOST_FEATURES:,}"
            raise ArgumentError("columns", expected, columns, f"{self.dim:,} of them")

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Encoder:
        """The encoder of `columns`, tables by their names, and of `interactions` and `constant`, if given.

        `{"columns": {"hour": {"type": "Number", "low": 0, "high": 24}}, "interactions": [["hour", "shop"]]}`
        """
        content = dict(require_kind("table", table, Mapping))
        if "columns" in content:
            columns = require_kind("columns", content["columns"], Mapping)
            content["columns"] = [_column(name, each) for name, each in columns.items()]
        return make(cls, content)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Encoder:
        """The encoder of a TOML file, whose content is as for `from_table`."""
        require_regular(path)
        with errors_under(os.fspath(path)):
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
    ) -> Encoder:
        """An encoder that is learnt from a pilot: a data frame, lists by the names of columns, or rows.

        Args:
          frame: the pilot.
          columns: names of columns, all that there are unless given; or tables by their names, as for
            `from_table`, of which only what they do not say is learnt. Without a `type`, numbers and booleans
            are a `Number`, words a `Category`.
          interactions, constant: as of the encoder.
          deviations: how many standard deviations around its mean a `Number` tells apart, or None for the
            range that it has in the pilot. Booleans go from 0 to 1.
        """
        learnt = [_column(*each) for each in learnt_columns(frame, columns, deviations)]
        return cls(tuple(learnt), interactions, constant)

    def to_table(self) -> dict[str, Any]:
        """Plain values from which `from_table` makes the encoder again."""
        described = to_config(self)
        columns = {column.pop("name"): column for column in described.pop("columns")}
        return {"columns": columns} | {key: each for key, each in described.items() if key != "type"}

    @property
    def dim(self) -> int:
        """Number of features."""
        return self._dim

    @functools.cached_property
    def _dim(self) -> int:
        return sum(math.prod(len(column.names) for column in term) for term in self._terms)

    @property
    def names(self) -> list[str]:
        """Names of the features, as `hour × country=DE`."""
        products = (itertools.product(*(column.names for column in term)) for term in self._terms)
        return [" × ".join(each) or "1" for product in products for each in product]

    def __call__(self, row: Mapping[str, Any]) -> np.ndarray:
        """Features `[dim]` of a row."""
        if not isinstance(row, Mapping):
            raise ArgumentError("row", "map columns to values", row)
        vector = np.zeros(self._dim)
        found = {column.name: column.encode(row) for column in self.columns}
        for first, factors in self._places:
            product = [(first, self._scale)]
            for name, size in factors:
                product = [(i + size * j, u * v) for i, u in product for j, v in found[name]]
            for i, u in product:
                vector[i] = u
        return vector

    def rows(self, table: Any) -> np.ndarray:
        """Features `[n, dim]` of a data frame, of lists by the names of columns, or of a list of rows."""
        made = []
        for number, row in enumerate(rows_of(table, [column.name for column in self.columns])):
            with errors_under(f"row {number}"):
                made.append(self(row))
        return np.array(made).reshape(-1, self.dim)

    @functools.cached_property
    def _terms(self) -> list[tuple[Column, ...]]:
        """Factors of each term; those of the constant are none."""
        columns = {column.name: column for column in self.columns}
        products = [tuple(columns[name] for name in names) for names in self.interactions]
        return [()] * self.constant + [(column,) for column in self.columns] + products

    @functools.cached_property
    def _scale(self) -> float:
        return 1 / math.sqrt(len(self._terms))

    @functools.cached_property
    def _places(self) -> list[tuple[int, list[tuple[str, int]]]]:
        """The place of each term's first feature, and the steps of its factors, the last the smallest."""
        first, placed = 0, []
        for term in self._terms:
            size, factors = 1, list[tuple[str, int]]()
            for column in reversed(term):
                factors.append((column.name, size))
                size *= len(column.names)
            placed.append((first, factors))
            first += size
        return placed


def _column(name: str, table: Any) -> Column:
    if not isinstance(table, Mapping):
        raise ArgumentError(f"columns.{name}", "be a table", table)
    with errors_under(f"columns.{name}", ("type",)):
        return require_kind("type", from_config({**table, "name": name}), Column)


def _interaction(names: Any, known: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(names, (tuple, list)) or len(names) < 2:
        raise ArgumentError("interactions", "list the names of two columns or more", names)
    for name in names:
        if name not in known:
            expected = f"name columns, of {', '.join(known)}"
            raise ArgumentError("interactions", expected, name, f"{name!r}{nearest(name, known)}")
    return tuple(names)
