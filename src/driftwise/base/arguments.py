"""Arguments that are checked by their annotations: `slip: Share = 0.1` says all there is to say.

An annotation `Annotated[type, check]` holds a function `check(name, value)` that gives the value to use or
raises an `ArgumentError`. A `Literal` is checked against its words.

A group of keywords that several functions take is a `TypedDict`, unpacked in their signatures. A key's
default stands in its annotation, `delta: Annotated[float, 0.05]`; a key without one is required.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Required, get_args, get_origin, get_type_hints

from driftwise.base.validation import require_choice, require_count, require_number

Count = Annotated[int, require_count]  # 1, 2, …
Several = Annotated[int, functools.partial(require_count, at_least=2)]
Seed = Annotated[int, functools.partial(require_count, at_least=0)]
Share = Annotated[float, functools.partial(require_number, at_least=0, at_most=1)]  # in [0, 1]
Positive = Annotated[float, functools.partial(require_number, above=0)]
NonNegative = Annotated[float, functools.partial(require_number, at_least=0)]


def bind(owner: str, expected: inspect.Signature, /, *args: Any, **kwargs: Any) -> inspect.BoundArguments:
    """Arguments bound to a signature; where they do not fit, the error names their `owner`."""
    try:
        return expected.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{owner}() {error}") from None


def checks_of(function: Callable[..., Any]) -> dict[str, Callable[[str, Any], Any]]:
    """The checks of a function's arguments, by name; arguments without one are left out."""
    hints = get_type_hints(function, include_extras=True)
    return {name: check for name, hint in hints.items() if (check := _check(hint)) is not None}


def checked(checks: Mapping[str, Callable[[str, Any], Any]], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, each as its check makes it."""
    return {name: checks[name](name, value) if name in checks else value for name, value in given.items()}


def _check(hint: Any) -> Callable[[str, Any], Any] | None:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    if get_origin(hint) is Literal:
        return functools.partial(require_choice, choices=get_args(hint))
    return None


def with_defaults(group: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a group that were given, and the defaults of the others."""
    defaults = {each.name: each.default for each in _keywords(group) if each.default is not each.empty}
    return {**defaults, **given}


@functools.cache
def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Signature of a function with the keywords of the group that it takes by `**name: Unpack[Group]`."""
    found = inspect.signature(function)
    *plain, last = found.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return found
    (group,) = get_args(get_type_hints(function, include_extras=True)[last.name])
    return found.replace(parameters=[*plain, *_keywords(group)])


def call_text(name: str, function: Callable[..., Any]) -> str:
    """`name(spec, *, rate, ridge=1.0)`: how a function is called, without annotations."""
    found = inspect.signature(function)
    parameters = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    return f"{name}{found.replace(parameters=parameters, return_annotation=found.empty)}"


@functools.cache
def _keywords(group: type) -> tuple[inspect.Parameter, ...]:
    return tuple(_keyword(*item) for item in get_type_hints(group, include_extras=True).items())


def _keyword(name: str, hint: Any) -> inspect.Parameter:
    kind, default = hint, inspect.Parameter.empty
    if get_origin(hint) is Required:
        (kind,) = get_args(hint)
    if get_origin(hint) is Annotated:
        kind, default = get_args(hint)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
