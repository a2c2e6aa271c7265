"""Running means and variances of a number that each pair meets at its visits."""

from __future__ import annotations

from typing import NamedTuple

from driftwise.base.arrays import namespace
from driftwise.base.types import Array


class Spread(NamedTuple):
    """Mean and squared deviations of the numbers met so far, by Welford's recursion.

    A difference of two sums, `Σx²/n − (Σx/n)²`, falls below zero by rounding once the numbers are nearly
    alike. Here every visit adds a number that is never negative.
    """

    mean: Array  # [H, S, A]
    squares: Array  # [H, S, A] Σ(x − mean)²

    def met(self, value: Array, here: Array, count: Array) -> Spread:
        """With `value` added where `here` is 1; `count` has that visit already."""
        share = here / namespace(here).where(here > 0, count, 1.0)
        off = value - self.mean
        return Spread(self.mean + share * off, self.squares + here * (1 - share) * off**2)


def no_spread(like: Array) -> Spread:
    """Nothing met yet, for each place of `like`."""
    nothing = namespace(like).zeros_like(like)
    return Spread(nothing, nothing)
