"""Parts: the frozen dataclasses that algorithms are put together from.

A part prints, compares, hashes, and maps to and from a plain dictionary. Its numeric fields may hold
a grid (nested tuples of numbers); they become array leaves when the simulator compiles, so that
changing a rate never compiles anew. All other fields are part of the program's structure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from driftwise.base.making import make
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, nearest, require_choice, require_kind, require_numeric

_T = TypeVar("_T", bound=type)

PARTS: dict[str, type] = {}
CONFIGURABLE: dict[str, type] = {"Spec": Spec}  # all that `from_config` can make


def number(
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
    or_part: type | None = None,
    default: Any = dataclasses.MISSING,
) -> Any:
    """A numeric field with its bounds: one value, a grid of them, or a part of that kind."""
    bounds = dict(above=above, at_least=at_least, at_most=at_most, integer=integer)
    return dataclasses.field(default=default, metadata={"numeric": bounds, "or_part": or_part})


def choice(*choices: str, default: str) -> Any:
    """A field that takes one of a few words."""
    return dataclasses.field(default=default, metadata={"choices": choices})


def member(kind: type) -> Any:
    """A field that takes another part, or anything else of one kind."""
    return dataclasses.field(metadata={"kind": kind})


@dataclass_transform(frozen_default=True, field_specifiers=(number, choice, member))
def part(cls: _T) -> _T:
    """Make `cls` a frozen dataclass, checked on construction and known by its name."""

    complete = cls.__dict__.get("__post_init__")

    def check(self: Any) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if "numeric" in field.metadata and is_part(value) and field.metadata["or_part"] is not None:
                value = require_kind(field.name, value, field.metadata["or_part"])
            elif "numeric" in field.metadata:
                value = require_numeric(field.name, value, **field.metadata["numeric"])
            elif "choices" in field.metadata:
                value = require_choice(field.name, value, field.metadata["choices"])
            elif "kind" in field.metadata:
                value = require_kind(field.name, value, field.metadata["kind"])
            object.__setattr__(self, field.name, value)
        if complete is not None:
            complete(self)

    cls.__post_init__ = check  # pyright: ignore[reportAttributeAccessIssue]
    made = dataclasses.dataclass(frozen=True)(cls)
    known = PARTS.get(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"a part must have a name of its own, got a second {cls.__name__!r}")
    PARTS[cls.__name__] = made
    return configurable(made)


def configurable(cls: _T) -> _T:
    """Let `from_config` make this dataclass by its name."""
    CONFIGURABLE[cls.__name__] = cls
    return cls


def is_part(value: Any) -> bool:
    """Whether `value` is an instance of a class made by `part`."""
    return PARTS.get(type(value).__name__) is type(value)


def numeric_fields(cls: type) -> tuple[str, ...]:
    """Names of the fields that become array leaves."""
    return tuple(field.name for field in dataclasses.fields(cls) if "numeric" in field.metadata)


def require_alike(parts: Sequence[Any]) -> None:
    """Refuse parts that differ in more than their numbers."""
    first = parts[0]
    if any(type(each) is not type(first) for each in parts):
        raise ArgumentError("parts", "be of one kind", list(parts))
    for field in dataclasses.fields(first):
        values = [getattr(each, field.name) for each in parts]
        numbers = "numeric" in field.metadata and not any(is_part(value) for value in values)
        if all(is_part(value) for value in values):
            require_alike(values)
        elif not numbers and any(value != values[0] for value in values):
            raise ArgumentError("parts", "be alike but for their numbers", values, f"{field.name} {values!r}")


def select(parts: Sequence[Any], index: Any) -> Any:
    """The part at an index. It may be unknown to Python yet: then what differs becomes an array, at it."""
    if isinstance(index, int | np.integer | np.ndarray):
        return parts[int(index)]
    first = parts[0]
    made = object.__new__(type(first))
    for field in dataclasses.fields(first):
        values = [getattr(each, field.name) for each in parts]
        if all(value == values[0] for value in values):
            chosen = values[0]
        elif is_part(values[0]):
            chosen = select(values, index)
        else:
            chosen = index.__array_namespace__().asarray(values)[index]
        object.__setattr__(made, field.name, chosen)
    return made


def grid_of(value: Any) -> dict[str, Numeric]:
    """Numbers of a part, and of the parts within, that hold several values, by the names of their fields."""
    return dict(_grids(value))


def require_single(value: Any) -> None:
    """Refuse a part with a grid in its numbers."""
    for name, values in grid_of(value).items():
        raise ArgumentError(name, "be a single number", values, f"a grid, {np.ravel(values).tolist()}")


def _grids(value: Any) -> Iterator[tuple[str, Numeric]]:
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            yield from _grids(inner)
        elif "numeric" in field.metadata and isinstance(inner, tuple):
            yield field.name, inner


def points(value: Any) -> tuple[Any, ...]:
    """A part with a grid in its numbers as single parts, one for each point, the last axis fastest."""
    grids = list(_grids(value))
    try:
        shape = np.broadcast_shapes(*(np.shape(each) for _, each in grids))
    except ValueError:
        told = " and ".join(f"{name} {each!r}" for name, each in grids)
        raise ArgumentError("grids", "have shapes that fit each other", dict(grids), told) from None
    return tuple(_point(value, shape, index) for index in np.ndindex(shape))


def _point(value: Any, shape: tuple[int, ...], index: tuple[int, ...]) -> Any:
    changes = {}
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            changes[field.name] = _point(inner, shape, index)
        elif "numeric" in field.metadata and isinstance(inner, tuple):
            changes[field.name] = np.broadcast_to(inner, shape)[index].item()
    return dataclasses.replace(value, **changes)


def to_config(value: Any) -> Any:
    """A part as nested dictionaries of plain values, `{"type": "ExponentialWeights", "rate": 0.99}`.

    Tuples become lists; so they do in dictionaries.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: to_config(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
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
            raise ArgumentError("type", "name a part", name, f"{name!r}{nearest(name, CONFIGURABLE)}")
        return make(CONFIGURABLE[name], {key: from_config(value) for key, value in fields.items()})
    if isinstance(config, list):
        return tuple(from_config(item) for item in config)
    return config
