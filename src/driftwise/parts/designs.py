"""Designs of experiments: how often to play which arm, and small sets of arms that cover the others."""

import numpy as np

from driftwise.base.arrays import namespace, vecdot, while_loop
from driftwise.base.types import Array

_NEAR = 1.01  # a design is accepted when its largest width is at most this multiple of the optimum
_MAX_STEPS = 10_000  # of the design iteration; a few dozen are usual
_EIGENVALUE_ROUNDING = 50.0  # eigenvalues below this many ε of the largest are rounding (6 ε were observed)
_MAX_COEFFICIENT = 2.0  # of a row in a covering set; larger ones cause an exchange
_MAX_EXCHANGES = 1_000  # each more than doubles a volume, so that few are needed
_TIE = 1e-9  # relative difference below which two lengths count as equal
_LENGTH_ROUNDING = 1e-12  # squared lengths below this share of the longest count as 0


def moment_inverse(rows: Array, chances: Array) -> Array:
    """`Q⁻¹` of `Q = Σ_a π(a) aaᵀ`, for arms `[N, d]` and chances `[N]`; 0 outside of the arms' span."""
    return pseudo_inverse((rows * chances[:, None]).T @ rows)


def pseudo_inverse(matrix: Array) -> Array:
    """The inverse of a symmetric matrix `[d, d]` without negative eigenvalues, 0 where it is 0."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    spans = values > _EIGENVALUE_ROUNDING * float(np.finfo(matrix.dtype).eps) * xp.max(values)
    return (vectors * xp.where(spans, 1 / xp.where(spans, values, 1.0), 0.0)) @ vectors.T


def squared_widths(rows: Array, chances: Array) -> Array:
    """`‖a‖²` in the norm of `Q⁻¹`, for every arm: `[N]`."""
    return vecdot(rows @ moment_inverse(rows, chances), rows)


def g_optimal_design(rows: Array, start: Array) -> Array:
    r"""Chances $\pi$ of arms `[N, d]` that minimise $\max_a\|a\|^2_{Q(\pi)^{-1}}$ up to 1 %: `[N]`.

    $Q(\pi) = \sum_a\pi(a)aa^\top$. The least is the rank of the arms, which is the mean of these squares over
    any design (Kiefer & Wolfowitz 1960). From chances `start`, 0 for arms that may not be played, $\pi(a)
    \leftarrow \pi(a)\,\|a\|^2_{Q(\pi)^{-1}}/d$ raises $\det Q$ (Silvey, Titterington & Torsney 1978).
    """
    xp = namespace(rows)

    def keep(carry: tuple) -> Array:
        chances, widths, step = carry
        return ~(xp.max(widths) <= _NEAR * xp.sum(chances * widths)) & (step < _MAX_STEPS)

    def improve(carry: tuple) -> tuple:
        chances, widths, step = carry
        better = chances * widths / xp.sum(chances * widths)
        return better, squared_widths(rows, better), step + 1

    return while_loop(keep, improve, (start, squared_widths(rows, start), xp.asarray(0)))[0]


def covering_rows(rows: Array, present: Array | None) -> Array:
    """Indices `[d]` of rows `[N, d]` such that every row is `Σ c_i a_i` of theirs with `|c_i| ≤ 2`.

    Each is the longest of what those before it leave over; then rows are exchanged as long as that more than
    doubles the volume. A change that moves some row's mean by ε moves that of one of them by `ε/(2d)`. Rows
    that span less are covered by fewer, the first of which is repeated.
    """
    xp = namespace(rows)
    lengths = vecdot(rows, rows)
    usable = lengths >= 0 if present is None else present
    chosen, left, longest = [], rows, xp.max(lengths)
    for _ in range(rows.shape[-1]):
        lengths = xp.where(usable, vecdot(left, left), -xp.ones_like(lengths))
        best = _first_largest(lengths)
        remains = lengths[best] > _LENGTH_ROUNDING * longest
        chosen.append(xp.where(remains, best, chosen[0]) if chosen else best)
        along = left @ left[best] / xp.where(remains, lengths[best], 1.0)
        left = xp.where(remains, left - along[:, None] * left[best], xp.zeros_like(left))
    rows = xp.where(usable[:, None], rows, xp.zeros_like(rows))

    def keep(carry: tuple) -> Array:
        _, coefficients, step = carry
        return (xp.max(coefficients) > _MAX_COEFFICIENT * (1 + _LENGTH_ROUNDING)) & (step < _MAX_EXCHANGES)

    def exchange(carry: tuple) -> tuple:
        cover, coefficients, step = carry
        place = _first_largest(xp.max(coefficients, axis=0))
        coming = _first_largest(coefficients[:, place])
        cover = xp.where(xp.arange(len(cover)) == place, coming, cover)
        return cover, _coefficients(rows, cover), step + 1

    cover = xp.stack(chosen)
    return while_loop(keep, exchange, (cover, _coefficients(rows, cover), xp.asarray(0)))[0]


def _first_largest(numbers: Array) -> Array:
    """The first that is as large as any, up to rounding: array libraries agree on it."""
    xp = namespace(numbers)
    return xp.argmax(numbers >= xp.max(numbers) * (1 - _TIE))


def _coefficients(rows: Array, cover: Array) -> Array:
    """`|c|` of every row in the rows of the cover: `[N, d]`."""
    base = rows[cover]
    return abs(rows @ base.T @ pseudo_inverse(base @ base.T))
