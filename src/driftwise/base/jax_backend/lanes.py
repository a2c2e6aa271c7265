"""Functions of many small matrices at once, one matrix to a lane: the batch is the last axis."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from driftwise.base.types import Array

Form = Callable[..., Array]  # of matrices `[m, d, d, n]`, all alike in shape

TILE = 256  # lanes of a sweep on CPUs: so many 10 × 10 matrices stay in the second cache


def on_lanes(form: Form, *matrices: Array) -> Array:
    """`form` of matrices `[..., d, d]`; axes that `vmap` adds become lanes."""
    return _lanes(form, 0)(*matrices)


@functools.cache
def _lanes(form: Form, num_batches: int) -> Callable[..., Array]:
    """`form` of matrices `[*lead, d, d, *batches]`."""

    @jax.custom_batching.custom_vmap
    def function(*matrices: Array) -> Array:
        shape = matrices[0].shape
        place = len(shape) - num_batches
        dim, lanes = shape[place - 1], math.prod(shape[place:])
        return form(*(each.reshape(-1, dim, dim, lanes) for each in matrices)).reshape(shape)

    @function.def_vmap
    def batched(size: int, batched: list[bool], *matrices: Array) -> tuple[Array, bool]:
        moved = [
            jnp.moveaxis(each, 0, -1) if has else jnp.broadcast_to(each[..., None], (*each.shape, size))
            for each, has in zip(matrices, batched, strict=True)
        ]
        return jnp.moveaxis(_lanes(form, num_batches + 1)(*moved), -1, 0), True

    return function


def swept(matrices: Array) -> Array:
    """Inverses of symmetric positive definite matrices `[m, d, d, n]`."""
    return _by_tiles(sweep, matrices)


def rooted(matrices: Array) -> Array:
    """Cholesky's lower factors of symmetric positive definite matrices `[m, d, d, n]`."""
    return _by_tiles(root, matrices)


def _by_tiles(function: Callable[[Array], Array], matrices: Array) -> Array:
    """`function` of as many lanes at a time as a tile has, for matrices `[m, d, d, n]`."""
    num, dim, _, lanes = matrices.shape
    flat = jnp.moveaxis(matrices, 0, 2).reshape(dim, dim, num * lanes)
    tiles = -(-num * lanes // TILE)
    if tiles == 1:
        return jnp.moveaxis(function(flat).reshape(dim, dim, num, lanes), 2, 0)
    size = -(-num * lanes // tiles)
    pad = jnp.broadcast_to(jnp.eye(dim, dtype=flat.dtype)[:, :, None], (dim, dim, tiles * size - num * lanes))
    padded = jnp.concatenate([flat, pad], axis=-1).reshape(dim, dim, tiles, size)
    made = jax.lax.map(function, jnp.moveaxis(padded, 2, 0))
    made = jnp.moveaxis(made, 0, 2).reshape(dim, dim, -1)[:, :, : num * lanes]
    return jnp.moveaxis(made.reshape(dim, dim, num, lanes), 2, 0)


def sweep(matrix: Array) -> Array:
    """The inverse of a symmetric positive definite matrix `[d, d, n]` in each lane, NaN where there is none.

    A symmetric Gauss–Jordan sweep of pivot k takes `a_ij` to `a_ij − a_ik a_kj / a_kk`, the pivot's row and
    column to `a_kj / a_kk`, and the pivot to `−1 / a_kk`; after all pivots the matrix is `−Λ⁻¹`. The pivot
    is always the first: rows and columns rotate, so that every turn of the loop is the same program.
    """

    def turn(_: int, kept: Array) -> Array:
        pivot = kept[0, 0]
        scale = 1 / jnp.where(pivot > 0, pivot, jnp.nan)
        row = kept[0, 1:] * scale
        rest = kept[1:, 1:] - kept[0, 1:, None] * row[None, :]
        last = jnp.concatenate([row, -scale[None]])
        return jnp.concatenate([jnp.concatenate([rest, row[:, None]], axis=1), last[None]])

    return -jax.lax.fori_loop(0, len(matrix), turn, matrix)


def root(matrix: Array) -> Array:
    """Cholesky's lower factor of a symmetric positive definite matrix `[d, d, n]` in each lane, or NaN."""
    rows = jnp.arange(len(matrix))[:, None]

    def turn(k: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        rest, factor = carry
        column = jax.lax.dynamic_index_in_dim(rest, k, 1, keepdims=False)
        pivot = jax.lax.dynamic_index_in_dim(column, k, 0, keepdims=False)
        column = jnp.where(rows >= k, column / jnp.sqrt(jnp.where(pivot > 0, pivot, jnp.nan)), 0)
        factor = jax.lax.dynamic_update_index_in_dim(factor, column, k, 1)
        return rest - column[:, None] * column[None, :], factor

    return jax.lax.fori_loop(0, len(matrix), turn, (matrix, jnp.zeros_like(matrix)))[1]
