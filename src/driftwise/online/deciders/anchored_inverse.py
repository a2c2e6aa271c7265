"""The inverse of a gram of many dimensions, from anchors that a thread computes in the background."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np

from driftwise.online.deciders.anchors import Anchor, Eigen
from driftwise.online.forking import background_lock

MIN_ANCHORED_DIM = 150  # dimensions from which on an anchor is faster
_LEAD = 0.12  # share of an anchor's life for which the next one is computed ahead
_CHANGES = 2  # of the gram between two calls of `settle`, at most: one sample comes, one leaves
_LARGEST_GROWTH = 1e5  # of the gram, as the anchor measures it, up to which the anchor is used
FINE, ROUGH = 200.0, 5000.0  # growth up to which eleven, and eight, digits need no refinement


class GramSnapshot(NamedTuple):
    """Sums of one moment, eigenvectors `Q` of the first, the gram, and perhaps `QᵀMQ` of the last."""

    sums: list[np.ndarray]
    eigen: Eigen
    turned: np.ndarray | None


SnapshotWork = Callable[[], GramSnapshot]


def eigen_of(matrix: np.ndarray) -> Eigen:
    """Return the eigenvalues and eigenvectors of one symmetric matrix."""
    diagonal = matrix.diagonal()
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):  # as every agent begins
        return Eigen(diagonal.copy(), np.eye(len(matrix)))
    try:
        return Eigen(*np.linalg.eigh(matrix))
    except np.linalg.LinAlgError:
        return Eigen(np.full(len(matrix), np.nan), matrix)


def factorise(sums: list[np.ndarray], *, turn: bool = False) -> GramSnapshot:
    """Return sums with eigenvectors of the first, and with the last turned into their coordinates."""
    eigen = eigen_of(sums[0])
    vectors = eigen.vectors
    return GramSnapshot(sums, eigen, vectors.T.dot(sums[-1].dot(vectors)) if turn else None)


class BackgroundEigh:
    """Eigenvectors of a gram, whose computation begins now; results depend on nothing but the work."""

    def __init__(self, work: SnapshotWork) -> None:
        self._work, self._begun, self._result = work, threading.Lock(), None
        self._thread = threading.Thread(target=self._run, name="driftwise-eigenvectors")
        with contextlib.suppress(RuntimeError):  # a process may have no thread left, as when it ends
            self._thread.start()

    def result(self) -> GramSnapshot:
        """Wait for the snapshot, or compute it if no thread has begun."""
        if not self._begun.acquire(blocking=False) and self._thread.is_alive():
            self._thread.join()
        return self._work() if self._result is None else self._result  # a forked child has no thread

    def _run(self) -> None:
        with background_lock:  # decisions keep the other processors
            if self._begun.acquire(blocking=False):
                self._result = self._work()


def anchor_life(dim: int) -> int:
    """Return how many changes of the gram an anchor serves: `n` of the least cost `O(d³/n + n²d)` of each."""
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


class AnchoredInverse:
    r"""The inverse of a gram `[d, d]` from an `Anchor`, which is replaced again and again.

    An anchor serves at most `anchor_life(dim)` changes, and only while its $R$ is at most `_LARGEST_GROWTH`:
    so the error stays below $\max(10^{-11}, \varepsilon\,\mathtt{refine\_above}^2)$, on top of the
    $\varepsilon\,\kappa(\Lambda)$ of any inverse. Only new anchors read the gram itself.

    An inverse costs $O(d^3)$ for every decision, this $O(d^2)$ for each arm, and $O(d^3)$ once per anchor.
    Few decisions wait for that: a thread computes the next anchor, of the gram as it was a share `_LEAD` of a
    life ago, and samples since then are turned into its coordinates; the first one is begun with the gram.
    When an anchor is replaced depends on the number of changes alone, not on time or on who reads.
    """

    def __init__(
        self,
        snapshot: Callable[[], SnapshotWork],
        recent: RecentSamples,
        ridge: float,
        commit: Callable[[list[np.ndarray], np.ndarray | None, int], None] | None = None,
        refine_above: float = FINE,
        first: float = 1.0,
    ) -> None:
        """Make an inverse; call `reset` before using it.

        `snapshot` returns the work that computes sums and eigenvectors of the gram as it is now; `commit`
        takes its sums, the turned one, and the number of samples then. The first anchor has a share `first`
        of a life.
        """
        self._snapshot, self._commit, self._recent = snapshot, commit, recent
        self._ridge, self._refine_above = ridge, refine_above
        longest = anchor_life(recent.dim)
        self._lives = chain([math.ceil(first * longest)], repeat(longest))
        self._lead = math.ceil(_LEAD * longest)

    def reset(self) -> None:
        """Start from another gram."""
        self._anchor: Anchor | None = None
        self._begin()

    def follow(self, other: AnchoredInverse) -> None:
        """Start from a copy of the gram of another inverse of the same samples and ridge."""
        self._anchor, self._first, self._next = other.anchor().copy(), other._first, None
        self._life = (other._age + other._life + 1) // 2  # before the other's turn

    def map(self, arms: np.ndarray) -> np.ndarray:
        """Return `Λ⁻¹x` of every arm `[num_arms, d]`, NaN where there is none."""
        anchor = self.anchor()
        return anchor.solve(anchor.turn(arms)).dot(anchor.vectors.T)

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
        anchor.add(anchor.turn(features)[None], 1.0, sign)
        self._recent.add(features)

    def add_forecast(self) -> None:
        """Follow the gram to `Λ + φφᵀ` of the sample that the anchor forecast last, the last recent one."""
        self.anchor().add_forecast()

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

    def _begin(self) -> BackgroundEigh:
        """Let a thread compute the next anchor, of the gram as it is."""
        self._begun, self._kept = self._recent.num, 1.0
        self._next = following = BackgroundEigh(self._snapshot())
        return following

    def _new_anchor(self, old: Anchor | None) -> Anchor:
        """Return the next anchor, with all changes since it was begun."""
        snapshot = (self._next or self._begin()).result()
        if self._commit is not None:
            self._commit(snapshot.sums, snapshot.turned, self._begun)
        new = Anchor(snapshot.eigen, self._ridge, self._refine_above, self._recent.capacity)
        new.shrink(self._kept)
        if old is not None:
            new.add_from(old, new.turn(self._recent.since(self._begun)))
        self._next, self._first, self._life = None, self._begun, next(self._lives)
        return new
