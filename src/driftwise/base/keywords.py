"""Groups of keywords that several functions take: a `TypedDict`, unpacked in their signatures.

A key's default stands in its annotation, `delta: Annotated[float, 0.05]`; a key without one is required.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Required, get_args, get_origin, get_type_hints


def with_defaults(group: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a group that were given, and the defaults of the others."""
    defaults = {each.name: each.default for each in _keywords(group) if each.default is not each.empty}
    return {**defaults, **given}


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Signature of a function with the keywords of the group that it takes by `**name: Unpack[Group]`."""
    found = inspect.signature(function)
    *plain, last = found.parameters.values()
    if last.kind is not last.VAR_KEYWORD:
        return found
    (group,) = get_args(get_type_hints(function, include_extras=True)[last.name])
    return found.replace(parameters=[*plain, *_keywords(group)])


def _keywords(group: type) -> Iterator[inspect.Parameter]:
    for name, hint in get_type_hints(group, include_extras=True).items():
        kind, default = hint, inspect.Parameter.empty
        if get_origin(hint) is Required:
            (kind,) = get_args(hint)
        if get_origin(hint) is Annotated:
            kind, default = get_args(hint)
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
