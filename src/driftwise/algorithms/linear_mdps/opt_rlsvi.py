"""OPT-RLSVI: value iteration with drawn parameters, optimistic where nothing is known."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import AnyForgetting, LinearRun, choose_forgetting, radius_and_memory
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_number, require_numeric
from driftwise.parts import LeastSquares, TruncatedThompson


def tune_opt_rlsvi(
    spec: Spec, *, upper_scale: float = 1.0, mu_bound: float | None = None, **run: Unpack[LinearRun]
) -> dict[str, Any]:
    r"""The scales of Theorem 1, and a forgetting as fast as OPT-WLSVI's.

    $\sigma = \sqrt H\,\beta$ with OPT-WLSVI's radius $\beta = c\,dH\sqrt\iota$, and
    $\alpha_U = \min\{1, c'/(\sigma\sqrt d)\} = 2\alpha_L$; `beta_scale` is $c$ and `upper_scale` $c'$. The
    theory leaves both open; the minimum keeps features of norm one that were never seen doubted when $c$ is
    small. `mu_bound` is that of OPT-WLSVI's radius.
    """
    radius, memory = radius_and_memory(spec, mu_bound, **run)
    scale = math.sqrt(spec.horizon) * radius
    upper_scale = require_number("upper_scale", upper_scale, above=0)
    return dict(scale=scale, upper=upper_scale / max(scale * math.sqrt(spec.dim), upper_scale), **memory)


@tuned_by(tune_opt_rlsvi, "scale", "upper", *AnyForgetting.__annotations__)
@register(
    "none, or any", "drawn parameters, optimistic where unsure", bound="d^2 H^2 T^(1/2), T = HK, stationary"
)
def opt_rlsvi(
    spec: Spec,
    *,
    scale: Numeric,
    upper: Numeric,
    lower: Numeric | None = None,
    ridge: Numeric = 1.0,
    **forgetting: Unpack[AnyForgetting],
) -> LeastSquares:
    r"""Optimistic randomised least-squares value iteration.

    $$\bar w_{t,h} = \Lambda^{-1} \sum_{\tau<t} \phi_\tau \bigl(r_\tau + \bar V_{t,h+1}(s'_\tau)\bigr) + \xi,
      \qquad \xi \sim N(0, \sigma^2\Lambda^{-1}), \qquad \bar V_{t,h} = \max_a \bar Q_{t,h}(\cdot, a),$$
    $$\bar Q_{t,h} = (1 - u)\,\phi^\top\bar w_{t,h} + u\,(H-h+1), \qquad
      u = \min\Bigl\{1, \max\Bigl\{0,
      \frac{\|\phi\|_{\Lambda^{-1}} - \alpha_L}{\alpha_U - \alpha_L}\Bigr\}\Bigr\}.$$

    Where it forgets, sums are weighted, and $\xi \sim N(0, \sigma^2\Lambda^{-1}\tilde\Lambda\Lambda^{-1})$
    with squared weights in $\tilde\Lambda$.

    Args:
      scale: $\sigma \ge 0$.
      upper: $\alpha_U$, from which on an estimate counts for nothing; a feature of norm one that was never
        seen is at $1/\sqrt\lambda$.
      lower: $\alpha_L \le \alpha_U$, up to which it is trusted; half of `upper` if left out, as in the paper.
    When to use: you want exploration by drawn parameters instead of a bonus, in values of many steps.
    When not: you want the smaller bound. That of `lsvi_ucb` has a lower power of the dimension.
    Reference: Zanette, Brandfonbrener, Brunskill, Pirotta & Lazaric 2020, Algorithm 1.
    Deviations from the paper: ties are broken at random. Forgetting is ours.
    """
    if lower is None:
        lower = np.asarray(require_numeric("upper", upper, at_least=0)) / 2
    exploration = TruncatedThompson(scale, lower, upper)
    return LeastSquares(spec, choose_forgetting(**forgetting), exploration, ridge, clip="none")
