"""Covering sets: a few arms of which all others are combinations with small coefficients."""

from __future__ import annotations

from driftwise.base.arrays import namespace, repeat_while, vecdot
from driftwise.base.types import Array
from driftwise.parts.design import pseudo_inverse

LARGEST = 2.0  # coefficient that is left as it is
MOST = 1_000  # exchanges; each multiplies a volume by more than two, so that few are needed
TIED = 1e-9  # of a number, that another may be smaller and yet as large
ROUNDING = 1e-12  # of a squared length, below which a direction is none


def covering_rows(rows: Array, present: Array | None) -> Array:
    """Indices `[d]` of rows `[N, d]` such that every row is `Σ c_i a_i` of theirs with `|c_i| ≤ 2`.

    Each is the longest of what those before it leave over; then a row comes in for another as long as that
    more than doubles the volume. A change of the parameter that moves some row's mean by ε moves that of one
    of them by `ε/(2d)`. Rows that span less are covered by fewer, the first of which is repeated.
    """
    xp = namespace(rows)
    lengths = vecdot(rows, rows)
    usable = lengths >= 0 if present is None else present
    chosen, left, longest = [], rows, xp.max(lengths)
    for _ in range(rows.shape[-1]):
        lengths = xp.where(usable, vecdot(left, left), -xp.ones_like(lengths))
        best = _first_largest(lengths)
        there = lengths[best] > ROUNDING * longest
        chosen.append(xp.where(there, best, chosen[0]) if chosen else best)
        along = left @ left[best] / xp.where(there, lengths[best], 1.0)
        left = xp.where(there, left - along[:, None] * left[best], xp.zeros_like(left))
    rows = xp.where(usable[:, None], rows, xp.zeros_like(rows))

    def keep(carry: tuple) -> Array:
        _, coefficients, step = carry
        return (xp.max(coefficients) > LARGEST * (1 + ROUNDING)) & (step < MOST)

    def exchange(carry: tuple) -> tuple:
        cover, coefficients, step = carry
        place = _first_largest(xp.max(coefficients, axis=0))
        coming = _first_largest(coefficients[:, place])
        cover = xp.where(xp.arange(len(cover)) == place, coming, cover)
        return cover, _coefficients(rows, cover), step + 1

    cover = xp.stack(chosen)
    return repeat_while(keep, exchange, (cover, _coefficients(rows, cover), xp.asarray(0)))[0]


def _first_largest(numbers: Array) -> Array:
    """The first that is as large as any, up to rounding: array libraries agree on it."""
    xp = namespace(numbers)
    return xp.argmax(numbers >= xp.max(numbers) * (1 - TIED))


def _coefficients(rows: Array, cover: Array) -> Array:
    """`|c|` of every row in the rows of the cover: `[N, d]`."""
    base = rows[cover]
    return abs(rows @ base.T @ pseudo_inverse(base @ base.T))
