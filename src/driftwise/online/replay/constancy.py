r"""A test of whether a policy's value stayed the same, by betting against every value that it could have had.

If the value is $\nu$ all the time, the wealth $\prod_i(1 + \lambda_i(\varphi_i - \nu))$ of bets that are
known before the outcomes $\varphi_i \ge 0$, $0 \le \lambda_i < 1/\nu$, is a martingale, and so is that of
bets on the opposite, $1 - \nu$. The mean of both exceeds $1/\alpha$ with probability $\alpha$ at most. Where
every $\nu$ has been rejected, none held all the time. As an interval for a value that moves this would be
wrong.

Reference: Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024.
"""

from __future__ import annotations

import math

import numpy as np

NUM_CELLS = 128


class Constancy:
    """Values in [0, 1], in cells; a cell is rejected if bets at its less favourable end would have been."""

    def __init__(self, alpha: float) -> None:
        ends = np.linspace(0.0, 1.0, NUM_CELLS + 1)
        self._limit = math.log(2 / alpha)
        self._left = np.ones(NUM_CELLS, dtype=bool)
        self._sides = _Bets(ends[1:]), _Bets(1 - ends[:-1])
        self.count = 0
        self.changed_by: int | None = None  # the number of outcomes after which no value was left

    def add(self, outcome: float, opposite: float) -> None:
        """Take in `φ` of the rewards r in [0, 1], and that of 1 − r."""
        self.count += 1
        if self.changed_by is not None:
            return
        up, down = (side.add(each) for side, each in zip(self._sides, (outcome, opposite), strict=True))
        self._left &= np.logaddexp(up, down) < self._limit
        if not self._left.any():
            self.changed_by = self.count


class _Bets:
    """Bets that the mean of outcomes is above given ones, for each of these."""

    def __init__(self, means: np.ndarray) -> None:
        self._means, self._most = means, 0.5 / means
        self._wealth = np.zeros(len(means))  # logarithms
        self._count, self._mean, self._squares = 1, 0.5, 0.25

    def add(self, outcome: float) -> np.ndarray:
        """Logarithms of the wealth after an outcome; bets suit the mean and the variance before it."""
        gap = self._mean - self._means
        bets = np.clip(gap / (self._squares / self._count + gap * gap), 0.0, self._most)
        self._wealth += np.log1p(bets * (outcome - self._means))
        self._count += 1
        step = outcome - self._mean
        self._mean += step / self._count
        self._squares += step * (outcome - self._mean)
        return self._wealth
