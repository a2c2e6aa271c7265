"""Parts: the frozen dataclasses that algorithms are put together from.

A part prints, compares, hashes, and maps to and from a plain dictionary. Its numeric fields may hold
a grid (nested tuples of numbers); they become array leaves when the simulator compiles, so that
changing a rate never compiles anew. All other fields are part of the program's structure. A grid of parts has
one representation: a part with a grid in its numbers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from driftwise.base.making import make
from driftwise.base.plugins import load_plugins, require_own_name
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import (
    ArgumentError,
    nearest,
    require_choice,
    require_count,
    require_kind,
    require_number,
    require_numeric,
)

_T = TypeVar("_T", bound=type)

BITS = 62  # of an integer that arrays may be as long as
PARTS: dict[str, type] = {}
CONFIGURABLE: dict[str, type] = {"Spec": Spec}  # all that `from_config` can make
ROOMS = ("driftwise.online", "driftwise.environments")  # that register all of driftwise's own when loaded


def number(*, or_part: type | None = None, default: Any = dataclasses.MISSING, **bounds: Any) -> Any:
    """A numeric field within the bounds of `require_numeric`: one value, a grid, or a part of that kind."""

    def check(name: str, value: Any) -> Any:
        if or_part is not None and is_part(value):
            return require_kind(name, value, or_part)
        return require_numeric(name, value, **bounds)

    return _checked(check, default, numeric=True)


def scalar(*, default: Any = dataclasses.MISSING, **bounds: float) -> Any:
    """A field of one number within the bounds of `require_number`; it is part of the structure."""
    return _checked(partial(require_number, **bounds), default)


def count(*, at_least: int = 1, bits: int = 63, default: Any = dataclasses.MISSING) -> Any:
    """A field of one integer; it is part of the structure."""
    return _checked(partial(require_count, at_least=at_least, bits=bits), default)


def reserve(*, default: int) -> Any:
    """A field of one integer, the room of a buffer; that of stacked parts is the largest of theirs."""
    return _checked(partial(require_count, at_least=0, bits=BITS), default, largest=True)


def choice(*choices: str, default: str) -> Any:
    """A field that takes one of a few words."""
    return _checked(partial(require_choice, choices=choices), default)


def member(kind: type, *, stacked: bool = False, default: Any = dataclasses.MISSING) -> Any:
    """A field that takes another part, or anything else of one kind; `stacked`, several of them as one.

    With `default=None` it may be left out.

    Parts that are alike but for their numbers are stacked as one part, all of whose numbers have one axis
    more, the first: see `stack` and `at`.
    """

    def check(name: str, value: Any) -> Any:
        return None if value is None and default is None else require_kind(name, value, kind)

    return _checked(check, default, stacked=stacked)


def members(kind: type) -> Any:
    """A field of a record that takes one thing or more of one kind."""

    def check(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list)) or not value:
            raise ArgumentError(name, f"list at least one {kind.__name__}", value)
        return tuple(require_kind(name, each, kind) for each in value)

    return _checked(check)


def _checked(check: Callable[[str, Any], Any], default: Any = dataclasses.MISSING, **metadata: Any) -> Any:
    return dataclasses.field(default=default, metadata={"check": check, **metadata})


@dataclass_transform(
    frozen_default=True, field_specifiers=(number, scalar, count, reserve, choice, member, members)
)
def record(cls: _T) -> _T:
    """Make `cls` a frozen dataclass, checked on construction, that `from_config` can make by its name.

    All of its fields are compared and printed.
    """
    complete = cls.__dict__.get("__post_init__")

    def check(self: Any) -> None:
        for field in dataclasses.fields(self):
            if "check" in field.metadata:
                value = field.metadata["check"](field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, value)
        if complete is not None:
            complete(self)

    require_own_name("a part", CONFIGURABLE, cls)
    cls.__post_init__ = check  # pyright: ignore[reportAttributeAccessIssue]
    for method in (_repr, _eq, _hash):  # for all: a dataclass would compile its own
        name = f"__{method.__name__[1:]}__"
        if cls.__dict__.get(name) is None:  # Python takes the hash of a class with an `__eq__` of its own
            setattr(cls, name, method)
    CONFIGURABLE[cls.__name__] = made = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    return made


def _values(instance: Any) -> tuple[Any, ...]:
    return tuple(getattr(instance, field.name) for field in dataclasses.fields(instance))


def _repr(self: Any) -> str:
    named = zip(dataclasses.fields(self), _values(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{field.name}={value!r}' for field, value in named)})"


def _eq(self: Any, other: Any) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


@dataclass_transform(
    frozen_default=True, field_specifiers=(number, scalar, count, reserve, choice, member, members)
)
def part(cls: _T) -> _T:
    """Make `cls` a part: a record whose numeric fields may hold grids, known by its name."""
    PARTS[cls.__name__] = made = record(cls)
    return made


def is_part(value: Any) -> bool:
    """Whether `value` is an instance of a class made by `part`."""
    return PARTS.get(type(value).__name__) is type(value)


def parts_within(value: Any) -> Iterator[Any]:
    """A part and all parts within it."""
    yield value
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            yield from parts_within(inner)


def numeric_fields(cls: type) -> tuple[str, ...]:
    """Names of the fields that become array leaves."""
    return tuple(field.name for field in dataclasses.fields(cls) if "numeric" in field.metadata)


def stack(parts: Sequence[Any]) -> Any:
    """Parts that are alike but for their numbers as one part, whose numbers are tuples over them."""
    first = parts[0]
    if any(type(each) is not type(first) for each in parts):
        raise ArgumentError("parts", "be of one kind", list(parts))
    made = {}
    for field in dataclasses.fields(first):
        values = [getattr(each, field.name) for each in parts]
        if all(is_part(value) for value in values):
            made[field.name] = stack(values)
        elif "numeric" in field.metadata and not any(is_part(value) for value in values):
            made[field.name] = tuple(values)
        elif "largest" in field.metadata:
            made[field.name] = max(values)
        elif any(value != values[0] for value in values):
            raise ArgumentError("parts", "be alike but for their numbers", values, f"{field.name} {values!r}")
        else:
            made[field.name] = values[0]
    return type(first)(**made)


def at(stacked: Any, index: Any) -> Any:
    """The part at an index of those that were stacked; the index may be unknown to Python yet."""
    made = object.__new__(type(stacked))  # its numbers were checked, or are tracers
    for field in dataclasses.fields(stacked):
        value = getattr(stacked, field.name)
        if is_part(value):
            value = at(value, index)
        elif "numeric" in field.metadata:
            value = value[int(index) if isinstance(value, tuple) else index]
        object.__setattr__(made, field.name, value)
    return made


class Number(NamedTuple):
    """A numeric field of a part, or of a part within."""

    name: str
    value: Numeric
    num_own: int  # axes, the last ones, that the part keeps for itself: those of stacked members

    @property
    def grid(self) -> tuple[int, ...]:
        """The shape of the grid that the field holds; empty for a single value."""
        shape = np.shape(self.value)
        return shape[: len(shape) - self.num_own]


def numbers(value: Any, num_own: int = 0) -> Iterator[Number]:
    """All numeric fields of a part and of the parts within, in the order of their fields."""
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            yield from numbers(inner, num_own + field.metadata.get("stacked", False))
        elif "numeric" in field.metadata:
            yield Number(field.name, inner, num_own)


def grid_of(value: Any) -> dict[str, Numeric]:
    """Numbers of a part, and of the parts within, that hold several values, by the names of their fields."""
    return {each.name: each.value for each in numbers(value) if each.grid}


def require_single(value: Any) -> None:
    """Refuse a part with a grid in its numbers."""
    for name, values in grid_of(value).items():
        raise ArgumentError(name, "be a single number", values, f"a grid, {np.ravel(values).tolist()}")


def grid_shape(value: Any) -> tuple[int, ...]:
    """The common shape of the grids in a part's numbers; empty where there are none."""
    try:
        return np.broadcast_shapes(*(each.grid for each in numbers(value)))
    except ValueError:
        listed = " and ".join(f"{name} {each!r}" for name, each in grid_of(value).items())
        raise ArgumentError("grids", "have shapes that fit each other", value, listed) from None


def points(value: Any) -> tuple[Any, ...]:
    """A part with a grid in its numbers as single parts, one for each point, the last axis fastest."""
    shape = grid_shape(value)
    return tuple(_point(value, shape, index) for index in np.ndindex(shape))


def _point(value: Any, shape: tuple[int, ...], index: tuple[int, ...], num_own: int = 0) -> Any:
    changes = {}
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if is_part(inner):
            changes[field.name] = _point(inner, shape, index, num_own + field.metadata.get("stacked", False))
        elif "numeric" in field.metadata and isinstance(inner, tuple):
            own = np.shape(inner)[len(np.shape(inner)) - num_own :]
            changes[field.name] = np.broadcast_to(inner, shape + own)[index].tolist()
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
            for room in ROOMS:
                import_module(room)
            load_plugins()
        if name not in CONFIGURABLE:
            raise ArgumentError("type", "name a part", name, f"{name!r}{nearest(name, CONFIGURABLE)}")
        return make(CONFIGURABLE[name], {key: from_config(value) for key, value in fields.items()})
    if isinstance(config, list):
        return tuple(from_config(item) for item in config)
    return config
