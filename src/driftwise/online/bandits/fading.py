"""A sum with exponential weights that is brought up to date now and then."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftwise.online.bandits.recent import Recent


class Fading:
    r"""The matrix $M \leftarrow \eta M + \phi\phi^\top + (1-\eta)\lambda I$ over recent samples.

    All samples since it was last brought up to date are added at once, as one product of matrices,

    $$M_{t+n} = \eta^nM_t + F^\top\mathrm{diag}(\eta^{n-1}, \dots, \eta, 1)F + (1-\eta^n)\lambda I,$$

    by any thread: arrays are made anew, and never written to. Whoever looks at it changes nothing.
    """

    def __init__(self, matrix: np.ndarray, rate: float, ridge: float, recent: Recent) -> None:
        self._rate, self._ridge, self._recent = rate, ridge, recent
        self.matrix, self._since = matrix, recent.num  # the first sample that is not in it yet

    def now(self) -> np.ndarray:
        """`M`."""
        return self.later()()

    def later(self) -> Callable[[], np.ndarray]:
        """`M` as it is now, for whoever has the time to compute it."""
        matrix, ridge, (kept, weights) = self.matrix, self._ridge, self._weights()
        rows = self.waiting * np.sqrt(weights)[:, None]

        def made() -> np.ndarray:
            total = rows.T.dot(rows)
            total += kept * matrix
            total.reshape(-1)[:: len(total) + 1] += (1 - kept) * ridge
            return total

        return made

    def take(self, matrix: np.ndarray, number: int) -> None:
        """Go on from the matrix that `later` has made when samples had come up to that number."""
        self.matrix, self._since = matrix, number

    @property
    def waiting(self) -> np.ndarray:
        """Samples that are not in the matrix yet."""
        return self._recent.since(self._since)

    def squares(self, rows: np.ndarray, matrix: np.ndarray, waiting: np.ndarray) -> np.ndarray:
        """`yᵀMy` of each row, in coordinates in which the matrix and the samples that wait are these."""
        kept, weights = self._weights()
        squares = kept * np.vecdot(rows.dot(matrix), rows)
        squares += (rows.dot(waiting.T) ** 2).dot(weights)
        squares += (1 - kept) * self._ridge * np.vecdot(rows, rows)
        return squares

    def _weights(self) -> tuple[float, np.ndarray]:
        """What is kept of the matrix, and weights of the samples that wait."""
        num = len(self.waiting)
        return self._rate**num, self._rate ** np.arange(num - 1, -1, -1.0)
