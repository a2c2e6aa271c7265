"""Forgetting by the clock: the weight of a sample depends on its age in seconds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.arrays import identity_like, namespace, spd_inverse
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Moments, Numeric, Sample, WeightFunction
from driftwise.parts.forgetting import next_moments
from driftwise.parts.regression import contributions, squared_share

_MIN_RIDGE = 1e-9  # a ridge does not decay below it, so that it never rounds to 0


@part
class ClockWeights(WeightFunction):
    r"""A sample's weight halves with every half-life of its age: `ω = 2^(−age/half_life)`, in seconds.

    Moments belong to a time, kept in `memory`. After $s$ seconds, with $\rho = 2^{-s/h}$,
    $$\Lambda \leftarrow \rho\Lambda + (\lambda' - \rho\lambda)I, \qquad
    \tilde\Lambda \leftarrow \rho^2\tilde\Lambda + (\lambda' - \rho^2\lambda)I, \qquad
    b \leftarrow \rho b + (1-\rho)\lambda\theta_0.$$
    Without samples the estimate decays to 0 for `prior="zero"` ($\lambda' = \lambda$, $\theta_0 = 0$). It
    stays for `"hold"` ($\theta_0 = \Lambda^{-1}b$) and for `"decay"` ($\lambda' = \rho\lambda$, $\theta_0 =
    0$), where its width grows without bound. A late sample is added with its present weight $\omega$.

    `update` is for rounds one second apart: with `reference="last"`, the moments at the time of the last
    sample, it is `ExponentialWeights` of rate $2^{-1/h}$; `reference="now"` is one second later.
    """

    half_life: Numeric = number(above=0)
    prior: Literal["zero", "hold", "decay"] = choice("zero", "hold", "decay", default="zero")
    reference: Literal["now", "last"] = choice("now", "last", default="now")

    def decay(self, seconds: Array) -> Array:
        """Return the share of a weight that remains after `seconds`."""
        return 0.5 ** (seconds / self.half_life)

    def weights(self, tick: int) -> np.ndarray:
        ages = np.arange(tick - 1, -1, -1, dtype=float)
        return self.decay(ages + (self.reference == "now"))

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments._replace(memory=moments.weight)  # 0 seconds

    def update(self, moments: Moments, sample: Sample) -> Moments:
        if self.reference == "now":
            return self.advance(_add_sample(moments, sample, 1.0), 1.0)
        return self._after(moments, sample, 1.0 * (moments.tick > 0))

    def absorb(self, moments: Moments, sample: Sample, time: Array) -> Moments:
        """Return the moments after a sample of any time; the first sample sets the clock."""
        xp = namespace(moments.gram)
        last = xp.where(moments.tick > 0, moments.memory, time)
        return self._after(moments, sample, time - last)._replace(memory=xp.maximum(last, time))

    def at(self, moments: Moments, time: Array) -> Moments:
        """Return the moments for a decision at the given time; earlier times change nothing."""
        if self.reference == "last":
            return moments
        xp = namespace(moments.gram)
        return self.advance(moments, xp.maximum(time - xp.where(moments.tick > 0, moments.memory, time), 0.0))

    def _after(self, moments: Moments, sample: Sample, seconds: Array) -> Moments:
        """Return the moments after a sample `seconds` later, or earlier if negative."""
        xp = namespace(moments.gram)
        weight = self.decay(xp.maximum(-seconds, 0.0))
        return _add_sample(self.advance(moments, xp.maximum(seconds, 0.0)), sample, weight)

    def advance(self, moments: Moments, seconds: Array) -> Moments:
        """Return the moments after `seconds` more seconds."""
        xp, share, before = namespace(moments.gram), self.decay(seconds), moments.ridge
        ridge, cross, gram_sq = before, share * moments.cross, moments.gram_sq
        identity = identity_like(moments.gram)
        if self.prior == "hold":
            cross = cross + (1 - share) * ridge * (spd_inverse(moments.gram) @ moments.cross)
        if self.prior == "decay":
            ridge = xp.maximum(share * ridge, xp.minimum(ridge, _MIN_RIDGE))
        if gram_sq is not None:
            gram_sq = share * share * gram_sq + (ridge - share * share * before) * identity
        gram = share * moments.gram + (ridge - share * before) * identity
        weights = share * moments.weight, share * share * moments.weight_sq
        moments = moments._replace(memory=moments.memory + seconds)
        return Moments(gram, gram_sq, cross, ridge, moments.tick, *weights, *moments[7:])


def _add_sample(moments: Moments, sample: Sample, weight: Array) -> Moments:
    """Return the moments with one more sample, of weight ω at their time."""
    gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
    gram_sq = moments.gram_sq
    if gram_sq is not None:
        gram_sq = gram_sq + weight * weight * squared_share(sample, gram)
    sums = moments.gram + weight * gram, gram_sq, moments.cross + weight * cross
    weight_sq = moments.weight_sq + weight * weight * sample.number
    return next_moments(moments, sums, moments.weight + weight * sample.number, weight_sq)
