"""Calling a maker with a table: the one way from a file, a saved part or keyword arguments to an object."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Container, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from driftwise.base.validation import ArgumentError, nearest


def make(
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
            raise unknown_key(path, key, owner, list(keys))
    for key, name in keys.items():
        if key not in table and parameters[name].default is inspect.Parameter.empty:
            raise ValueError(f"{path}{'.' * bool(path)}{key} is missing: {owner} needs it")
    implied = {name: find() for name, find in known.items() if name in parameters}
    with errors_under(path, keys):
        return maker(**implied, **{keys[key]: value for key, value in table.items()})


@contextlib.contextmanager
def errors_under(path: str, keys: Container[str] = ()) -> Iterator[None]:
    """Errors raised in here begin with the path, and with its key if they are about one."""
    try:
        yield
    except ValueError as error:
        if not path:
            raise
        if isinstance(error, ArgumentError) and error.argument in keys:
            raise error.under(path) from None
        raise ValueError(f"{path}: {error}") from None


def unknown_key(path: str, key: str, owner: str, keys: list[str]) -> ValueError:
    """The error of a key that its owner does not take."""
    expected = f"expected one of {', '.join(keys)}" if keys else "expected none"
    where = f"{path}.{dotted(key)}" if path else dotted(key)
    return ValueError(f"{where} is no key of {owner}{nearest(key, keys)}, {expected}")


def dotted(*keys: str) -> str:
    """Keys as TOML writes them: `agents."OPT-WLSVI".rate`."""
    return ".".join(key if re.fullmatch(r"[A-Za-z0-9_]+", key) else _quoted(key) for key in keys)


def _quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
