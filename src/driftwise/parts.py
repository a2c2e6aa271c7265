"""Parts: the frozen dataclasses that algorithms are put together from.

A part prints, compares, hashes, and maps to and from a plain dictionary. Its numeric fields may hold
a grid (nested tuples of numbers); they become array leaves when the simulator compiles, so that
changing a rate never compiles anew. All other fields are part of the program's structure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from driftwise.types import Spec
from driftwise.validation import nearest, require_choice, require_kind, require_numeric

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


def select(parts: Sequence[Any], index: Any) -> Any:
    """The part at an index, which may be an array: `parts` are alike, and their numbers become arrays."""
    first = parts[0]
    made = object.__new__(type(first))
    numeric = numeric_fields(type(first))
    for field in dataclasses.fields(first):
        values = [getattr(each, field.name, None) for each in parts]
        if any(type(each) is not type(first) for each in parts):
            raise ValueError(f"parts must be of one kind, got {list(parts)!r}")
        if all(value == values[0] for value in values):
            chosen = values[0]
        elif all(is_part(value) for value in values):
            chosen = select(values, index)
        elif field.name in numeric:
            xp = index.__array_namespace__() if hasattr(index, "__array_namespace__") else np
            chosen = xp.asarray(values)[index]
        else:
            raise ValueError(f"parts must be alike but for their numbers, got {field.name} {values!r}")
        object.__setattr__(made, field.name, chosen)
    return made


def to_config(value: Any) -> Any:
    """A part as nested dictionaries of plain values, `{"type": "ExponentialWeights", "rate": 0.99}`."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: to_config(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, tuple):
        return [to_config(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def from_config(config: Any) -> Any:
    """The part that `to_config` described."""
    if isinstance(config, dict):
        name = config.get("type")
        if name not in CONFIGURABLE:
            raise ValueError(f"type must name a part, got {name!r}{nearest(name, CONFIGURABLE)}")
        fields = {key: from_config(value) for key, value in config.items() if key != "type"}
        accepted = {field.name: field for field in dataclasses.fields(CONFIGURABLE[name])}
        for key in fields:
            if key not in accepted:
                raise ValueError(f"{name} has no field {key!r}{nearest(key, accepted)}")
        for key, field in accepted.items():
            if key not in fields and field.default is dataclasses.MISSING:
                raise ValueError(f"{name} needs the field {key!r}")
        return CONFIGURABLE[name](**fields)
    if isinstance(config, list):
        return tuple(from_config(item) for item in config)
    return config
