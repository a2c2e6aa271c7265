"""Radii of confidence sets for generalised linear bandits, as functions of what was seen."""

from __future__ import annotations

from driftwise.base.arrays import namespace
from driftwise.base.part import number, part
from driftwise.base.types import Array, Moments, Numeric, Radius
from driftwise.theory.confidence import log_failure


@part
class MirrorDescentRadius(Radius):
    r"""$b\sqrt{\lambda S^2 + 2\zeta\log(1/\delta') + (6\zeta^2+\zeta)D}$, for `MirrorDescent`.

    $D$ is the `memory` of its moments. $\delta' = \delta/N$ for a known number `shares` of rounds;
    `shares=0` is a schedule for runs of unknown length. `scale` is $b$.
    """

    norm_bound: Numeric = number(above=0)
    step_size: Numeric = number(at_least=1)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    shares: Numeric = number(at_least=0, default=0)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, dtype = namespace(moments.gram), moments.gram.dtype
        norm_bound, step_size, delta, shares, scale, current = (
            xp.asarray(each, dtype=dtype)
            for each in (
                self.norm_bound,
                self.step_size,
                self.delta,
                self.shares,
                self.scale,
                moments.tick + 1,
            )
        )
        failure = log_failure(delta, shares, current, xp)
        squared = moments.ridge * norm_bound**2 + 2 * step_size * failure
        return scale * xp.sqrt(squared + (6 * step_size**2 + step_size) * moments.memory)
