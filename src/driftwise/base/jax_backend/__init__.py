"""Teaches JAX what the array API does not have: loops, small matrices, and parts as trees."""

from __future__ import annotations

from driftwise.base.arrays import BACKENDS, Backend
from driftwise.base.extras import needed_by

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

from driftwise.base.jax_backend.pytrees import register_parts as register_parts
from driftwise.base.jax_backend.small_matrices import sandwich, spd_inverse, spd_solve

BACKENDS["jax.numpy"] = Backend(
    scan=jax.lax.scan,
    spd_inverse=spd_inverse,
    spd_solve=spd_solve,
    sandwich=sandwich,
    sweep_over=lambda function, xs, at_once: jax.lax.map(function, xs, batch_size=min(at_once, len(xs))),
    vecdot=lambda first, second: jnp.sum(first * second, axis=-1),  # compiles better than many tiny products
    after=lambda array, other: array + 0 * other,
    identity=lambda size, dtype: jnp.eye(size, dtype=dtype),
    repeat_while=jax.lax.while_loop,
    over_stacked=lambda function, stacked, states: jax.vmap(function)(stacked, states),
)
