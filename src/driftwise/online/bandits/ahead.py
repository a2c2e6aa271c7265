"""Eigenvectors that a thread makes ahead, while decisions go on."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from driftwise.online.bandits.forking import survives_forks


class Eigen(NamedTuple):
    """A symmetric matrix by its eigenvalues, NaN if it has none."""

    values: np.ndarray  # [d]
    vectors: np.ndarray  # [d, d], in columns


def eigen(matrix: np.ndarray) -> Eigen:
    """Eigenvalues and eigenvectors of one symmetric matrix."""
    diagonal = matrix.diagonal()
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):  # as every agent begins
        return Eigen(diagonal.copy(), np.eye(len(matrix)))
    try:
        return Eigen(*np.linalg.eigh(matrix))
    except np.linalg.LinAlgError:
        return Eigen(np.full(len(matrix), np.nan), matrix)


class Made(NamedTuple):
    """Sums of one moment, eigenvectors `Q` of the first, the gram, and perhaps `QᵀMQ` of the last."""

    sums: list[np.ndarray]
    eigen: Eigen
    turned: np.ndarray | None


Work = Callable[[], Made]


def made_of(sums: list[np.ndarray], *, turn: bool = False) -> Made:
    """Sums with their eigenvectors, and with the last one turned into the coordinates of these."""
    found = eigen(sums[0])
    vectors = found.vectors
    return Made(sums, found, vectors.T.dot(sums[-1].dot(vectors)) if turn else None)


class Turns:
    """One thread at a time works ahead: decisions keep the other processors."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        survives_forks(self, last=True)  # BLAS does not, in the middle of its work

    def wait(self) -> threading.RLock:
        """To be held while it works."""
        return self._lock

    def _begin_in_child(self) -> None:
        pass


TURNS = Turns()


class Ahead:
    """Eigenvectors of a gram, in the making from now on.

    Whoever asks waits for them, or makes them if nobody has begun, so that results depend on nothing but who
    asks for what.
    """

    def __init__(self, work: Work) -> None:
        self._make, self._begun, self._found = work, threading.Lock(), None
        self._thread = threading.Thread(target=self._work, name="driftwise-eigenvectors")
        with contextlib.suppress(RuntimeError):  # a process may have no thread left, as when it ends
            self._thread.start()

    def result(self) -> Made:
        """The eigenvectors."""
        if not self._begun.acquire(blocking=False) and self._thread.is_alive():
            self._thread.join()
        return self._make() if self._found is None else self._found  # a forked child has no thread

    def _work(self) -> None:
        with TURNS.wait():
            if self._begun.acquire(blocking=False):
                self._found = self._make()
