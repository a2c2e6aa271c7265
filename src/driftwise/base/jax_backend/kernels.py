"""Kernels for NVIDIA's GPUs, in Pallas: a thread keeps one small matrix in its registers.

Loops turn over the dimensions, and matrices rotate: unrolled, they would take long to compile. Triton spends
most of that time on the places where memory is read or written, on each of them with all that depends on it:
so there are few, and loops come by often.
"""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from driftwise.base.types import Array

_LANES = 32  # of a block: one warp
_COLUMNS = 5  # read in a turn: all of them are under way at once, but more take longer to compile

Kernel = Callable[..., None]  # of references to matrices `[d, d, lanes]`, the last of them to be written
Triangle = dict[tuple[int, int], Array]  # entries of a symmetric matrix on and above its diagonal


@functools.cache
def _on_lanes(kernel: Kernel, num_batches: int) -> Callable[..., Array]:
    """A kernel as a function of matrices `[*lead, d, d, *batches]`; axes that `vmap` adds are batches too."""

    @jax.custom_batching.custom_vmap
    def of_all(*matrices: Array) -> Array:
        shape = matrices[0].shape
        place = len(shape) - num_batches
        dim, lanes = shape[place - 1], math.prod(shape[place:])
        return _call(kernel, *(matrix.reshape(-1, dim, dim, lanes) for matrix in matrices)).reshape(shape)

    @of_all.def_vmap
    def batched(size: int, batched: list[bool], *matrices: Array) -> tuple[Array, bool]:
        moved = (
            jnp.moveaxis(matrix, 0, -1) if has else jnp.broadcast_to(matrix[..., None], (*matrix.shape, size))
            for matrix, has in zip(matrices, batched, strict=True)
        )
        return jnp.moveaxis(_on_lanes(kernel, num_batches + 1)(*moved), -1, 0), True

    return of_all


def _call(kernel: Kernel, *matrices: Array) -> Array:
    """Run a kernel on matrices `[m, d, d, n]`, a block of lanes at a time."""
    from jax.experimental import pallas  # slow to import, and only needed on GPUs
    from jax.experimental.pallas import triton

    num, dim, _, lanes = matrices[0].shape
    pad = -lanes % _LANES
    if pad:  # with identities, which have an inverse
        ones = jnp.broadcast_to(jnp.eye(dim, dtype=matrices[0].dtype)[..., None], (num, dim, dim, pad))
        matrices = tuple(jnp.concatenate([matrix, ones], axis=-1) for matrix in matrices)
    block = pallas.BlockSpec((None, dim, dim, _LANES), lambda h, b: (h, 0, 0, b))
    call = pallas.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(matrices[0].shape, matrices[0].dtype),
        grid=(num, (lanes + pad) // _LANES),
        in_specs=[block] * len(matrices),
        out_specs=block,
        compiler_params=triton.CompilerParams(num_warps=1, num_stages=1),
        interpret=jax.default_backend() == "cpu",  # slow, for tests
    )
    return call(*matrices)[..., :lanes]


def _invert(matrix: Any, inverse: Any) -> None:
    """As `lanes.sweep`, on the upper triangle."""
    dim = len(matrix)

    def turn(_: int, kept: Triangle) -> Triangle:
        scale = 1 / jnp.where(kept[0, 0] > 0, kept[0, 0], jnp.nan)
        row = [kept[0, j] * scale for j in range(dim)]
        rest = {(i, j): entry - kept[0, i] * row[j] for (i, j), entry in kept.items() if i > 0}
        return _rotated(rest, [*row[1:], -scale])

    (read,) = _read(matrix)
    swept = jax.lax.fori_loop(0, dim, turn, read)
    _write(inverse, lambda kept: [-kept[0, j] for j in range(dim)], swept)


def _multiply(outer: Any, inner: Any, product: Any) -> None:
    """The first row of `MNM` is `(M₁N)M`, and every row is the first in its turn."""
    dim = len(outer)

    def first_row(*triangles: Triangle) -> list[Array]:
        m, n = ({**kept, **{(j, i): entry for (i, j), entry in kept.items()}} for kept in triangles)
        half = [_dot([m[0, k] for k in range(dim)], [n[k, j] for k in range(dim)]) for j in range(dim)]
        return [_dot(half, [m[k, j] for k in range(dim)]) for j in range(dim)]

    _write(product, first_row, *_read(outer, inner))


def _read(*matrices: Any) -> tuple[Triangle, ...]:
    """Upper triangles of matrices. A turn reads some columns; what is outside falls out by the end."""
    dim = len(matrices[0])
    columns = min(_COLUMNS, dim)
    turns = -(-dim // columns)
    first = 2 * dim - columns * turns  # and not negative, as the index goes around

    def turn(t: Array, triangles: tuple[Triangle, ...]) -> tuple[Triangle, ...]:
        for column in range(columns):
            k = _around(columns * t + (first + column), dim)
            rows = [_around(k + (1 + i), dim) for i in range(dim)]
            triangles = tuple(
                _rotated(kept, [matrix[i, k, :] for i in rows])
                for matrix, kept in zip(matrices, triangles, strict=True)
            )
        return triangles

    nothing = jnp.zeros(matrices[0].shape[-1:], matrices[0].dtype)
    empty = {(i, j): nothing for i in range(dim) for j in range(i, dim)}
    return jax.lax.fori_loop(0, turns, turn, tuple(empty for _ in matrices))


def _write(matrix: Any, first_row: Callable[..., list[Array]], *triangles: Triangle) -> None:
    """Write a matrix; `first_row` returns its first row, and the next one after each rotation."""
    dim = len(matrix)

    def turn(i: Array, triangles: tuple[Triangle, ...]) -> tuple[Triangle, ...]:
        for j, entry in enumerate(first_row(*triangles)):
            matrix[i, _around(i + j, dim), :] = entry
        return tuple(_rotated(kept, [kept[0, j] for j in [*range(1, dim), 0]]) for kept in triangles)

    jax.lax.fori_loop(0, dim, turn, triangles)


def _rotated(kept: Triangle, last: list[Array]) -> Triangle:
    """A triangle one place further up and left: without its first row, and with a new last column."""
    moved = {(i - 1, j - 1): entry for (i, j), entry in kept.items() if i > 0}
    return {**moved, **{(i, len(last) - 1): entry for i, entry in enumerate(last)}}


def _around(index: Array, dim: int) -> Array:
    """An index below `2 dim`, with the first after the last."""
    return jax.lax.rem(index, jnp.asarray(dim, index.dtype))


def _dot(first: list[Array], second: list[Array]) -> Array:
    return functools.reduce(operator.add, map(operator.mul, first, second))


invert_on_gpu = _on_lanes(_invert, 0)  # inverses of positive definite `[..., d, d]`, NaN where there is none
sandwich_on_gpu = _on_lanes(_multiply, 0)  # `MNM` of symmetric matrices `[..., d, d]`
