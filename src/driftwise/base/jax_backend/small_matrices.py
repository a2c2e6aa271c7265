"""Inverses and products of many small symmetric matrices: which form is taken, and where.

The plain forms, by the library's routines, are the definitions. The others give the same up to rounding, and
NaN for a matrix that is not positive definite, as they do.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from driftwise.base.jax_backend import kernels
from driftwise.base.jax_backend.lanes import eliminate, root, sweep
from driftwise.base.jax_backend.platforms import on_gpu, platform
from driftwise.base.jax_backend.tiles import by_tiles
from driftwise.base.types import Array

# Up to so many dimensions one matrix to a lane is faster than the library's routines: `benchmarks.inverses`.
LARGEST = {"cpu": 16, "gpu": 16}
LARGEST_SANDWICH = 12  # on GPUs; beyond, two products are faster


def spd_inverse(matrix: Array) -> Array:
    """Inverse of symmetric positive definite matrices `[..., d, d]`, by the form that is fastest here."""
    if not _is_small(matrix):
        return inverse_by_cholesky(matrix)
    return kernels.inverse(matrix) if on_gpu() else by_tiles(sweep)(matrix)


def spd_solve(matrix: Array, vector: Array) -> Array:
    """`Λ⁻¹x` of symmetric positive definite matrices `[..., d, d]` and vectors `[..., d]`."""
    if not _is_small(matrix):
        return solution_by_cholesky(matrix, vector)
    return jnp.sum(spd_inverse(matrix) * vector[..., None, :], axis=-1)


def spd_root(matrix: Array) -> Array:
    """`L` with `LLᵀ = Λ`, lower triangular, of symmetric positive definite matrices `[..., d, d]`."""
    if on_gpu() or not _is_small(matrix):
        return jnp.linalg.cholesky(matrix, symmetrize_input=False)
    return by_tiles(root)(matrix)


def after(array: Array, other: Array) -> Array:
    """`array`; if LAPACK is to factorise it, not before `other` is there."""
    return array if on_gpu() or _is_small(array) else array + 0 * other


def spd_products(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` of symmetric positive definite matrices `[..., d, d]` and few rows `[..., n, d]`."""
    shape = jnp.broadcast_shapes(matrix.shape[:-2], vectors.shape[:-2])
    matrix, vectors = (jnp.broadcast_to(each, (*shape, *each.shape[-2:])) for each in (matrix, vectors))
    if not _is_small(matrix):
        return products_by_cholesky(matrix, vectors)
    if on_gpu():
        return jnp.sum(vectors * spd_solve(matrix, vectors[..., 0, :])[..., None, :], axis=-1)
    return by_tiles(eliminate)(matrix, vectors)


def sandwich(outer: Array, inner: Array) -> Array:
    """`MNM` of symmetric matrices `[..., d, d]`, by the form that is fastest here."""
    if on_gpu() and outer.shape[-1] <= LARGEST_SANDWICH:
        return kernels.sandwich(outer, inner)
    return sandwich_by_products(outer, inner)


def _is_small(matrix: Array) -> bool:
    return matrix.shape[-1] <= LARGEST.get(platform(), 0)


def inverse_by_cholesky(matrix: Array) -> Array:
    """`Λ⁻¹ = L⁻ᵀL⁻¹` with `Λ = LLᵀ`: for batches of small matrices, half the time of a general inverse."""
    factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    identity = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    # XLᵀ = I, for X = L⁻ᵀ: of the four ways to solve for the factor's inverse the fastest on CPUs, by 20 %.
    root = jax.lax.linalg.triangular_solve(factor, identity, left_side=False, lower=True, transpose_a=True)
    return root @ jnp.matrix_transpose(root)


def sandwich_by_products(outer: Array, inner: Array) -> Array:
    """`MNM`, as it is written."""
    return outer @ inner @ outer


def products_by_cholesky(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i = y₁ᵀy_i` with `YLᵀ = X` and `Λ = LLᵀ`."""
    factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    half = jax.lax.linalg.triangular_solve(factor, vectors, left_side=False, lower=True, transpose_a=True)
    return jnp.sum(half * half[..., :1, :], axis=-1)


def solution_by_cholesky(matrix: Array, vector: Array) -> Array:
    """`Λ⁻¹x = L⁻ᵀL⁻¹x` with `Λ = LLᵀ`."""
    factor = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    solved = jax.lax.linalg.triangular_solve(factor, vector[..., None], left_side=True, lower=True)
    return jax.lax.linalg.triangular_solve(factor, solved, left_side=True, lower=True, transpose_a=True)[
        ..., 0
    ]
