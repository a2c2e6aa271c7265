"""UCRL-VTR+: value-targeted regression with samples weighted by their variance."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.any_forgetting import (
    AnyForgetting,
    ForgettingKind,
    chosen_forgetting,
    mixture_keyword,
)
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import require_count
from driftwise.parts.radii import BernsteinRadius
from driftwise.parts.value_targeted import ValueTargeted, VarianceWeights


def tuning(
    spec: Spec,
    *,
    num_kernels: int,
    num_episodes: int = 1,
    variation: float = 0.0,
    forgetting: ForgettingKind = "none",
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""$\lambda = 1/J$ and the radii of the paper, times `beta_scale`; a forgetting as fast as UCRL-VTR's.

    $J$ is `num_kernels`, `len(environment.mu)`. Radii are those of `BernsteinRadius`; where nothing is
    forgotten they hold for all episodes at once. `num_episodes` and `variation` are for the forgetting alone,
    which is ours.
    """
    num_kernels = require_count("num_kernels", num_kernels)
    memory = mixture_keyword(
        spec, forgetting, num_kernels=num_kernels, num_episodes=num_episodes, variation=variation
    )
    radii = {
        of: BernsteinRadius(spec.horizon, of, delta, beta_scale) for of in ("values", "weights", "squares")
    }
    return dict(
        radius=radii["values"],
        variance_radius=radii["weights"],
        squares_radius=radii["squares"],
        ridge=1 / num_kernels,
        **memory,
    )


@register(
    tuning=tuning,
    tunes=("radius", "variance_radius", "squares_radius", "ridge", *AnyForgetting.__annotations__),
    forgetting="none, or any",
    exploration="UCB on a mixture of known kernels, samples weighted by variance; rewards are known",
    paper="Zhou, Gu & Szepesvári 2021",
)
def ucrl_vtr_plus(
    spec: Spec,
    *,
    radius: Numeric | Radius,
    variance_radius: Numeric | Radius = 0.0,
    squares_radius: Numeric | Radius = 0.0,
    ridge: Numeric = 1.0,
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> ValueTargeted:
    r"""UCRL-VTR whose samples are weighted by the inverse of an upper estimate of their variance.

    It needs what `ucrl_vtr` needs, and plans in the same way with sums of weighted samples,
    $\hat\Lambda = \sum_\tau \bar\sigma_\tau^{-2} x_\tau x_\tau^\top + \lambda I$, which give $\hat\theta$. A
    second regression, without weights, is of the squares $V_{\tau,h+1}^2/H^2$ on
    $y_j = \psi_j V_{\tau,h+1}^2/(H^2\sqrt J)$, with the ridge $\lambda/H^4$; it gives $\tilde\theta$. At the
    visited pairs, before they are learnt from:
    $$\bar\sigma^2 = \max\{1/J,\ [\tilde\theta^\top y]_{[0,1]} - [\hat\theta^\top x]_{[0,1]}^2 + E\},
      \qquad E = \min\{1, 2\check\beta\|x\|_{\hat\Lambda^{-1}}\} +
      \min\{1, \tilde\beta\|y\|_{\tilde\Lambda^{-1}}\}.$$

    Args:
      radius: $\hat\beta \ge 0$.
      variance_radius: $\check\beta \ge 0$; 0 takes the estimate of the mean as it is.
      squares_radius: $\tilde\beta \ge 0$; 0 takes the estimate of the square as it is.
      ridge: $\lambda > 0$.
      clip: as of `ucrl_vtr`.
      rate, length, period, directional: at most one of them, see `AnyForgetting`.

    When to use: transitions are an unknown mixture of known kernels, and the horizon is long. Variances
    are then far below their worst case.

    When not: runs are short. Three radii have to be right, and `ucrl_vtr` has one.

    Reference: Zhou, Gu & Szepesvári, "Nearly Minimax Optimal Reinforcement Learning for Linear Mixture Markov
    Decision Processes", COLT 2021, Algorithm 1.

    Deviations from the paper: values are divided by $H$, their squares by $H^2$ and kernels by $\sqrt J$; so
    are variances, and with the ridge $\lambda/H^4$ of the squares all estimates and bonuses are the paper's.
    Values are clipped to $[0, H]$. Where several actions reach the clip, the one with the largest unclipped
    index acts; other ties are broken at random. Forgetting is ours.
    """
    weights = VarianceWeights(variance_radius, squares_radius)
    return ValueTargeted(spec, chosen_forgetting(**forgetting), radius, ridge, clip, weights)
