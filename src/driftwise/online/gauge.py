"""Does the world drift away from what was learnt? Recent prediction errors against older ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

RECENT, OLDER = 50, 1000  # samples that the two averages remember
LARGEST = 1e100  # error that counts: squares have to stay finite


@dataclass(slots=True)
class Gauge:
    r"""Exponentially weighted means of the errors $|r - \phi^\top\hat\theta|$ at the time of decision.

    A mean that remembers $M$ samples moves by $\max(1/n, 1/M)$ of the way to the $n$-th of them and is worth
    $n_M = \min(n, 2M - 1)$. With the means $m_1$ of the recent past and $m_2$ of the longer one, and the
    latter's variance $v_2$,

    $$\text{drift} = \frac{m_1 - m_2}{\sqrt{v_2\,(1/n_1 + 1/n_2)}},$$

    a standard normal number, roughly, while the world stays as it is. Above 4 it rarely gets by chance,
    unless large errors are rare: with a reward of 1 in a hundred decisions and 0 else, about once in 10,000
    rewards, and above 8 hardly ever. It falls back when the agent has learnt the new world, or when the old
    errors are forgotten here too.
    """

    count: int = 0
    recent: float = 0.0
    older: float = 0.0
    variance: float = 0.0
    recent_bonus: float = 0.0

    def observe(self, error: float, bonus: float) -> None:
        """Take in one error of prediction, and what exploration had added to that prediction."""
        count = self.count = self.count + 1
        size = min(abs(error), LARGEST)
        step = 1 / count if count < RECENT else 1 / RECENT
        self.recent += step * (size - self.recent)
        self.recent_bonus += step * (bonus - self.recent_bonus)
        step = 1 / count if count < OLDER else 1 / OLDER
        gap = size - self.older
        self.older += step * gap
        self.variance = (1 - step) * (self.variance + step * gap * gap)

    @property
    def drift(self) -> float:
        """0 until there is a past to compare with."""
        worth = 1 / min(self.count, 2 * RECENT - 1) + 1 / min(self.count, 2 * OLDER - 1) if self.count else 0
        deviation = math.sqrt(self.variance * worth)
        return (self.recent - self.older) / deviation if deviation > 0 else 0.0
