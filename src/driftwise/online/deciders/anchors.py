"""The inverse of a gram of many dimensions, from eigenvectors that a thread computes."""

import contextlib
import copy
import math
from collections.abc import Callable
from itertools import chain, repeat
from typing import NamedTuple, Self

import numpy as np

from driftwise.base.arrays import cholesky_or_nan, solve_rows_or_nan
from driftwise.base.resources import BackgroundWork

MIN_ANCHORED_DIM = 150  # dimensions from which on an anchor is faster
_LEAD = 0.12  # share of an anchor's life for which the next one is computed ahead
_CHANGES = 2  # of the gram between two calls of `settle`, at most: one sample comes, one leaves
_LARGEST_GROWTH = 1e5  # of the gram, as the anchor measures it, up to which the anchor is used
FINE, ROUGH = 200.0, 5000.0  # growth up to which eleven, and eight, digits need no refinement
_LARGEST_SQUARE = 2.0**996  # in the place of a square: a factor exists whatever lies beside it
BLOCK, FEW_NUMBERS = 8, 2**14  # rows, and numbers up to which a product is not worth cutting into blocks


class GramSnapshot(NamedTuple):
    """Sums of one moment, eigenvectors `Q` of the first, the gram, and perhaps `QᵀMQ` of the last."""

    sums: list[np.ndarray]
    values: np.ndarray  # its eigenvalues, NaN if it has none
    vectors: np.ndarray  # in columns
    turned: np.ndarray | None


def factorise(sums: list[np.ndarray], *, turn: bool = False) -> GramSnapshot:
    """Return sums with eigenvectors of the first, and with the last turned into their coordinates."""
    first, diagonal = sums[0], sums[0].diagonal()
    values, vectors = diagonal.copy(), np.eye(len(first))  # as every agent begins
    if np.count_nonzero(first) != np.count_nonzero(diagonal):
        values.fill(np.nan)
        with contextlib.suppress(np.linalg.LinAlgError):
            values, vectors = np.linalg.eigh(first)
    return GramSnapshot(sums, values, vectors, vectors.T.dot(sums[-1].dot(vectors)) if turn else None)


def anchor_life(dim: int) -> int:
    """Return how many changes of the gram an anchor serves: the `n` of least cost `O(d³/n + n²d)` of each."""
    return math.ceil(1.4 * dim ** (2 / 3))


class RecentSamples:
    """Rows by their numbers, from 0 on; at least those that an anchor can hold are kept."""

    def __init__(self, dim: int) -> None:
        self.capacity = anchor_life(dim) + _CHANGES  # changes of the gram that an anchor must be able to hold
        self._rows, self._first = np.empty((2 * self.capacity, dim)), 0
        self.num, self.dim = 0, dim  # rows so far, and how long they are

    def add(self, row: np.ndarray) -> None:
        """Append a row."""
        if self.num - self._first == len(self._rows):
            self._rows[: self.capacity] = self._rows[self.capacity :]
            self._first += self.capacity
        self._rows[self.num - self._first] = row
        self.num += 1

    def since(self, number: int) -> np.ndarray:
        """Return all rows from that number on; the array is valid until the next one is added."""
        return self._rows[number - self._first : self.num - self._first]


class Anchor:
    r"""An inverse in coordinates in which the gram was diagonal at an earlier moment.

    With $\Lambda_0 = S + \lambda I$ at that moment and $S = Q\,\mathrm{diag}(s)\,Q^\top$, whatever has been
    forgotten and learnt since then leaves

    $$Q^\top\Lambda Q = D^{-1} + G^\top \Sigma G, \qquad D = \mathrm{diag}\frac{1}{cs + \lambda},$$

    with $c$ the weight that the anchor has kept, rows of $G$ the samples since then, turned into its
    coordinates and times the root of their weights, and signs $\Sigma$ (samples that leave a window have −1).
    The rest is Woodbury's identity. A ridge that never shrinks, which no update of an inverse can follow,
    shifts eigenvalues and nothing else.

    Rounding costs a relative error of about $\varepsilon R^2$, where $R = \mathrm{tr}\,G D G^\top$ says how
    much was learnt of directions that the anchor did not know. One step of refinement,
    $y + \Lambda^{-1}(x - \Lambda y)$, squares it, and is taken where $R$ is above `refine_above`.
    """

    def __init__(self, gram: GramSnapshot, ridge: float, refine_above: float, capacity: int) -> None:
        self.vectors, self._ridge, self._refine_above, self._kept = gram.vectors, ridge, refine_above, 1.0
        self._spectrum = np.maximum(gram.values - ridge, 0)  # s
        self._rows, self.num = np.empty((capacity + 2, len(gram.values))), 0
        self.roots, self.signs = np.ones(capacity + 2), np.ones(capacity)  # W^½, Σ
        self._squares = np.zeros(len(gram.values))  # the diagonal of GᵀG
        self._scale: tuple[np.ndarray, np.ndarray] | None = None
        self._factors: tuple[np.ndarray, np.ndarray] | None = None  # F√D [n, d] and G D Gᵀ + Σ, G = W^½F

    @property
    def growth(self) -> float:
        """`R`."""
        return self._scales()[0].dot(self._squares).item()

    @property
    def samples(self) -> np.ndarray:
        """The samples since then, in the anchor's coordinates."""
        return self._rows[: self.num]

    def shrink(self, rate: float) -> None:
        """Follow the gram to `ηΛ + (1−η)λI`."""
        self._kept *= rate
        self.roots[: self.num] *= rate**0.5
        self._squares *= rate
        self._scale = self._factors = None

    def add(self, turned: np.ndarray, weights: np.ndarray | float, signs: np.ndarray | float) -> None:
        """Add samples `[n, d]` in the anchor's coordinates; those of sign −1 leave the gram."""
        new = slice(self.num, self.num + len(turned))
        self._rows[new], self.roots[new], self.signs[new] = turned, np.sqrt(weights), signs
        self._squares += (turned * turned).T.dot(self.roots[new] ** 2)
        self.num += len(turned)
        self._factors = None

    def add_forecast(self) -> None:
        """Add the sample that was forecast last."""
        row = self._rows[self.num]
        self._squares += row * row
        self.num += 1
        self._factors = None

    def solve(self, turned: np.ndarray) -> np.ndarray:
        """Return `QᵀΛ⁻¹x` of each row `Qᵀx` `[N, d]`, NaN where there is none."""
        solved = self._approximate(turned)
        if self.growth > self._refine_above:
            rows, factors = self.samples, self.signs[: self.num] * self.roots[: self.num] ** 2
            product = solved / self._scales()[0] + (solved.dot(rows.T) * factors).dot(rows)  # QᵀΛQy
            solved += self._approximate(turned - product)
        return solved

    def map(self, arms: np.ndarray) -> np.ndarray:
        """Return `Λ⁻¹x` of every arm `[num_arms, d]`."""
        return self.solve(arms.dot(self.vectors)).dot(self.vectors.T)

    def trace(self) -> float:
        """Return the trace of `Λ⁻¹`."""
        inverse = self._scales()[0]
        scaled, inner = self._low_rank()
        rows = scaled * (self.roots[: self.num, None] * self._scales()[1])
        return float(inverse.sum() - np.trace(solve_rows_or_nan(inner, rows.dot(rows.T))))

    def forecast(self, turned: np.ndarray, cross: np.ndarray) -> tuple[float, float]:
        r"""Return `xᵀΛ⁻¹b` and `xᵀΛ⁻¹x` of one `Qᵀx` and `Qᵀb`, where no sample has left.

        With $x$ as one more row of $G$, and with $b$ below it,

        $$\begin{pmatrix} GDG^\top + I & \\ x^\top DG^\top & x^\top Dx + 1 \\
          b^\top DG^\top & b^\top Dx & \cdot\end{pmatrix} = LL^\top$$

        has the Schur complements $1 + x^\top\Lambda^{-1}x$ and $b^\top\Lambda^{-1}x$ in the column of $x$.
        """
        num = self.num
        self._rows[num], self._rows[num + 1] = turned, cross
        if self.growth > self._refine_above:
            (solved,) = self.solve(turned[None])
            return solved.dot(cross).item(), solved.dot(turned).item()
        inner = self._with_rows(num + 2, lower=True)[1]
        diagonal = inner.reshape(-1)[:: num + 3]
        diagonal += 1
        diagonal[-1] = _LARGEST_SQUARE
        factor = cholesky_or_nan(inner)
        pivot = factor.item(num, num)
        return factor.item(num + 1, num) * pivot, pivot * pivot - 1

    def _approximate(self, turned: np.ndarray) -> np.ndarray:
        """Return `QᵀΛ⁻¹x` of each row by Woodbury's identity."""
        half = self._scales()[1]
        (scaled, inner), roots = self._low_rank(), self.roots[: self.num]
        solved = turned * half
        solved -= (solve_rows_or_nan(inner, solved.dot(scaled.T) * roots) * roots).dot(scaled)
        solved *= half
        return solved

    def _low_rank(self) -> tuple[np.ndarray, np.ndarray]:
        """Return `F√D`, and `G D Gᵀ + Σ`."""
        if self._factors is None:
            self._factors = self._with_rows(self.num, lower=False)
            self._factors[1].reshape(-1)[:: self.num + 1] += self.signs[: self.num]
        return self._factors

    def _with_rows(self, num: int, *, lower: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return `F√D` and `G D Gᵀ`, or its lower half, of the first rows."""
        scaled, roots = self._rows[:num] * self._scales()[1], self.roots[:num]
        inner = multiply_lower(scaled) if lower else scaled.dot(scaled.T)
        inner *= roots[:, None] * roots
        return scaled, inner

    def _scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Return `D` and `√D`."""
        if self._scale is None:
            inverse = 1 / (self._kept * self._spectrum + self._ridge)
            self._scale = inverse, np.sqrt(inverse)
        return self._scale


def multiply_lower(rows: np.ndarray) -> np.ndarray:
    """Return the lower half of `MMᵀ`, by blocks of rows: OpenBLAS takes a third longer for the whole."""
    product, block = np.empty((len(rows), len(rows))), BLOCK if rows.size > FEW_NUMBERS else len(rows)
    for start in range(0, len(rows), block):
        stop = start + block
        product[start:stop, :stop] = rows[start:stop].dot(rows[:stop].T)
    return product


class AnchoredInverse:
    r"""The inverse of a gram `[d, d]` from an `Anchor`, in $O(d^2)$ for each arm.

    An anchor serves at most `anchor_life(dim)` changes, and only while its $R$ is at most `_LARGEST_GROWTH`:
    so the error stays below $\max(10^{-11}, \varepsilon\,\mathtt{refine\_above}^2)$, on top of the
    $\varepsilon\,\kappa(\Lambda)$ of any inverse. Only new anchors read the gram itself.

    A thread computes the next one, of the gram as it was a share `_LEAD` of a life ago; samples since then
    are turned into its coordinates. When an anchor is replaced depends on the number of changes alone.
    """

    def __init__(
        self,
        snapshot: Callable[[], Callable[[], GramSnapshot]],
        recent: RecentSamples,
        ridge: float,
        commit: Callable[..., None] = lambda *given: None,
        refine_above: float = FINE,
        first: float = 1.0,
    ) -> None:
        """Make it of `snapshot`, which returns work for an anchor; `commit` takes what the work has read.

        The first anchor has a share `first` of a life.
        """
        self._snapshot, self._commit, self._recent = snapshot, commit, recent
        self._ridge, self._refine_above = ridge, refine_above
        longest = anchor_life(recent.dim)
        self._lives = chain([math.ceil(first * longest)], repeat(longest))  # of anchors, one after the other
        self._lead = math.ceil(_LEAD * longest)
        self._anchor: Anchor | None = None
        self._begin()

    def follow(self, other: Self) -> None:
        """Start from a copy of the gram of another inverse of the same samples and ridge."""
        self._anchor, self._first, self._next = copy.deepcopy(other.anchor()), other._first, None
        self._life = (other._age + other._life + 1) // 2  # before the other's turn

    def anchor(self) -> Anchor:
        """Return the current anchor."""
        if self._anchor is None:
            self._anchor = self._new_anchor(None)
        return self._anchor

    def shrink(self, rate: float) -> None:
        """Follow the gram to `ηΛ + (1−η)λI`."""
        if self._anchor is not None:
            self._anchor.shrink(rate)
        if self._next is not None:
            self._kept *= rate

    def add(self, features: np.ndarray, sign: float) -> None:
        """Follow the gram to `Λ ± φφᵀ`."""
        anchor = self.anchor()
        anchor.add(features.dot(anchor.vectors)[None], 1.0, sign)
        self._recent.add(features)

    def settle(self) -> None:
        """Replace the anchor if it is due; the gram is now what `shrink` and `add` made of it."""
        anchor = self.anchor()
        while self._age >= self._life or anchor.growth > _LARGEST_GROWTH:
            self._anchor = anchor = self._new_anchor(anchor)
        if self._next is None and self._age >= self._life - self._lead:
            self._begin()

    @property
    def _age(self) -> int:
        """Changes since the anchor."""
        return self._recent.num - self._first

    def _begin(self) -> BackgroundWork[GramSnapshot]:
        """Let a thread compute the next anchor, of the gram as it is."""
        self._begun, self._kept = self._recent.num, 1.0
        self._next = following = BackgroundWork(self._snapshot())
        return following

    def _new_anchor(self, old: Anchor | None) -> Anchor:
        """Return the next anchor, with all changes since it was begun."""
        snapshot = (self._next or self._begin()).result()
        self._commit(snapshot.sums, snapshot.turned, self._begun)
        new = Anchor(snapshot, self._ridge, self._refine_above, self._recent.capacity)
        new.shrink(self._kept)
        if old is not None:
            turned = self._recent.since(self._begun).dot(new.vectors)
            last = slice(old.num - len(turned), old.num)
            new.add(turned, old.roots[last] ** 2, old.signs[last])
        self._next, self._first, self._life = None, self._begun, next(self._lives)
        return new
