"""Radii of confidence sets for generalised linear bandits, as functions of what was seen."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

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
        return scale * descent_radius(moments.memory, failure, step_size, norm_bound, moments.ridge, xp)


def descent_radius(
    information: Array, failure: Array, step_size: Numeric, norm_bound: Numeric, ridge: Numeric, xp: Any
) -> Array:
    r"""$\sqrt{\lambda S^2 + 2\zeta\log(1/\delta') + (6\zeta^2+\zeta)D}$ of an information $D$."""
    squared = ridge * norm_bound**2 + 2 * step_size * failure
    return xp.sqrt(squared + (6 * step_size**2 + step_size) * information)


@part
class SelfConcordantRadius(Radius):
    r"""$\beta/\sqrt{c_\mu}$ of SC-D-GLUCB, for `WeightedLikelihood` whose gram has the ridge $\lambda/c_\mu$.

    $$\rho = \frac{\sqrt\lambda}{2m} + \frac{2m}{\sqrt\lambda}\Bigl(\log\frac T\delta + d\log 2\Bigr)
      + \frac{dm}{\sqrt\lambda}\log\Bigl(1 + \frac{k_\mu(1-T^{-2})}{d\lambda(1-\eta^2)}\Bigr),$$
    $\beta = k_\mu\sqrt{1+2S}(\sqrt\lambda S + \rho)$ where $\|\hat\theta\| \le S$; elsewhere
    $\beta = k_\mu\sqrt\lambda(1 + \bar S + \rho\sqrt{(1+\bar S)/\lambda} + \rho^2/\lambda)^{3/2}$ with
    $\bar S = S + (2Sk_\mu+m)/(T\lambda(1-\eta))$. Russac, Faury, Cappé & Garivier 2021.
    """

    norm_bound: Numeric = number(above=0)
    rate: Numeric = number(above=0, at_most=1)
    num_episodes: Numeric = number(at_least=1, integer=True)
    least_slope: Numeric = number(above=0)
    largest_slope: Numeric = number(above=0)
    most: Numeric = number(above=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, dim, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        bound, rate, last, least, slope, most, delta, scale = (
            xp.asarray(getattr(self, field.name), dtype=dtype) for field in dataclasses.fields(self)
        )
        ridge = moments.ridge * least
        root = xp.sqrt(ridge)
        counted = slope * (1 - last**-2) / (dim * ridge * (1 - rate**2))
        rho = root / (2 * most) + 2 * most / root * (xp.log(last / delta) + dim * math.log(2))
        rho = rho + dim * most / root * xp.log1p(counted)
        longest = bound + (2 * bound * slope + most) / (last * ridge * (1 - rate))  # S̄
        wide = slope * root * (1 + longest + rho * xp.sqrt((1 + longest) / ridge) + rho**2 / ridge) ** 1.5
        narrow = slope * xp.sqrt(1 + 2 * bound) * (root * bound + rho)
        inside = xp.sum(moments.memory.estimate**2) <= bound**2
        return scale / xp.sqrt(least) * xp.where(inside, narrow, wide)
