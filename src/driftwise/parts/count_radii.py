"""Radii of confidence sets around means of counted samples."""

from __future__ import annotations

import itertools
from typing import Any

from driftwise.base.arrays import namespace
from driftwise.base.part import number, part
from driftwise.base.types import Array, Numeric
from driftwise.base.validation import ArgumentError, require_count, require_numeric


@part
class Phases:
    """A number for each stretch of time: the first holds up to `starts[0]`, the next up to `starts[1]`, …"""

    starts: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        starts = tuple(require_count("starts", start) for start in self.starts)
        if any(late <= early for early, late in itertools.pairwise(starts)):
            raise ArgumentError("starts", "be rising", starts)
        values = tuple(require_numeric("values", value, at_least=0) for value in self.values)
        if len(values) != len(starts) + 1:
            raise ArgumentError("values", f"be one more than starts ({len(starts)})", len(values))
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "values", values)

    def given(self, tick: Array) -> Array:
        xp = namespace(tick)
        if not self.starts:
            return xp.asarray(self.values[0])
        return xp.asarray(self.values)[xp.sum(tick >= xp.asarray(self.starts))]


@part
class CountRadius:
    r"""$b\sqrt{(c + g \log t + l \log\tau)/\max(1, N)} + w$ after N samples, in step t since a restart.

    That was in step τ of the run. `scale` is b, `constant` c, `growth` g, `lateness` l; `widening` is w, or
    `Phases` of it.
    """

    constant: Numeric = number(at_least=0)
    growth: Numeric = number(at_least=0, default=0.0)
    scale: Numeric = number(at_least=0, default=1.0)
    widening: Numeric | Phases = number(at_least=0, or_part=Phases, default=0.0)
    lateness: Numeric = number(at_least=0, default=0.0)

    def given(self, counts: Array, age: Array, tick: Array) -> Array:
        """`[S, A]`, from counts `[S, A]`, steps since the last restart and steps since the first."""
        xp = namespace(counts)
        widening: Any = self.widening.given(tick) if isinstance(self.widening, Phases) else self.widening
        since, start = (xp.log(xp.astype(step + 1, counts.dtype)) for step in (age, tick - age))
        squared = self.constant + self.growth * since + self.lateness * start
        spread = xp.sqrt(squared / xp.maximum(counts, xp.ones_like(counts)))
        return xp.astype(self.scale * spread + widening, counts.dtype)
