"""JAX's form of what the array API does not have: parts as trees, loops, and many small symmetric matrices.

For matrices, the plain forms, by the library's routines, are the definitions. The others give the same up to
rounding, and NaN for a matrix that is not positive definite, as they do.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

from driftwise.base.extras import require_extra
from driftwise.base.part import PARTS, is_part
from driftwise.base.types import Array

with require_extra("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

from driftwise.base.jax_backend import kernels

map_in_batches, scan, vmap, while_loop = jax.lax.map, jax.lax.scan, jax.vmap, jax.lax.while_loop


def on_gpu() -> bool:
    """Return whether the default device is a GPU."""
    device = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    return (device.platform if isinstance(device, jax.Device) else device or jax.default_backend()) == "gpu"


def _flatten(part: Any) -> tuple[tuple, tuple]:
    """Return a part's numbers and parts, and the rest, its structure, which is compared by equality."""
    dynamic, static = {}, []
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if "numeric" in field.metadata or is_part(value):
            dynamic[field.name] = value
        else:
            static.append((field.name, value))
    return tuple(dynamic.values()), (tuple(dynamic), tuple(static))


def _unflatten(cls: type, structure: tuple, children: Any) -> Any:
    dynamic, static = structure
    part = object.__new__(cls)  # the values may be tracers: no checks
    for name, value in (*zip(dynamic, children, strict=True), *static):
        object.__setattr__(part, name, value)
    return part


_registered: set[type] = set()


def register_parts() -> None:
    """Register every part defined so far, also those that users defined themselves."""
    for cls in {*PARTS.values()} - _registered:
        jax.tree_util.register_pytree_node(cls, _flatten, functools.partial(_unflatten, cls))
        _registered.add(cls)


def invert_lanes(matrix: Array) -> Array:
    """The inverse of a symmetric positive definite matrix `[d, d, n]` in each lane, NaN where there is none.

    A symmetric Gauss–Jordan sweep of pivot k takes `a_ij` to `a_ij − a_ik a_kj / a_kk`, the pivot's row and
    column to `a_kj / a_kk`, and the pivot to `−1 / a_kk`; after all pivots the matrix is `−Λ⁻¹`. The pivot
    is always the first: rows and columns rotate, so that every turn of the loop is the same program.
    """

    def turn(_: int, swept: Array) -> Array:
        pivot = swept[0, 0]
        scale = 1 / jnp.where(pivot > 0, pivot, jnp.nan)
        row = swept[0, 1:] * scale
        rest = swept[1:, 1:] - swept[0, 1:, None] * row[None, :]
        last = jnp.concatenate([row, -scale[None]])
        return jnp.concatenate([jnp.concatenate([rest, row[:, None]], axis=1), last[None]])

    return -jax.lax.fori_loop(0, len(matrix), turn, matrix)


def factorize_lanes(matrix: Array) -> Array:
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


def project_lanes(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` for `[d, d, l]` and `[n, d, l]` in each of l lanes, NaN where Λ is not positive definite.

    After the elimination of all rows of Λ from `(Λ Xᵀ; X 0)`, the rest is `−XΛ⁻¹Xᵀ`.
    """
    corner = jnp.zeros((len(vectors), *vectors[:, 0].shape), dtype=vectors.dtype)
    upper = jnp.concatenate([matrix, jnp.swapaxes(vectors, 0, 1)], axis=1)
    rest = jnp.concatenate([upper, jnp.concatenate([vectors, corner], axis=1)])
    for _ in range(len(matrix)):
        pivot, row = rest[0, 0], rest[0, 1:]
        scale = 1 / jnp.where(pivot > 0, pivot, jnp.nan)
        rest = rest[1:, 1:] - row[:, None] * (row * scale)[None, :]
    return -rest[0]


TILE = 160  # lanes: so many 10 × 10 matrices stay in the second cache


@functools.cache
def by_tiles(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of lanes, of arrays `[a, b, l]` that gives `[..., l]`, as one of arrays `[..., a, b]`."""

    @jax.custom_batching.custom_vmap
    def of_all(*arrays: Array) -> Array:
        lead = arrays[0].shape[:-2]
        count = math.prod(lead)
        flat = [array.reshape(count, *array.shape[-2:]) for array in arrays]
        num_tiles = -(-count // TILE)
        size = -(-count // num_tiles)

        def tile(start: Array | int) -> Array:
            chosen = (jax.lax.dynamic_slice_in_dim(array, start, size) for array in flat)
            return jnp.moveaxis(function(*(jnp.moveaxis(array, 0, -1) for array in chosen)), -1, 0)

        def turn(i: Array, results: Array) -> Array:
            start = jnp.minimum(i * size, count - size)  # the last tile may overlap the one before
            return jax.lax.dynamic_update_slice_in_dim(results, tile(start), start, 0)

        results = tile(0)
        if num_tiles > 1:
            empty = jnp.zeros((count, *results.shape[1:]), dtype=results.dtype)
            results = jax.lax.fori_loop(0, num_tiles, turn, empty)
        return results.reshape(*lead, *results.shape[1:])

    @of_all.def_vmap
    def batched(size: int, batched: list[bool], *arrays: Array) -> tuple[Array, bool]:
        whole = (
            array if has else jnp.broadcast_to(array, (size, *array.shape))
            for array, has in zip(arrays, batched, strict=True)
        )
        return of_all(*whole), True

    return of_all


# Up to so many dimensions one matrix to a lane is faster than the library's routines: `benchmarks.inverses`.
LARGEST_IN_LANES = 16
_LARGEST_SANDWICH = 12  # on GPUs; beyond, two products are faster


def spd_inverse(matrix: Array) -> Array:
    """Inverse of symmetric positive definite matrices `[..., d, d]`, by the form that is fastest here."""
    if matrix.shape[-1] > LARGEST_IN_LANES:
        return inverse_by_cholesky(matrix)
    return kernels.invert_on_gpu(matrix) if on_gpu() else by_tiles(invert_lanes)(matrix)


def spd_solve(matrix: Array, vector: Array) -> Array:
    """`Λ⁻¹x` of symmetric positive definite matrices `[..., d, d]` and vectors `[..., d]`."""
    if matrix.shape[-1] > LARGEST_IN_LANES:
        factor = _factorize(matrix)
        solved = _solve_factor(factor, vector[..., None], left_side=True)
        return _solve_factor(factor, solved, left_side=True, transpose_a=True)[..., 0]
    return jnp.sum(spd_inverse(matrix) * vector[..., None, :], axis=-1)


def spd_root(matrix: Array) -> Array:
    """`L` with `LLᵀ = Λ`, lower triangular, of symmetric positive definite matrices `[..., d, d]`."""
    if on_gpu() or matrix.shape[-1] > LARGEST_IN_LANES:
        return _factorize(matrix)
    return by_tiles(factorize_lanes)(matrix)


def spd_products(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` of symmetric positive definite matrices `[..., d, d]` and few rows `[..., n, d]`."""
    shape = jnp.broadcast_shapes(matrix.shape[:-2], vectors.shape[:-2])
    matrix, vectors = (jnp.broadcast_to(array, (*shape, *array.shape[-2:])) for array in (matrix, vectors))
    if matrix.shape[-1] > LARGEST_IN_LANES:  # y₁ᵀy_i with YLᵀ = X and Λ = LLᵀ
        half = _solve_factor(_factorize(matrix), vectors, left_side=False, transpose_a=True)
        return jnp.sum(half * half[..., :1, :], axis=-1)
    if on_gpu():
        return jnp.sum(vectors * spd_solve(matrix, vectors[..., 0, :])[..., None, :], axis=-1)
    return by_tiles(project_lanes)(matrix, vectors)


def sandwich(outer: Array, inner: Array) -> Array:
    """`MNM` of symmetric matrices `[..., d, d]`, by the form that is fastest here."""
    if on_gpu() and outer.shape[-1] <= _LARGEST_SANDWICH:
        return kernels.sandwich_on_gpu(outer, inner)
    return outer @ inner @ outer


def inverse_by_cholesky(matrix: Array) -> Array:
    """`Λ⁻¹ = L⁻ᵀL⁻¹` with `Λ = LLᵀ`: for batches of small matrices, half the time of a general inverse."""
    identity = jnp.broadcast_to(jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    # XLᵀ = I, for X = L⁻ᵀ: of the four ways to solve for the factor's inverse the fastest on CPUs, by 20 %.
    root = _solve_factor(_factorize(matrix), identity, left_side=False, transpose_a=True)
    return root @ jnp.matrix_transpose(root)


_factorize = functools.partial(jnp.linalg.cholesky, symmetrize_input=False)
_solve_factor = functools.partial(jax.lax.linalg.triangular_solve, lower=True)
