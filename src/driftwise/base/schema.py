"""Values held against a description: types in a file, annotations of arguments, a maker's signature.

An annotation `Annotated[type, check]` holds a function `check(name, value)` that returns the value to use or
raises an `ArgumentError`: `slip: Share = 0.1`. A `Literal` is checked against its words.

A group of keywords that several functions take is a `TypedDict`, unpacked in their signatures. A key's
default stands in its annotation, `delta: Annotated[float, 0.05]`; a key without one is required.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Container, Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, ParamSpec, Required, TypeVar, get_args, get_origin, get_type_hints

from driftwise.base.validation import (
    ArgumentError,
    require_choice,
    require_count,
    require_number,
    suggest_name,
)

_P = ParamSpec("_P")
_T = TypeVar("_T")
Types = tuple[type, ...]
Schema = Mapping[str, Types]

WORD, COUNT, NUMBER, TABLE, LIST, NULL = (str,), (int,), (int, float), (dict,), (list,), (type(None),)
PLAIN = (str, int, float, bool)
_TYPE_NAMES: Mapping[type, str] = {
    str: "a word",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
    type(None): "null",
}


def require_type(path: str, value: Any, expected: Types) -> None:
    """Refuse a value of another type, by a `ValueError` that names its place."""
    if type(value) not in expected:  # True is no number
        kinds = " or ".join(_TYPE_NAMES[kind] for kind in expected)
        raise ValueError(f"{path} must be {kinds}, got {_TYPE_NAMES[type(value)]}")


def require_types(path: str, table: Mapping[str, Any], kinds: Schema) -> None:
    """Refuse values of a table that are of other types than their names have; they may be missing."""
    for name, expected in kinds.items():
        if name in table:
            require_type(f"{path}{name}", table[name], expected)


def require_value_types(path: str, table: Mapping[str, Any], expected: Types) -> None:
    """Refuse a table in which any value is of another type."""
    for name, value in table.items():
        require_type(f"{path}.{name}", value, expected)


Count = Annotated[int, require_count]  # 1, 2, …
AtLeastTwo = Annotated[int, functools.partial(require_count, at_least=2)]
Seed = Annotated[int, functools.partial(require_count, at_least=0)]
Share = Annotated[float, functools.partial(require_number, at_least=0, at_most=1)]  # in [0, 1]
PositiveShare = Annotated[float, functools.partial(require_number, above=0, at_most=1)]  # in (0, 1]
Positive = Annotated[float, functools.partial(require_number, above=0)]
NonNegative = Annotated[float, functools.partial(require_number, at_least=0)]


def bind_arguments(
    owner: str, expected: inspect.Signature, /, *args: Any, **kwargs: Any
) -> inspect.BoundArguments:
    """Arguments bound to a signature; where they do not fit, the error names their `owner`."""
    try:
        return expected.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{owner}() {error}") from None


@functools.cache
def get_checks(function: Callable[..., Any]) -> dict[str, Callable[[str, Any], Any]]:
    """The checks of a function's arguments, by name; arguments without one are left out."""
    checks: dict[str, Callable[[str, Any], Any]] = {}
    for name, hint in get_type_hints(function, include_extras=True).items():
        if get_origin(hint) is Annotated:
            checks[name] = get_args(hint)[1]
        elif get_origin(hint) is Literal:
            checks[name] = functools.partial(require_choice, choices=get_args(hint))
    return checks


def apply_checks(checks: Mapping[str, Callable[[str, Any], Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, each as its check makes it."""
    return {name: checks[name](name, value) if name in checks else value for name, value in given.items()}


def check_keywords(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that checks its keywords by their annotations; positional arguments are passed on."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return function(*args, **apply_checks(get_checks(function), kwargs))  # pyright: ignore[reportCallIssue]

    return call


def add_defaults(group: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a group that were given, and the defaults of the others."""
    defaults = {key.name: key.default for key in _keywords(group) if key.default is not key.empty}
    return {**defaults, **given}


@functools.cache
def get_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Signature of a function with the keywords of the group that it takes by `**name: Unpack[Group]`."""
    plain = inspect.signature(function)
    if (group := get_group(function)) is None:
        return plain
    return plain.replace(parameters=[*[*plain.parameters.values()][:-1], *_keywords(group)])


@functools.cache
def get_group(function: Callable[..., Any]) -> type | None:
    """Return the group of keywords that a function takes by `**name: Unpack[Group]`, if it takes one."""
    *_, last = inspect.signature(function).parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return None
    (group,) = get_args(get_type_hints(function, include_extras=True)[last.name])
    return group


def format_call(name: str, function: Callable[..., Any]) -> str:
    """`name(spec, *, rate, ridge=1.0)`: how a function is called, without annotations."""
    signature = inspect.signature(function)
    parameters = [item.replace(annotation=item.empty) for item in signature.parameters.values()]
    return f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"


@functools.cache
def _keywords(group: type) -> tuple[inspect.Parameter, ...]:
    keywords = []
    for name, hint in get_type_hints(group, include_extras=True).items():
        kind, default = hint, inspect.Parameter.empty
        if get_origin(hint) is Required:
            (kind,) = get_args(hint)
        if get_origin(hint) is Annotated:
            kind, default = get_args(hint)
        keyword_only = inspect.Parameter.KEYWORD_ONLY
        keywords.append(inspect.Parameter(name, keyword_only, default=default, annotation=kind))
    return tuple(keywords)


def build_from_table(
    maker: Callable[..., Any],
    table: Mapping[str, Any],
    *,
    known: Mapping[str, Callable[[], Any]] = MappingProxyType({}),
    owner: str = "",
    path: str = "",
) -> Any:
    """Call `maker` with a table's values, held against its signature.

    A parameter that ends in `_`, because the word is one of Python's, is the key without it.

    Args:
      known: functions for arguments that the caller knows itself. They are passed on where the signature
        has them, and are no keys of tables.
      owner: what errors call the maker; its name unless given.
      path: where the table stands, as `agents.LinUCB` in a file. Errors begin with it.
    """
    owner, parameters = owner or maker.__name__, inspect.signature(maker).parameters
    keys = {name.removesuffix("_"): name for name in parameters if name not in known}
    for key in table:
        if key not in keys:
            expected = f"expected one of {', '.join(keys)}" if keys else "expected none"
            where = f"{path}{'.' * bool(path)}{join_keys(key)}"
            raise ValueError(f"{where} is no key of {owner}{suggest_name(key, keys)}, {expected}")
    for key, name in keys.items():
        if key not in table and parameters[name].default is inspect.Parameter.empty:
            raise ValueError(f"{path}{'.' * bool(path)}{key} is missing: {owner} needs it")
    implied = {name: find() for name, find in known.items() if name in parameters}
    with prefix_errors(path, keys):
        return maker(**implied, **{keys[key]: value for key, value in table.items()})


@contextlib.contextmanager
def prefix_errors(path: str, keys: Container[str] = ()) -> Iterator[None]:
    """Errors raised in here begin with the path, and with its key if they are about one."""
    try:
        yield
    except ValueError as error:
        if not path:
            raise
        if isinstance(error, ArgumentError) and error.argument in keys:
            raise error.under(path) from None
        raise ValueError(f"{path}: {error}") from None


def join_keys(*keys: str) -> str:
    """Keys as TOML writes them: `agents."OPT-WLSVI".rate`."""
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_]+", key) else _quoted(key) for key in keys)


def _quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
