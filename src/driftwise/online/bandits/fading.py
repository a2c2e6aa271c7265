"""A sum with exponential weights that is brought up to date when somebody asks for it."""

from __future__ import annotations

import numpy as np


class Fading:
    r"""The matrix $M \leftarrow \eta M + \phi\phi^\top + (1-\eta)\lambda I$, written in place.

    All samples since it was last asked for are added at once, as one product of matrices,

    $$M_{t+n} = \eta^nM_t + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F + (1-\eta^n)\lambda I.$$
    """

    def __init__(self, matrix: np.ndarray, rate: float, ridge: float, room: int) -> None:
        """The sum for so many samples in one product."""
        self._matrix, self._rate, self._ridge = matrix, rate, ridge
        self._samples, self._num = np.empty((room, len(matrix))), 0  # that are not in it yet

    def clear(self) -> None:
        """Go on from a matrix that has become another one."""
        self._num = 0

    def add(self, features: np.ndarray) -> None:
        if self._num == len(self._samples):
            self.now()
        self._samples[self._num] = features
        self._num += 1

    def now(self) -> np.ndarray:
        """`M`."""
        if self._num:
            kept, rows = self._waiting()
            self._matrix *= kept
            self._matrix += rows.T.dot(rows)
            self._matrix.reshape(-1)[:: len(self._matrix) + 1] += (1 - kept) * self._ridge
            self._num = 0
        return self._matrix

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
