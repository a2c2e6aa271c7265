"""Functions of many small matrices on CPUs: tile by tile, one matrix to a lane."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from driftwise.base.types import Array

TILE = 160  # lanes: so many 10 × 10 matrices stay in the second cache


@functools.cache
def by_tiles(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of lanes, of arrays `[a, b, l]` that gives `[..., l]`, as one of arrays `[..., a, b]`."""

    @jax.custom_batching.custom_vmap
    def of_all(*arrays: Array) -> Array:
        lead = arrays[0].shape[:-2]
        count = math.prod(lead)
        flat = [each.reshape(count, *each.shape[-2:]) for each in arrays]
        num_tiles = -(-count // TILE)
        size = -(-count // num_tiles)

        def tile(start: Array | int) -> Array:
            chosen = (jax.lax.dynamic_slice_in_dim(each, start, size) for each in flat)
            return jnp.moveaxis(function(*(jnp.moveaxis(each, 0, -1) for each in chosen)), -1, 0)

        def turn(i: Array, made: Array) -> Array:
            start = jnp.minimum(i * size, count - size)  # the last tile may do some again
            return jax.lax.dynamic_update_slice_in_dim(made, tile(start), start, 0)

        made = tile(0)
        if num_tiles > 1:
            room = jnp.zeros((count, *made.shape[1:]), dtype=made.dtype)
            made = jax.lax.fori_loop(0, num_tiles, turn, room)
        return made.reshape(*lead, *made.shape[1:])

    @of_all.def_vmap
    def batched(size: int, batched: list[bool], *arrays: Array) -> tuple[Array, bool]:
        whole = (
            each if has else jnp.broadcast_to(each, (size, *each.shape))
            for each, has in zip(arrays, batched, strict=True)
        )
        return of_all(*whole), True

    return of_all
