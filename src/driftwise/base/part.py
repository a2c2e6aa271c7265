"""Parts: the frozen dataclasses that algorithms are put together from.

A part prints, compares, hashes, and maps to and from a plain dictionary. Its numeric fields may hold a grid
(nested tuples of numbers), and are leaves of compiled programs; all other fields are part of their structure.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from driftwise.base import validation
from driftwise.base.extras import LOADERS
from driftwise.base.plugins import load_plugins, require_unique_name
from driftwise.base.schema import build_from_table
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_instance, to_nested_tuple

_T = TypeVar("_T", bound=type)

MAX_BITS = 62  # of an integer that arrays may be as long as
PARTS: dict[str, type] = {}
CONFIGURABLE: dict[str, type] = {"Spec": Spec}  # all that `from_config` can make


def number(*, or_part: type | None = None, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A numeric field within the bounds of `require_numeric`: one value, a grid, or a part of that kind."""

    def check(name: str, value: Any) -> Any:
        if or_part is not None and is_part(value):
            return require_instance(name, value, or_part)
        return validation.require_numeric(name, value, **bounds)

    return _checked(check, default, numeric=True)


def scalar(*, default: Any = dataclasses.MISSING, **bounds: float) -> Any:
    """A field of one number within the bounds of `require_number`; it is part of the structure."""
    return _checked(partial(validation.require_number, **bounds), default)


def count(*, default: Any = dataclasses.MISSING, largest: bool = False, **limits: int) -> Any:
    """A field of one integer within the limits of `require_count`; stacked parts may take the `largest`."""
    return _checked(partial(validation.require_count, **{"bits": 63, **limits}), default, largest=largest)


def choice(*choices: str, default: str) -> Any:
    """A field that takes one of a few words."""
    return _checked(partial(validation.require_choice, choices=choices), default)


def member(kind: type, *, stacked: bool = False, default: Any = dataclasses.MISSING) -> Any:
    """A field that takes another part, or anything else of one kind; with `default=None` it may be left out.

    `stacked` parts, alike but for their numbers, are one part with a leading axis in them: `stack_parts`.
    """

    def check(name: str, value: Any) -> Any:
        return None if value is None and default is None else require_instance(name, value, kind)

    return _checked(check, default, stacked=stacked)


def members(kind: type) -> Any:
    """A field of a record that takes one thing or more of one kind."""

    def check(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list)) or not value:
            raise ArgumentError(name, f"list at least one {kind.__name__}", value)
        return tuple(require_instance(name, item, kind) for item in value)

    return _checked(check)


def _checked(check: Callable[[str, Any], Any], default: Any = dataclasses.MISSING, **metadata: Any) -> Any:
    return dataclasses.field(default=default, metadata={"check": check, **metadata})


@dataclass_transform(frozen_default=True, field_specifiers=(number, scalar, count, choice, member, members))
def record(cls: _T) -> _T:
    """Make `cls` a frozen dataclass, checked on construction, that `from_config` can make by its name."""
    complete = cls.__dict__.get("__post_init__")

    def check(self: Any) -> None:
        for field in dataclasses.fields(self):
            if "check" in field.metadata:
                value = field.metadata["check"](field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)
        if complete is not None:
            complete(self)

    require_unique_name("a part", CONFIGURABLE, cls)
    cls.__post_init__ = check  # pyright: ignore[reportAttributeAccessIssue]
    CONFIGURABLE[cls.__name__] = cls = dataclasses.dataclass(frozen=True)(cls)
    return cls


@dataclass_transform(frozen_default=True, field_specifiers=(number, scalar, count, choice, member, members))
def part(cls: _T) -> _T:
    """Make `cls` a part: a record whose numeric fields may hold grids, known by its name."""
    PARTS[cls.__name__] = cls = record(cls)
    return cls


def is_part(value: Any) -> bool:
    """Return whether `value` is an instance of a class made by `part`."""
    return PARTS.get(type(value).__name__) is type(value)


def iterate_parts(value: Any) -> Iterator[Any]:
    """A part and all parts within it."""
    yield value
    for field in dataclasses.fields(value):
        if is_part(inner := getattr(value, field.name)):
            yield from iterate_parts(inner)


def stack_parts(parts: Sequence[Any]) -> Any:
    """Return parts that differ only in numbers as one part, with tuples as its numbers."""
    first = parts[0]
    if any(type(part) is not type(first) for part in parts):
        raise ArgumentError("parts", "be of one kind", list(parts))
    fields = {}
    for field in dataclasses.fields(first):
        values = [getattr(part, field.name) for part in parts]
        if all(is_part(value) for value in values):
            fields[field.name] = stack_parts(values)
        elif "numeric" in field.metadata and not any(is_part(value) for value in values):
            fields[field.name] = tuple(values)
        elif field.metadata.get("largest", False):
            fields[field.name] = max(values)
        elif any(value != values[0] for value in values):
            raise ArgumentError("parts", "be alike but for their numbers", values, f"{field.name} {values!r}")
        else:
            fields[field.name] = values[0]
    return type(first)(**fields)


def index_part(stacked: Any, index: Any) -> Any:
    """Return the part at an index of those that were stacked; the index may be traced."""
    return _map_numbers(stacked, lambda value, _: value[int(index) if isinstance(value, tuple) else index])


def _map_numbers(part: Any, change: Callable[[Numeric, int], Numeric], num_own: int = 0) -> Any:
    """The part with its numbers as `change(number, num_own)` returns them, unchecked: they may be tracers."""
    changed = object.__new__(type(part))
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if is_part(value):
            value = _map_numbers(value, change, num_own + field.metadata.get("stacked", False))
        elif "numeric" in field.metadata:
            value = change(value, num_own)
        object.__setattr__(changed, field.name, value)
    return changed


class NumericValue(NamedTuple):
    """A numeric field of a part, or of a part within."""

    name: str
    value: Numeric
    grid: tuple[int, ...]  # its shape without the last axes, those of stacked members; empty for one value


def numeric_values(value: Any, num_own: int = 0) -> Iterator[NumericValue]:
    """All numeric fields of a part and of the parts within, in the order of their fields."""
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            yield from numeric_values(inner, num_own + field.metadata.get("stacked", False))
        elif "numeric" in field.metadata:
            shape = np.shape(inner)
            yield NumericValue(field.name, inner, shape[: len(shape) - num_own])


def get_grids(value: Any) -> dict[str, Numeric]:
    """Return the numbers of a part, and of the parts within, that are grids, by the names of their fields."""
    return {name: number for name, number, grid in numeric_values(value) if grid}


def require_single(value: Any) -> None:
    """Refuse a part with a grid in its numbers."""
    for name, values in get_grids(value).items():
        raise ArgumentError(name, "be a single number", values, f"a grid, {np.ravel(values).tolist()}")


def grid_shape(value: Any) -> tuple[int, ...]:
    """Return the common shape of the grids in a part's numbers; empty where there are none."""
    try:
        return np.broadcast_shapes(*(number.grid for number in numeric_values(value)))
    except ValueError:
        listed = " and ".join(f"{name} {values!r}" for name, values in get_grids(value).items())
        raise ArgumentError("grids", "have shapes that fit each other", value, listed) from None


def expand_grid(value: Any) -> tuple[Any, ...]:
    """Return a single part for each point of the grid in a part's numbers, the last axis fastest."""
    grid = grid_shape(value)

    def number_at(index: tuple[int, ...], number: Numeric, num_own: int) -> Numeric:
        own = np.shape(number)[np.ndim(number) - num_own :]
        return to_nested_tuple(np.broadcast_to(number, grid + own)[index].tolist())

    return tuple(_map_numbers(value, partial(number_at, index)) for index in np.ndindex(grid))


def to_config(value: Any) -> Any:
    """A part as nested tables of plain values: `{"type": "ExponentialWeights", "rate": 0.99}`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        values = {field.name: to_config(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **values}
    if isinstance(value, dict):
        return {key: to_config(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [to_config(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def from_config(config: Any) -> Any:
    """The part that `to_config` described."""
    if isinstance(config, dict):
        fields = dict(config)
        name = fields.pop("type", None)
        if name not in CONFIGURABLE:
            LOADERS["parts"]()
            load_plugins()
        if name not in CONFIGURABLE:
            got = f"{name!r}{validation.suggest_name(name, CONFIGURABLE)}"
            raise ArgumentError("type", "name a part", name, got)
        return build_from_table(CONFIGURABLE[name], {key: from_config(fields[key]) for key in fields})
    if isinstance(config, list):
        return tuple(from_config(item) for item in config)
    return config


_SIZES = "Spec"  # type of a table that describes the problem, and not the part


def extract_parameters(config: Mapping[str, Any]) -> dict[str, int | float]:
    """Single numbers of a configuration, but sizes of the problem, by the shortest names, as `base.rate`."""
    numbers: dict[tuple[str, ...], int | float] = {}

    def collect(table: Mapping[str, Any], *path: str) -> None:
        for key, value in table.items():
            if isinstance(value, Mapping):
                if value.get("type") != _SIZES:
                    collect(value, *path, key)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                numbers[*path, key] = value

    collect(config)
    named = {}
    for path, value in numbers.items():
        endings = (path[-size:] for size in range(1, len(path)))
        unique = (end for end in endings if sum(key[-len(end) :] == end for key in numbers) == 1)
        named[".".join(next(unique, path))] = value
    return named


def describe_structure(config: Mapping[str, Any]) -> str:
    """The kind of a part and of the parts within, as text: `LeastSquares(ExponentialWeights, Ucb)`."""
    inner = (value for value in config.values() if isinstance(value, Mapping))
    within = [describe_structure(value) for value in inner if value.get("type") != _SIZES]
    return str(config.get("type", "")) + (f"({', '.join(within)})" if within else "")
