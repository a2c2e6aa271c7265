"""Caution: samples of little-known directions count for less, so that no corrupted reward moves much."""

from __future__ import annotations

from driftwise.base.arrays import namespace, spd_products
from driftwise.base.part import number, part
from driftwise.base.types import Array, Numeric


@part
class Caution:
    r"""Weights $w = \min\{1, \alpha/\|\phi\|_{\Lambda^{-1}}\}$ of samples, with $\Lambda$ before the sample.

    Then corruptions $c_\tau$ of the rewards move the estimate by no more than
    $\|\sum_\tau w_\tau\phi_\tau c_\tau\|_{\Lambda^{-1}} \le \alpha\sum_\tau|c_\tau|$ (He, Zhou, Zhang & Gu
    2022). With exponential weights of rate $\eta$ as well they are forgotten at half the rate,

    $$\Bigl\|\sum_\tau \eta^{t-1-\tau} w_\tau\phi_\tau c_\tau\Bigr\|_{\Lambda_t^{-1}}
      \le \alpha\,\eta^{-1/2} \sum_\tau \eta^{(t-1-\tau)/2}\,|c_\tau|,$$

    since $\Lambda_t \succeq \eta^{t-\tau}\Lambda_\tau$. An $\alpha$ above all norms gives every sample the
    weight 1. Rewards that come together all have the weight of the $\Lambda$ before them.
    """

    alpha: Numeric = number(above=0)

    def shares(self, gram: Array, features: Array) -> Array:
        """`w` of each step, from grams `[H, d, d]` and features `[H, d]`."""
        xp = namespace(gram)
        norms = xp.sqrt(xp.maximum(spd_products(gram, features[..., None, :])[..., 0], 0))
        return self.alpha / xp.maximum(norms, xp.asarray(self.alpha, dtype=norms.dtype))
