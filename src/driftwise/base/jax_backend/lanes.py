"""Small matrices, one to a lane: the batch is the last axis, so that every operation works on all lanes."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from driftwise.base.types import Array


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
