"""Forgetting by the clock: samples have times, and weigh what their ages have left of them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.arrays import identity_like, namespace, spd_inverse
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Moments, Numeric, Sample, WeightFunction
from driftwise.parts.regression import contributions, squared_share

FLOOR = 1e-9  # which a ridge does not decay below: it would round to 0


@part
class ClockWeights(WeightFunction):
    r"""A sample's weight halves with every half-life of its age: `ω = 2^(−age/half_life)`, in seconds.

    Moments are those of one moment, which `memory` says. In $s$ seconds $\rho = 2^{-s/h}$ of them is kept:

    $$\Lambda \leftarrow \rho\Lambda + (\lambda' - \rho\lambda)I, \qquad
    \tilde\Lambda \leftarrow \rho^2\tilde\Lambda + (\lambda' - \rho^2\lambda)I, \qquad
    b \leftarrow \rho b + (1-\rho)\lambda\theta_0.$$

    `prior` says what the ridge does meanwhile. `"zero"`: $\lambda' = \lambda$ and $\theta_0 = 0$, so that
    silence sends the estimate to 0. `"hold"`: $\theta_0 = \Lambda^{-1}b$, the estimate, which then stands
    still. `"decay"`: $\lambda' = \rho\lambda$ and $\theta_0 = 0$; the estimate stands still too, and the
    width grows without end. Where a sample has its time, these are sums over ages for `"zero"`, in whatever
    order samples come: one of an earlier time than the moments' is added with the weight $\omega$ that it has
    by now, to $\tilde\Lambda$ with $\omega^2$.

    `absorb` is told the times. `update` is for rounds that are a second apart: then `reference="last"`, the
    moments at the time of the last sample, is `ExponentialWeights` of the rate $2^{-1/h}$. A decision that is
    a second later rests on older samples, and `reference="now"` says so.
    """

    half_life: Numeric = number(above=0)
    prior: Literal["zero", "hold", "decay"] = choice("zero", "hold", "decay", default="zero")
    reference: Literal["now", "last"] = choice("now", "last", default="now")

    def kept(self, seconds: Array) -> Array:
        """The share of a weight that is left after so many seconds."""
        return 0.5 ** (seconds / self.half_life)

    def weights(self, tick: int) -> np.ndarray:
        ages = np.arange(tick - 1, -1, -1, dtype=float)
        return self.kept(ages + (self.reference == "now"))

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments._replace(memory=moments.weight)  # 0 seconds

    def update(self, moments: Moments, sample: Sample) -> Moments:
        if self.reference == "now":
            return self.later(_added(moments, sample, 1.0), 1.0)
        return self._after(moments, sample, 1.0 * (moments.tick > 0))

    def absorb(self, moments: Moments, sample: Sample, time: Array) -> Moments:
        """Absorb a sample of that time, which may lie before the moments'; the first sets the clock."""
        last = last_time(moments, time)
        learnt = self._after(moments, sample, time - last)
        return learnt._replace(memory=namespace(moments.gram).maximum(last, time))

    def at(self, moments: Moments, time: Array) -> Moments:
        """The moments that a decision at that time rests on; at an earlier one nothing comes back."""
        if self.reference == "last":
            return moments
        return self.later(moments, namespace(moments.gram).maximum(time - last_time(moments, time), 0.0))

    def _after(self, moments: Moments, sample: Sample, seconds: Array) -> Moments:
        """Absorb a sample that came so many seconds after the moments, or before them."""
        xp = namespace(moments.gram)
        late = self.kept(xp.maximum(-seconds, 0.0))
        return _added(self.later(moments, xp.maximum(seconds, 0.0)), sample, late)

    def later(self, moments: Moments, seconds: Array) -> Moments:
        """The same moments so many seconds later."""
        xp, kept, ridge = namespace(moments.gram), self.kept(seconds), moments.ridge
        cross, gram_sq, identity = kept * moments.cross, moments.gram_sq, identity_like(moments.gram)
        if self.prior == "hold":
            cross = cross + (1 - kept) * ridge * (spd_inverse(moments.gram) @ moments.cross)
        if self.prior == "decay":
            ridge = xp.maximum(kept * ridge, xp.minimum(ridge, FLOOR))
        if gram_sq is not None:
            gram_sq = kept * kept * gram_sq + (ridge - kept * kept * moments.ridge) * identity
        return moments._replace(
            gram=kept * moments.gram + (ridge - kept * moments.ridge) * identity,
            gram_sq=gram_sq,
            cross=cross,
            ridge=ridge,
            weight=kept * moments.weight,
            weight_sq=kept * kept * moments.weight_sq,
            memory=moments.memory + seconds,
        )


def last_time(moments: Moments, time: Array) -> Array:
    """The time of the moments; before the first sample, whatever time it is."""
    return namespace(moments.gram).where(moments.tick > 0, moments.memory, time)


def _added(moments: Moments, sample: Sample, weight: Array) -> Moments:
    """One sample more, of a weight ω at the time of the moments."""
    gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
    gram_sq = moments.gram_sq
    if gram_sq is not None:
        gram_sq = gram_sq + weight * weight * squared_share(sample, gram)
    return moments._replace(
        gram=moments.gram + weight * gram,
        gram_sq=gram_sq,
        cross=moments.cross + weight * cross,
        tick=moments.tick + 1,
        weight=moments.weight + weight * sample.number,
        weight_sq=moments.weight_sq + weight * weight * sample.number,
    )
