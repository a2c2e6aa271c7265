"""Columns of an encoder: each maps a value to a few numbers, whose squares sum to at most one."""

import functools
import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np

from driftwise.base.part import choice, count, member, record, scalar
from driftwise.base.validation import ArgumentError, require_range, suggest_name

Entries = Sequence[tuple[int, float]]  # places that are not 0, and their values
Missing = Literal["refuse", "zero", "own"]
_LARGEST_INTEGER = 1 << 64  # that is a word
_LARGEST_EDGE = 1e100  # of a number's range, whose width has to be finite
_LONGEST = 200  # characters of a value in an error


class Column(ABC):
    """A named column; a `missing` value is refused, is 0 in all places, or has one of its own, the last."""

    name: str
    missing: Missing

    @property
    @abstractmethod
    def places(self) -> tuple[str, ...]:
        """Names of the numbers that a value becomes."""

    @abstractmethod
    def entries(self, value: Any) -> Entries:
        """Return the entries of a value that is not missing."""

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all places, including that of missing values."""
        return (*self.places, f"{self.name} is missing") if self.missing == "own" else self.places

    def encode(self, row: Mapping[str, Any]) -> Entries:
        """Return the entries of a row."""
        try:
            value = row[self.name]
        except KeyError:
            listed = ", ".join(map(repr, row))[:_LONGEST] or "none"
            expected = f"have {self.name!r} among them{suggest_name(self.name, map(str, row))}"
            raise ArgumentError("columns", expected, row, listed) from None
        if not is_missing(value):
            return self.entries(value)
        if self.missing == "refuse":
            raise refuse_value(self.name, "be there", value)
        return ((len(self.names) - 1, 1.0),) if self.missing == "own" else ()


@record
class Number(Column):
    """A number, mapped from `[low, high]` to [−1, 1]; numbers outside are moved to the edge."""

    name: str = member(str)
    low: float = scalar(at_least=-_LARGEST_EDGE, at_most=_LARGEST_EDGE)
    high: float = scalar(at_least=-_LARGEST_EDGE, at_most=_LARGEST_EDGE)
    missing: Missing = choice("refuse", "zero", "own", default="refuse")

    def __post_init__(self) -> None:
        require_range(self.low, self.high)

    @property
    def places(self) -> tuple[str, ...]:
        return (self.name,)

    def entries(self, value: Any) -> Entries:
        place = 2 * (as_number(self.name, value) - self.low) / (self.high - self.low) - 1
        return ((0, min(max(place, -1.0), 1.0)),)


@record
class Cycle(Column):
    """A number on a circle, as an hour of the day: its cosine and sine."""

    name: str = member(str)
    period: float = scalar(above=0)
    missing: Missing = choice("refuse", "zero", "own", default="refuse")

    @property
    def places(self) -> tuple[str, ...]:
        return f"cos {self.name}", f"sin {self.name}"

    def entries(self, value: Any) -> Entries:
        angle = 2 * math.pi * math.fmod(as_number(self.name, value), self.period) / self.period
        return (0, math.cos(angle)), (1, math.sin(angle))


@record
class Category(Column):
    """A word, one-hot over `values`. Integers and booleans count as the words they print as."""

    name: str = member(str)
    values: tuple[str, ...]
    unknown: Literal["refuse", "zero", "own"] = choice("refuse", "zero", "own", default="zero")
    missing: Missing = choice("refuse", "zero", "own", default="refuse")

    def __post_init__(self) -> None:
        if not isinstance(self.values, (tuple, list)) or not self.values:
            raise ArgumentError("values", "list at least one word", self.values)
        words = tuple(as_word(self.name, value) for value in self.values)
        if len({*words}) < len(words):
            raise ArgumentError("values", "be different words", self.values)
        object.__setattr__(self, "values", words)

    @property
    def places(self) -> tuple[str, ...]:
        named = tuple(f"{self.name}={word}" for word in self.values)
        return (*named, f"{self.name} is unknown") if self.unknown == "own" else named

    @functools.cached_property
    def _place_of(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.values)}

    def entries(self, value: Any) -> Entries:
        word = as_word(self.name, value)
        place = self._place_of.get(word)
        if place is not None:
            return ((place, 1.0),)
        if self.unknown == "refuse":
            raise refuse_value(self.name, f"be one of {', '.join(self.values)[:_LONGEST]}", value)
        return ((len(self.values), 1.0),) if self.unknown == "own" else ()


@record
class Hashed(Column):
    r"""A word of an open set: $\pm 1$ in one of a few places, both drawn by its hash.

    Words share places with random signs, so that collisions cancel on average, and hashes are the same on
    every machine. Reference: Weinberger, Dasgupta, Langford, Smola & Attenberg, ICML 2009.
    """

    name: str = member(str)
    buckets: int = count(bits=14)
    missing: Missing = choice("refuse", "zero", "own", default="refuse")

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(f"{self.name}#{bucket}" for bucket in range(self.buckets))

    def entries(self, value: Any) -> Entries:
        word = f"{self.name}={as_word(self.name, value)}".encode(errors="surrogatepass")
        number = int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
        return ((number // 2 % self.buckets, 1.0 - 2 * (number % 2)),)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, or not equal to itself, as NaN is."""
    try:
        return value is None or bool(value != value)
    except (ArithmeticError, TypeError):  # the missing values of decimals and of pandas, which are neither
        return True
    except ValueError:  # an array
        return False


def as_number(column: str, value: Any) -> float:
    """Return a finite number; booleans are 0 and 1."""
    if type(value) is not float:
        if not isinstance(value, (Real, Decimal, np.bool_)):
            raise refuse_value(column, "be a number", value)
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not math.isfinite(value):
        raise refuse_value(column, "be a finite number", value)
    return value


def as_word(column: str, value: Any) -> str:
    """Return a word; whole numbers that a data frame converted to floats are integers."""
    if isinstance(value, (str, bool, np.bool_)):
        return str(value)
    if isinstance(value, Real):
        number: Any = value
        if abs(number) < _LARGEST_INTEGER and number == int(number):
            return str(int(number))
    raise refuse_value(column, "be a word, an integer or a boolean", value)


def refuse_value(column: str, expected: str, value: Any) -> ArgumentError:
    """Return the error of a value that its column does not take."""
    try:
        got = repr(value)[:_LONGEST]
    except ValueError:  # an integer with too many digits
        got = f"a large {type(value).__name__}"
    return ArgumentError(f"column {column!r}", expected, value, got)
