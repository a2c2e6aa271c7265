"""Teaches JAX what the array API does not have: loops, small matrices, and parts as trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from driftwise.base.arrays import BACKENDS, Backend
from driftwise.base.extras import needed_by

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

from driftwise.base.jax_backend.platforms import on_gpu
from driftwise.base.jax_backend.pytrees import register_parts as register_parts
from driftwise.base.jax_backend.small_matrices import (
    after,
    sandwich,
    spd_inverse,
    spd_products,
    spd_root,
    spd_solve,
)

STEPS_AT_ONCE = 10  # of a loop on GPUs, where launching a turn takes as long as its work


def scan(step: Callable[..., Any], carry: Any, xs: tuple, *, reverse: bool = False) -> Any:
    """`jax.lax.scan`, on GPUs with several steps to a turn."""
    return jax.lax.scan(step, carry, xs, reverse=reverse, unroll=STEPS_AT_ONCE if on_gpu() else 1)


BACKENDS["jax.numpy"] = Backend(
    scan=scan,
    spd_inverse=spd_inverse,
    spd_solve=spd_solve,
    spd_root=spd_root,
    spd_products=spd_products,
    sandwich=sandwich,
    sweep_over=lambda function, xs, at_once: jax.lax.map(function, xs, batch_size=min(at_once, len(xs))),
    vecdot=lambda first, second: jnp.sum(first * second, axis=-1),  # compiles better than many tiny products
    after=after,
    identity=lambda size, dtype: jnp.eye(size, dtype=dtype),
    repeat_while=jax.lax.while_loop,
    over_stacked=lambda function, stacked, states: jax.vmap(function)(stacked, states),
    over_states=lambda function, states, num: jax.vmap(function)(states),
)
