"""JAX's form of what the array API does not have: loops, small matrices, and parts as trees."""

from __future__ import annotations

import dataclasses
from typing import Any

from driftwise.base.extras import require_extra
from driftwise.base.part import PARTS, is_part

with require_extra("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

from driftwise.base.jax_backend import small_matrices

while_loop = jax.lax.while_loop


def scan(step: Any, carry: Any, xs: tuple, reverse: bool) -> Any:
    # On GPUs launching a turn of a loop takes as long as its work: ten steps make one.
    return jax.lax.scan(step, carry, xs, reverse=reverse, unroll=10 if small_matrices.on_gpu() else 1)


def map_batched(function: Any, xs: Any, at_once: int) -> Any:
    return jax.lax.map(function, xs, batch_size=min(at_once, len(xs)))


def map_stacked(function: Any, stacked: Any, states: Any) -> Any:
    return jax.vmap(function)(stacked, states)


def vecdot(first: Any, second: Any) -> Any:
    return jnp.sum(first * second, axis=-1)  # compiles better than many tiny products


_registered: set[type] = set()


def _register(cls: type) -> None:
    """Register a class: its numbers and parts are children, the rest is structure, compared by equality."""
    names = [field.name for field in dataclasses.fields(cls)]
    numeric = {field.name for field in dataclasses.fields(cls) if "numeric" in field.metadata}

    def flatten(part: Any) -> tuple[tuple, tuple]:
        values = {name: getattr(part, name) for name in names}
        dynamic = [name for name in names if name in numeric or is_part(values[name])]
        static = tuple((name, values[name]) for name in names if name not in dynamic)
        return tuple(values[name] for name in dynamic), (tuple(dynamic), static)

    def unflatten(structure: tuple, children: Any) -> Any:
        dynamic, static = structure
        part = object.__new__(cls)  # the values may be tracers: no checks
        for name, value in (*zip(dynamic, children, strict=True), *static):
            object.__setattr__(part, name, value)
        return part

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


def register_parts() -> None:
    """Register every part defined so far, also those that users defined themselves."""
    for cls in {*PARTS.values()} - _registered:
        _register(cls)
        _registered.add(cls)
