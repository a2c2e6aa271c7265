"""The last samples that were learnt from, for all who will need them once more."""

from __future__ import annotations

import numpy as np


class Recent:
    """Rows by their numbers, from 0 on; at least the last `room` of them are there."""

    def __init__(self, room: int, dim: int) -> None:
        self._room, self._rows, self._first = room, np.empty((2 * room, dim)), 0
        self.num, self.dim = 0, dim  # rows so far, and how long they are

    def add(self, row: np.ndarray) -> None:
        if self.num - self._first == len(self._rows):
            self._rows[: self._room] = self._rows[self._room :]
            self._first += self._room
        self._rows[self.num - self._first] = row
        self.num += 1

    def since(self, number: int) -> np.ndarray:
        """All rows from that number on, until the next one is added."""
        return self._rows[number - self._first : self.num - self._first]
