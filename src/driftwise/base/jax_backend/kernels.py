"""Kernels for NVIDIA's GPUs, in Pallas: a thread keeps one small matrix in its registers.

Loops turn over the dimensions, and a matrix that changes rotates: unrolled, they would take long to compile.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from driftwise.base.types import Array

LANES = 32  # of a block: one warp

Kernel = Callable[..., None]  # of references to matrices `[d, d, lanes]`, the last of them to be written
Entries = tuple[Array, ...]  # of the upper triangle, row by row


def inverse(matrix: Array) -> Array:
    """Inverses of symmetric positive definite matrices `[..., d, d]`, NaN where there is none."""
    return _on_lanes(_invert, 0)(matrix)


def sandwich(outer: Array, inner: Array) -> Array:
    """`MNM` of symmetric matrices `[..., d, d]`."""
    return _on_lanes(_multiply, 0)(outer, inner)


@functools.cache
def _on_lanes(kernel: Kernel, num_batches: int) -> Callable[..., Array]:
    """A kernel as a function of matrices `[*lead, d, d, *batches]`; axes that `vmap` adds are batches too."""

    @jax.custom_batching.custom_vmap
    def of_all(*matrices: Array) -> Array:
        shape = matrices[0].shape
        place = len(shape) - num_batches
        dim, lanes = shape[place - 1], math.prod(shape[place:])
        return _call(kernel, *(each.reshape(-1, dim, dim, lanes) for each in matrices)).reshape(shape)

    @of_all.def_vmap
    def batched(size: int, batched: list[bool], *matrices: Array) -> tuple[Array, bool]:
        moved = (
            jnp.moveaxis(each, 0, -1) if has else jnp.broadcast_to(each[..., None], (*each.shape, size))
            for each, has in zip(matrices, batched, strict=True)
        )
        return jnp.moveaxis(_on_lanes(kernel, num_batches + 1)(*moved), -1, 0), True

    return of_all


def _call(kernel: Kernel, *matrices: Array) -> Array:
    """Run a kernel on matrices `[m, d, d, n]`, a block of lanes at a time."""
    from jax.experimental import pallas  # who has no GPU need not wait for it
    from jax.experimental.pallas import triton

    num, dim, _, lanes = matrices[0].shape
    pad = -lanes % LANES
    if pad:  # with identities, which have an inverse
        ones = jnp.broadcast_to(jnp.eye(dim, dtype=matrices[0].dtype)[..., None], (num, dim, dim, pad))
        matrices = tuple(jnp.concatenate([each, ones], axis=-1) for each in matrices)
    block = pallas.BlockSpec((None, dim, dim, LANES), lambda h, b: (h, 0, 0, b))
    made = pallas.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(matrices[0].shape, matrices[0].dtype),
        grid=(num, (lanes + pad) // LANES),
        in_specs=[block] * len(matrices),
        out_specs=block,
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
        interpret=jax.default_backend() == "cpu",  # slow, for tests
    )(*matrices)
    return made[..., :lanes]


def _places(dim: int) -> list[tuple[int, int]]:
    """Rows and columns of an upper triangle."""
    return [(i, j) for i in range(dim) for j in range(i, dim)]


def _invert(matrix: Any, inverse: Any) -> None:
    """As `lanes.sweep`, on the upper triangle."""
    dim = len(matrix)
    places = _places(dim)

    def turn(_: int, entries: Entries) -> Entries:
        kept = dict(zip(places, entries, strict=True))
        scale = 1 / jnp.where(kept[0, 0] > 0, kept[0, 0], jnp.nan)
        row = [kept[0, j] * scale for j in range(dim)]
        new = {(i - 1, j - 1): kept[i, j] - kept[0, i] * row[j] for i, j in places if i > 0}
        new |= {(i - 1, dim - 1): row[i] for i in range(1, dim)}
        new[dim - 1, dim - 1] = -scale
        return tuple(new[place] for place in places)

    entries = jax.lax.fori_loop(0, dim, turn, tuple(matrix[i, j, :] for i, j in places))
    for (i, j), entry in zip(places, entries, strict=True):
        inverse[i, j, :] = -entry
        inverse[j, i, :] = -entry


def _multiply(outer: Any, inner: Any, product: Any) -> None:
    """Row i of `MNM` is `(M_i N) M`. All of M and N is kept; what depends on i is read once more."""
    dim = len(outer)
    m, n = _kept(outer), _kept(inner)

    def write(i: Array, _: None) -> None:
        row = [outer[i, k, :] for k in range(dim)]
        half = [sum(row[k] * n[k, j] for k in range(dim)) for j in range(dim)]
        for j in range(dim):
            product[i, j, :] = sum(half[k] * m[k, j] for k in range(dim))

    jax.lax.fori_loop(0, dim, write, None)


def _kept(matrix: Any) -> dict[tuple[int, int], Array]:
    """The entries of a symmetric matrix, of which the upper triangle is read."""
    upper = {(i, j): matrix[i, j, :] for i, j in _places(len(matrix))}
    return upper | {(j, i): entry for (i, j), entry in upper.items()}
