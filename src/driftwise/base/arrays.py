"""The few operations in which array libraries differ: NumPy's form here, JAX's in `base.jax_backend`.

Everything else in the parts is the Python array API. Nothing on the NumPy path imports JAX.
"""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.base.part import index_part, numeric_values
from driftwise.base.types import Array

try:  # what `np.linalg` calls after its checks of the arguments, in half the time; not public
    from numpy.linalg import _umath_linalg
except ImportError:
    _umath_linalg = None


class FloatNamespace:
    """The functions of an array library that formulas use, for Python's numbers."""

    log, log1p, sqrt, maximum, minimum = math.log, math.log1p, math.sqrt, max, min


def namespace(array: Array) -> Any:
    """Return the array library that `array` belongs to, or scalar functions for a float."""
    if type(array) is np.ndarray:
        return np
    return FloatNamespace if type(array) is float else array.__array_namespace__()


def _jax() -> Any:
    from driftwise.base import jax_backend

    return jax_backend


def scan(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: tuple, *, reverse: bool = False) -> Any:
    """`carry, y = step(carry, x)` over the leading axis of the tuple `xs`; returns `(carry, ys)`."""
    if namespace(xs[0]) is not np:  # on GPUs, launching a turn takes as long as its work: ten steps make one
        return _jax().scan(step, carry, xs, reverse=reverse, unroll=10 if _jax().on_gpu() else 1)
    length = len(xs[0])
    if length == 1:  # a bandit's: nothing to put together
        carry, y = step(carry, tuple([x[0] for x in xs]))
        return carry, tuple([column[None] for column in y]) if isinstance(y, tuple) else y[None]
    ys: list[Any] = [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = step(carry, tuple(x[i] for x in xs))
    if isinstance(ys[0], tuple):
        return carry, tuple(np.stack(column) for column in zip(*ys, strict=True))
    return carry, np.stack(ys)


def spd_inverse(matrix: Array) -> Array:
    """Inverse of symmetric positive definite matrices `[..., d, d]`."""
    return np.linalg.inv(matrix) if namespace(matrix) is np else _jax().spd_inverse(matrix)


def spd_solve(matrix: Array, vector: Array) -> Array:
    """`M⁻¹x` of symmetric positive definite matrices `[..., d, d]` and vectors `[..., d]`."""
    if namespace(matrix) is np:
        return np.linalg.solve(matrix, vector[..., None])[..., 0]
    return _jax().spd_solve(matrix, vector)


def spd_root(matrix: Array) -> Array:
    """Cholesky's `L`, with `LLᵀ` the symmetric positive definite matrices `[..., d, d]`."""
    return np.linalg.cholesky(matrix) if namespace(matrix) is np else _jax().spd_root(matrix)


def sandwich(outer: Array, inner: Array) -> Array:
    """`MNM` of symmetric matrices `[..., d, d]`."""
    return outer @ inner @ outer if namespace(outer) is np else _jax().sandwich(outer, inner)


def spd_products(matrix: Array, vectors: Array) -> Array:
    """`x₁ᵀΛ⁻¹x_i` of symmetric positive definite matrices `[..., d, d]` and few rows `[..., n, d]`."""
    if namespace(matrix) is not np:
        return _jax().spd_products(matrix, vectors)
    return np.vecdot(vectors, spd_solve(matrix, vectors[..., 0, :])[..., None, :])


def invert_or_nan(matrix: np.ndarray) -> np.ndarray:
    """The inverse of one small NumPy matrix, NaN if it has none."""
    if _umath_linalg is not None:
        return _umath_linalg.inv(matrix)
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def solve_rows_or_nan(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """`M⁻¹x` of each row `[n, d]` for one small symmetric NumPy matrix, NaN if it has no inverse."""
    if len(rows) < len(matrix) and _umath_linalg is not None:  # few are faster without the inverse
        return _umath_linalg.solve(matrix, rows.T).T
    return rows.dot(invert_or_nan(matrix))


def solve_or_nan(matrices: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """`M⁻¹x` of small NumPy matrices `[J, d, d]`, NaN where there is none."""
    if _umath_linalg is not None:
        return _umath_linalg.solve1(matrices, vector)
    return invert_or_nan(matrices) @ vector


def cholesky_or_nan(matrices: np.ndarray) -> np.ndarray:
    """Factors `L` of NumPy matrices `LLᵀ`, of which lower halves are read; NaN where there is none."""
    if _umath_linalg is not None:
        return _umath_linalg.cholesky_lo(matrices)
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.full_like(matrices, np.nan)


def map_batched(function: Callable[[Array], Array], xs: Array, *, at_once: int) -> Array:
    """`function(x)` for every `x` of the leading axis, `at_once` of them in memory together."""
    if namespace(xs) is np:
        return np.stack([function(x) for x in xs])
    return _jax().map_in_batches(function, xs, batch_size=min(at_once, len(xs)))


def while_loop(keep: Callable[[Any], Array], step: Callable[[Any], Any], carry: Any) -> Any:
    """`carry = step(carry)` as long as `keep(carry)`; `carry` is a tuple of arrays."""
    if namespace(carry[0]) is not np:
        return _jax().while_loop(keep, step, carry)
    while keep(carry):
        carry = step(carry)
    return carry


def map_stacked(function: Callable[[Any, Any], Any], stacked: Any, states: Any, like: Array) -> Any:
    """`function(part, state)` for each of the stacked parts (or None) and its state: trees `[J, ...]`."""
    if namespace(like) is not np:
        return _jax().vmap(function)(stacked, states)
    leaves = [] if stacked is None else [number.value for number in numeric_values(stacked)]
    map_tree(leaves.append, states)
    parts = (None if stacked is None else index_part(stacked, j) for j in range(len(leaves[0])))
    results = [function(part, map_tree(operator.itemgetter(j), states)) for j, part in enumerate(parts)]
    return map_tree(lambda *leaves: np.stack(leaves), *results)


def compute_after(array: Array, other: Array) -> Array:
    """`array`, matrices to be factorised, but not before `other` is there (of a shape that broadcasts to it).

    On CPUs XLA may run two of LAPACK's factorisations of many matrices at once if neither depends on the
    other, and then they can wait for each other's threads for ever (seen with JAX 0.10 on two cores).
    """
    if namespace(array) is np or _jax().on_gpu() or array.shape[-1] <= _jax().LARGEST_IN_LANES:
        return array
    return array + 0 * other


def vecdot(first: Array, second: Array) -> Array:
    """`Σ_i a_i b_i` over the last axis."""
    xp = namespace(first)  # of JAX, the sum compiles better than many tiny products
    return np.vecdot(first, second) if xp is np else xp.sum(first * second, axis=-1)


def identity_like(matrix: Array) -> Array:
    """The identity of the size and type of matrices `[..., d, d]`; not to be written to."""
    xp, size = namespace(matrix), matrix.shape[-1]
    return _identity(size, matrix.dtype) if xp is np else xp.eye(size, dtype=matrix.dtype)


@functools.cache
def _identity(size: int, dtype: Any) -> Array:
    identity = np.eye(size, dtype=dtype)
    identity.flags.writeable = False
    return identity


def map_tree(function: Callable[..., Any], *trees: Any) -> Any:
    """`function` of the arrays at each place of trees that are alike: (named) tuples of arrays and None."""
    first = trees[0]
    if isinstance(first, tuple):
        leaves = [map_tree(function, *places) for places in zip(*trees, strict=True)]
        return type(first)(*leaves) if hasattr(first, "_fields") else tuple(leaves)
    return None if first is None else function(*trees)


def where_tree(condition: Array, first: Any, second: Any) -> Any:
    """`first` or `second`, trees of arrays alike in shape; NumPy copies neither."""
    if isinstance(condition, np.bool):
        return first if condition else second
    return map_tree(lambda one, other: namespace(other).where(condition, one, other), first, second)


def expand_like(leading: Array, arrays: Array) -> Array:
    """An array over the first axes of others, with axes of one for the rest of theirs."""
    shape = (*leading.shape, *[1] * (arrays.ndim - leading.ndim))
    return namespace(leading).reshape(leading, shape)


def write_at(buffer: Array, index: Any, value: Array) -> Array:
    """`buffer[index] = value`: in place where arrays are mutable, else a new buffer."""
    if hasattr(buffer, "at"):
        return buffer.at[index].set(value)
    buffer[index] = value
    return buffer
