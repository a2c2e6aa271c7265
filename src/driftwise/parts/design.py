"""Optimal designs: how often to play which arm to learn of all of them alike."""

from __future__ import annotations

import numpy as np

from driftwise.base.arrays import namespace, repeat_while, vecdot
from driftwise.base.types import Array

NEAR = 1.01  # times the least that the largest width of a design may be
MOST = 10_000  # steps; it takes some tens
ROUNDING = 50.0  # ε of the largest eigenvalue: below it is rounding, of which 6 ε were seen, and no direction


def moment_inverse(rows: Array, chances: Array) -> Array:
    """`Q⁻¹` of `Q = Σ_a π(a) aaᵀ`, for arms `[N, d]` and chances `[N]`; 0 outside of the arms' span."""
    return pseudo_inverse((rows * chances[:, None]).T @ rows)


def pseudo_inverse(matrix: Array) -> Array:
    """The inverse of a symmetric matrix `[d, d]` without negative eigenvalues, 0 where it is 0."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(matrix)
    spans = values > ROUNDING * float(np.finfo(matrix.dtype).eps) * xp.max(values)
    return (vectors * xp.where(spans, 1 / xp.where(spans, values, 1.0), 0.0)) @ vectors.T


def squared_widths(rows: Array, chances: Array) -> Array:
    """`‖a‖²` in the norm of `Q⁻¹`, for every arm: `[N]`."""
    return vecdot(rows @ moment_inverse(rows, chances), rows)


def is_near(chances: Array, widths: Array) -> Array:
    """Whether a design with these squared widths is as good as any, up to 1 %.

    Their mean over the design is the rank of the arms, and no largest one is below that.
    """
    xp = namespace(widths)
    return xp.max(widths) <= NEAR * xp.sum(chances * widths)


def g_optimal_design(rows: Array, start: Array) -> Array:
    r"""Chances $\pi$ of arms `[N, d]` that minimise $\max_a\|a\|^2_{Q(\pi)^{-1}}$ up to 1 %: `[N]`.

    $Q(\pi) = \sum_a\pi(a)aa^\top$. The least is the rank of the arms (Kiefer & Wolfowitz 1960). From chances
    `start`, 0 for arms that may not be played, $\pi(a) \leftarrow \pi(a)\,\|a\|^2_{Q(\pi)^{-1}}/d$, which
    raises $\det Q$ in every step (Silvey, Titterington & Torsney 1978), and is near after some tens of them.
    """
    xp = namespace(rows)

    def keep(carry: tuple) -> Array:
        chances, widths, step = carry
        return ~is_near(chances, widths) & (step < MOST)

    def improve(carry: tuple) -> tuple:
        chances, widths, step = carry
        better = chances * widths
        better = better / xp.sum(better)
        return better, squared_widths(rows, better), step + 1

    first = start, squared_widths(rows, start), xp.asarray(0)
    return repeat_while(keep, improve, first)[0]
