"""Sums of the decisions that wait, by their definition: each sum is computed over all that count."""

from typing import NamedTuple

import numpy as np


class Made(NamedTuple):
    """A decision that waits."""

    number: int
    features: np.ndarray


class WaitingDecisions:
    """Decisions whose rewards may still come: none is more than twice as old as any was at its reward.

    The age of a decision counts decisions, itself included. One that is too old when a sum is computed never
    counts again.
    """

    def __init__(self) -> None:
        self.counting: dict[str, Made] = {}
        self.longest = 0  # age at a reward

    def reward(self, id: str, num_decisions: int, number: int) -> None:
        self.longest = max(self.longest, num_decisions - number)
        self.counting.pop(id, None)

    def gram(self, num_decisions: int, dim: int) -> np.ndarray:
        """`Σ(φ, 1)(φ, 1)ᵀ`, `[d + 1, d + 1]`."""
        if self.longest:
            recent = num_decisions - 2 * self.longest
            self.counting = {id: made for id, made in self.counting.items() if made.number >= recent}
        total = np.zeros((dim + 1, dim + 1))
        for made in self.counting.values():
            row = np.append(made.features, 1.0)
            total += np.outer(row, row)
        return total
