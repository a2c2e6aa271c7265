"""Checks of arguments: each failure is one sentence with the argument, the expectation and the value."""

import contextlib
import difflib
import json
import math
import numbers
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_LONGEST = 200  # characters of a value in a message
_FEW = 6  # names that a message lists before it says which one was given


class ArgumentError(ValueError):
    """An argument that cannot be used: "{argument} must {expected}, got {value!r}".

    `got` says the value in other words where its own do not say enough, or adds to them.
    """

    def __init__(self, argument: str, expected: str, value: Any, got: str | None = None) -> None:
        self.args = argument, expected, value, got  # so that it can be pickled
        self.argument, self.expected, self.value = argument, expected, value
        self.got = format_value(value) if got is None else got

    def __str__(self) -> str:
        return f"{self.argument} must {self.expected}, got {self.got}"

    def under(self, path: str) -> "ArgumentError":
        """Return the error for an argument at a path of a file, such as `environment.drift`."""
        return ArgumentError(f"{path}.{self.argument}", self.expected, self.value, self.got)


def format_value(value: Any) -> str:
    """A value as Python writes it, cut short where that is long, and on one line."""
    text = repr(value)
    return text if len(text) <= _LONGEST and "\n" not in text else f"{' '.join(text.split())[:_LONGEST]}…"


@contextlib.contextmanager
def overflow_errors(owner: str, given: Mapping[str, Any]) -> Iterator[None]:
    """Numbers `given` that cannot be computed with in here are a `ValueError` of their owner."""
    try:
        with np.errstate(all="ignore"):
            yield
    except ArithmeticError as error:
        sizes = [f"{name} = {value!r}" for name, value in given.items() if isinstance(value, numbers.Real)]
        why = f"({error.args[-1]})" if error.args else ""
        text = f"{owner}: its numbers are too large or too small to compute with {why}"
        raise ValueError(f"{text}, got {', '.join(sizes)}") from None


def require_count(name: str, value: Any, *, at_least: int = 1, bits: int = 64) -> int:
    """An integer in `[at_least, 2^bits)`; booleans and floats are refused, NumPy integers accepted."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < at_least:
        expected = "a positive integer" if at_least == 1 else f"an integer of at least {at_least}"
        raise ArgumentError(name, f"be {expected}", value)
    if int(value) >= 1 << bits:
        raise ArgumentError(name, f"be an integer below 2^{bits}", value)
    return int(value)


def require_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """One of a few words; a near miss is named."""
    if not isinstance(value, str) or value not in choices:
        raise choice_error(name, value, choices)
    return value


def choice_error(name: str, value: Any, choices: Sequence[str], besides: str = "") -> ArgumentError:
    """The error of a word that is not among the choices; a long list of them comes last."""
    listed, got = ", ".join(choices), f"{format_value(value)}{suggest_name(value, choices)}"
    if len(choices) <= _FEW:
        return ArgumentError(name, f"be one of {listed}{besides}", value, got)
    return ArgumentError(name, f"be one of {len(choices)} names{besides}", value, f"{got}; they are {listed}")


def suggest_name(value: Any, choices: Iterable[str]) -> str:
    """` (did you mean 'x'?)`, or nothing where no choice is close."""
    close = difflib.get_close_matches(str(value), list(choices), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def require_numeric(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
) -> Any:
    """A finite number within bounds, or an array of them (a grid), as hashable nested tuples."""
    least, most = -math.inf if at_least is None else at_least, math.inf if at_most is None else at_most
    below = -math.inf if above is None else above
    is_one = type(value) in ((int,) if integer else (int, float)) and abs(value) < 2**53
    if is_one and least <= value <= most and value > below:  # usually: no array
        return value if integer else float(value)
    kind, lowest = "an integer" if integer else "a number", at_least if above is None else above
    if lowest is None:
        expected = f"be a finite {kind.split()[1]}"
    elif at_most is None:
        expected = f"be {kind} {'of at least' if above is None else 'above'} {lowest:g}"
    else:
        expected = f"be {kind} in {'[' if above is None else '('}{lowest:g}, {at_most:g}]"
    array = as_array(value)
    if array.dtype.kind not in ("iu" if integer else "iuf") or array.size == 0:
        raise ArgumentError(name, expected, value)
    array = array.astype(np.float64) if array.dtype.kind == "f" else array  # bounds may be beyond float32
    bad = ~(np.isfinite(array) & (array > below) & (array >= least) & (array <= most))
    if bad.any():
        raise ArgumentError(name, expected, array[bad].flat[0].item())
    return to_nested_tuple(array.tolist() if integer else array.astype(float).tolist())


def require_number(name: str, value: Any, **bounds: Any) -> Any:
    """One finite number within the bounds of `require_numeric`; no grid."""
    number = require_numeric(name, value, **bounds)
    if isinstance(number, tuple):
        raise ArgumentError(name, "be a single number", value)
    return number


def require_instance(name: str, value: Any, kind: type) -> Any:
    """An instance of a class or protocol (and not the class itself)."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise ArgumentError(name, f"be {add_article(kind.__name__)}", value)
    return value


def require_range(low: Any, high: Any) -> None:
    """`low` is below `high`; both may be grids."""
    if np.any(np.less_equal(high, low)):
        raise ArgumentError("high", "be above low", high, f"low {low!r} and high {high!r}")


def require_array(name: str, value: Any, shape: Sequence[int | None]) -> np.ndarray:
    """A finite float64 array; `None` in the shape leaves that axis free. The caller's array is not kept."""
    array = as_array(value)
    if array.dtype.kind not in "iuf":
        raise ArgumentError(name, "be an array of numbers", value)
    array = array.astype(np.float64)
    pairs = zip(shape, array.shape, strict=False)
    if array.ndim != len(shape) or any(want not in (None, have) for want, have in pairs):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ArgumentError(name, f"have shape ({wanted})", value, str(array.shape))
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ArgumentError(name, "be finite", value, f"{array[where]} at index {where}")
    return array


def as_array(value: Any) -> np.ndarray:
    """A value as an array; a ragged list is one of objects."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array(value, dtype=object)


def add_article(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[:1] in 'AEIOU' else 'a'} {noun}"


def to_nested_tuple(value: Any) -> Any:
    """Nested lists as tuples."""
    return tuple(to_nested_tuple(item) for item in value) if isinstance(value, list) else value


def require_plain(name: str, values: Any) -> dict[str, Any]:
    """Return a copy of a dictionary of plain values, which survive JSON unchanged."""
    with contextlib.suppress(RecursionError, TypeError, ValueError):  # it has no such values
        copied = json.loads(json.dumps(dict(values), allow_nan=False))
        if isinstance(values, Mapping) and copied == values:
            return copied
    expected = "be a dictionary of words, numbers, lists and dictionaries"
    raise ArgumentError(name, expected, values, textwrap.shorten(repr(values), 300, placeholder=" …"))
