"""The few operations in which array libraries differ, behind one table.

Everything else in the parts is the Python array API. NumPy is built in here; the JAX entries are
added by `driftwise.jax_backend`, so that nothing on the NumPy path ever imports JAX.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.types import Array


class Backend(NamedTuple):
    """What a library has to add to the array API."""

    scan: Callable[..., Any]
    spd_inverse: Callable[[Array], Array]
    sweep_over: Callable[..., Array]


def namespace(array: Array) -> Any:
    """The array library that `array` belongs to."""
    return array.__array_namespace__()


def scan(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: tuple, *, reverse: bool = False) -> Any:
    """`carry, y = step(carry, x)` over the leading axis of the tuple `xs`; returns `(carry, ys)`."""
    return _backend(xs[0]).scan(step, carry, xs, reverse=reverse)


def spd_inverse(matrix: Array) -> Array:
    """Inverse of symmetric positive definite matrices `[..., d, d]`."""
    return _backend(matrix).spd_inverse(matrix)


def sweep_over(function: Callable[[Array], Array], xs: Array, *, at_once: int) -> Array:
    """`function(x)` for every `x` of the leading axis, `at_once` of them in memory together."""
    return _backend(xs).sweep_over(function, xs, at_once=at_once)


def after(array: Array, other: Array) -> Array:
    """`array`, but not before `other` is there (which must broadcast to its shape and be finite).

    On CPUs XLA may run two factorisations of many matrices at once if neither depends on the other, and then
    they can wait for each other's threads for ever (seen with JAX 0.10 on two cores).
    """
    return array + 0 * other


def where_tree(condition: Array, first: Any, second: Any) -> Any:
    """`first` or `second`, trees of arrays in (named) tuples, alike in shape."""
    if isinstance(first, tuple):
        made = [where_tree(condition, *pair) for pair in zip(first, second, strict=True)]
        return type(first)(*made) if hasattr(first, "_fields") else tuple(made)
    return None if first is None else namespace(second).where(condition, first, second)


def write(buffer: Array, index: Any, value: Array) -> Array:
    """`buffer[index] = value`: in place where arrays are mutable, else a new buffer."""
    if hasattr(buffer, "at"):
        return buffer.at[index].set(value)
    buffer[index] = value
    return buffer


def _backend(array: Array) -> Backend:
    name = namespace(array).__name__
    if name == "jax.numpy" and name not in BACKENDS:
        importlib.import_module("driftwise.jax_backend")  # enters itself; whoever has such an array has JAX
    return BACKENDS[name]


def _scan_loop(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: tuple, *, reverse: bool) -> Any:
    length = len(xs[0])
    ys: list[Any] = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = step(carry, tuple(x[i] for x in xs))
    if isinstance(ys[0], tuple):
        return carry, tuple(np.stack(column) for column in zip(*ys, strict=True))
    return carry, np.stack(ys)


def _sweep_loop(function: Callable[[Array], Array], xs: Array, *, at_once: int) -> Array:
    return np.stack([function(x) for x in xs])


BACKENDS: dict[str, Backend] = {
    "numpy": Backend(scan=_scan_loop, spd_inverse=np.linalg.inv, sweep_over=_sweep_loop)
}
