"""Values held against a description: types in a file, annotations of arguments, a maker's signature.

An annotation `Annotated[type, check]` holds a function `check(name, value)` that returns the value to use or
raises an `ArgumentError`: `slip: Share = 0.1`. A `Literal` is checked against its words.

A group of keywords that several functions take is a `TypedDict`, unpacked in their signatures. A key's
default stands in its annotation, `delta: Annotated[float, 0.05]`; a key without one is required.
"""

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

WORD, COUNT, NUMBER, TABLE, LIST, NULL = (str,), (int,), (int, float), (dict,), (list,), (type(None),)
PLAIN = (str, int, float, bool)
NESTED = (*PLAIN, dict, list)  # items of tables and lists likewise, at every level
_TYPE_NAMES = {str: "a word", int: "an integer", float: "a number", bool: "true or false"}
_TYPE_NAMES |= {dict: "a table", list: "a list", type(None): "null"}


def require_shape(path: str, value: Any, shape: Any, *, whole: bool = False) -> None:
    """Refuse a value of JSON that is not of a shape, by a `ValueError` that names its place.

    A shape is the possible types, a table of shapes (`"*"` is that of all other keys), or a list with the
    shape of its items. Keys may be missing, unless it has to be `whole`.
    """
    types = shape if isinstance(shape, tuple) else (type(shape),)
    if type(value) not in types:  # True is no number
        kinds = " or ".join(_TYPE_NAMES[kind] for kind in types)
        raise ValueError(f"{path} must be {kinds}, got {_TYPE_NAMES[type(value)]}")
    start = path and f"{path}."
    shapes: Mapping[Any, Any] = {"*": NESTED if shape is NESTED else None}
    if not isinstance(shape, tuple):
        shapes = shape if isinstance(shape, dict) else {"*": shape[0]}
    for key in shapes if whole else ():
        if key != "*" and key not in value:
            raise ValueError(f"{start}{key} is missing")
    items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    for key, item in items:
        if (own := shapes.get(key, shapes.get("*"))) is not None:
            require_shape(f"{start}{key}", item, own, whole=whole)


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
    """Return arguments bound to a signature; where they do not fit, the error names their `owner`."""
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


def apply_checks(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given to a function, each as its check makes it."""
    checks = get_checks(function)
    return {name: checks[name](name, value) if name in checks else value for name, value in given.items()}


def check_keywords(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that checks its keywords by their annotations; positional arguments are passed on."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return function(*args, **apply_checks(function, kwargs))  # pyright: ignore[reportCallIssue]

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
        elif get_origin(hint) is Annotated:
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
    """Call `maker` with a table's values, held against its signature (its `import_` is the key `import`).

    Args:
      known: functions for arguments that the caller knows itself, which are no keys of tables.
      owner: what errors call the maker; its name unless given.
      path: where the table stands, as `agents.LinUCB` in a file. Errors begin with it.
    """
    owner, parameters = owner or maker.__name__, inspect.signature(maker).parameters
    keys = {name.removesuffix("_"): name for name in parameters if name not in known}
    start = path and f"{path}."
    for key in table:
        if key not in keys:
            expected = f"expected one of {', '.join(keys)}" if keys else "expected none"
            close = suggest_name(key, keys)
            raise ValueError(f"{start}{join_keys(key)} is no key of {owner}{close}, {expected}")
    for key, name in keys.items():
        if key not in table and parameters[name].default is inspect.Parameter.empty:
            raise ValueError(f"{start}{key} is missing: {owner} needs it")
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
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_]+", key) else _quote(key) for key in keys)


def _quote(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else _escape(ord(c)) for c in escaped) + '"'


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
