"""Teaches JAX what the array API does not have: loops, small matrices, and parts as trees."""

from __future__ import annotations

import dataclasses
from typing import Any

from driftwise.base.arrays import BACKENDS, Backend
from driftwise.base.extras import require_extra
from driftwise.base.part import PARTS, is_part

with require_extra("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

from driftwise.base.jax_backend.small_matrices import (
    jax_order_after,
    jax_sandwich,
    jax_spd_inverse,
    jax_spd_products,
    jax_spd_root,
    jax_spd_solve,
    on_gpu,
)

BACKENDS["jax.numpy"] = Backend(
    # On GPUs launching a turn of a loop takes as long as its work: ten steps make one.
    scan=lambda step, carry, xs, reverse: jax.lax.scan(
        step, carry, xs, reverse=reverse, unroll=10 if on_gpu() else 1
    ),
    spd_inverse=jax_spd_inverse,
    spd_solve=jax_spd_solve,
    spd_root=jax_spd_root,
    spd_products=jax_spd_products,
    sandwich=jax_sandwich,
    map_batched=lambda function, xs, at_once: jax.lax.map(function, xs, batch_size=min(at_once, len(xs))),
    vecdot=lambda first, second: jnp.sum(first * second, axis=-1),  # compiles better than many tiny products
    order_after=jax_order_after,
    identity=lambda size, dtype: jnp.eye(size, dtype=dtype),
    while_loop=jax.lax.while_loop,
    map_stacked=lambda function, stacked, states: jax.vmap(function)(stacked, states),
)

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
