"""Products of few vectors in the metric of many small matrices, on CPUs: one matrix to a lane of a tile."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from driftwise.base.types import Array

TILE = 64  # so many 10 × 10 matrices stay in the first cache


@jax.custom_batching.custom_vmap
def products_by_elimination(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` of symmetric positive definite matrices `[..., d, d]` and rows `[..., n, d]`, by tiles."""
    *lead, num, dim = vectors.shape
    flat = matrix.reshape(-1, dim, dim), vectors.reshape(-1, num, dim)
    count = math.prod(lead)
    size = min(TILE, count)

    def turn(i: Array, made: Array) -> Array:
        start = jnp.minimum(i * size, count - size)  # the last tile may do some again
        tile = (jnp.moveaxis(jax.lax.dynamic_slice_in_dim(each, start, size), 0, -1) for each in flat)
        return jax.lax.dynamic_update_slice_in_dim(made, eliminate(*tile).T, start, 0)

    made = jnp.zeros((count, num), dtype=vectors.dtype)
    return jax.lax.fori_loop(0, -(-count // size), turn, made).reshape(*lead, num)


@products_by_elimination.def_vmap
def _batched(size: int, batched: list[bool], *arrays: Array) -> tuple[Array, bool]:
    whole = (
        each if has else jnp.broadcast_to(each, (size, *each.shape))
        for each, has in zip(arrays, batched, strict=True)
    )
    return products_by_elimination(*whole), True


def eliminate(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` for `[d, d, l]` and `[n, d, l]` in each of l lanes, NaN where Λ is not positive definite.

    After the elimination of all rows of Λ from `(Λ Xᵀ; X 0)`, the rest is `−XΛ⁻¹Xᵀ`.
    """
    corner = jnp.zeros((len(vectors), *vectors[:, 0].shape), dtype=vectors.dtype)
    rest = jnp.concatenate(
        [
            jnp.concatenate([matrix, jnp.swapaxes(vectors, 0, 1)], axis=1),
            jnp.concatenate([vectors, corner], axis=1),
        ]
    )
    for _ in range(len(matrix)):
        pivot, row = rest[0, 0], rest[0, 1:]
        scale = 1 / jnp.where(pivot > 0, pivot, jnp.nan)
        rest = rest[1:, 1:] - row[:, None] * (row * scale)[None, :]
    return -rest[0]
