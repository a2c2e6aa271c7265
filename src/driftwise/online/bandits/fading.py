"""A sum with exponential weights that is brought up to date when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


class Fading:
    r"""The matrix $M \leftarrow \eta M + \phi\phi^\top + (1-\eta)\lambda I$.

    All samples since it was last brought up to date are added at once, as one product of matrices,

    $$M_{t+n} = \eta^nM_t + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F + (1-\eta^n)\lambda I,$$

    now or by another thread: arrays are made anew, and never written to.
    """

    def __init__(self, matrix: np.ndarray, rate: float, ridge: float, room: int) -> None:
        """The sum for so many samples in one product."""
        self._rate, self._ridge, self._samples = rate, ridge, np.empty((room, len(matrix)))
        self.set(matrix)

    def set(self, matrix: np.ndarray) -> None:
        """Go on from a matrix."""
        self._matrix = matrix
        self._num = self._lent = 0  # samples that are not in it yet, and those of `later`

    def add(self, features: np.ndarray) -> None:
        if self._num == len(self._samples):
            self.now()
        self._samples[self._num] = features
        self._num += 1

    def now(self) -> np.ndarray:
        """`M`."""
        if self._num:
            self.set(self.later()())
        return self._matrix

    def later(self) -> Callable[[], np.ndarray]:
        """`M` as it is now, for whoever has the time to compute it."""
        matrix, ridge, (kept, rows), self._lent = self._matrix, self._ridge, self._waiting(), self._num

        def made() -> np.ndarray:
            total = rows.T.dot(rows)
            total += kept * matrix
            total.reshape(-1)[:: len(total) + 1] += (1 - kept) * ridge
            return total

        return made

    def take(self, matrix: np.ndarray) -> None:
        """Go on from what `later` has made, unless the sum was brought up to date in between."""
        if self._lent:
            since = self._samples[self._lent : self._num]
            self._samples[: len(since)] = since
            self.set(matrix)
            self._num = len(since)

    def times(self, rows: np.ndarray) -> np.ndarray:
        """`My` of each row, without bringing it up to date."""
        kept, waiting = self._waiting()
        product = rows.dot(self._matrix)
        product *= kept
        product += rows.dot(waiting.T).dot(waiting)
        product += (1 - kept) * self._ridge * rows
        return product

    def _waiting(self) -> tuple[float, np.ndarray]:
        """What is kept of the matrix, and the new samples, each times the root of its weight."""
        ages = np.arange(self._num - 1, -1, -1.0)
        return self._rate**self._num, self._samples[: self._num] * (self._rate ** (ages / 2))[:, None]
