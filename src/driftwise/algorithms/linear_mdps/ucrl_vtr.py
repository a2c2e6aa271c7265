"""UCRL-VTR and UCRL-VTR+: value-targeted regression for mixtures of known kernels."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import (
    AnyForgetting,
    ForgettingKind,
    choose_forgetting,
    mixture_keyword,
)
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import require_count
from driftwise.parts import BernsteinRadius, ConfidenceRadius, ValueTargeted, VarianceWeights


def tune_ucrl_vtr(
    spec: Spec,
    *,
    num_kernels: int,
    num_episodes: int,
    variation: float = 0.0,
    forgetting: ForgettingKind = "none",
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""$\beta = c(\sqrt{\lambda J} + \frac12\sqrt{2\log(1/\delta') + \ell})$, and a forgetting for a path.

    $J$ is `num_kernels`, `len(environment.mu)`. $\ell = \log(\det\Lambda/\lambda^J)$, and with exponential
    weights its bound $J\log(1 + \sum\omega^2/(\lambda J))$. $\delta' = \delta/(HN)$ with $N$ the number of
    epochs for restarts, of episodes for weights and windows, and else 1. `beta_scale` is $c$.

    Exponential weights have $\log(1/\eta) = \sqrt{P/(JHK)}$ for a mixture of the path
    $P = \sum_{k,h} \|\theta_{k+1,h} - \theta_{k,h}\|$ with $\theta = \sqrt J c$; windows and epochs have
    $\lceil\sqrt{JHK/P}\rceil$ episodes. `variation` stands for $P$. This is ours, by analogy with OPT-WLSVI
    and not proved.
    """
    num_kernels = require_count("num_kernels", num_kernels)
    memory = mixture_keyword(
        spec, forgetting, num_kernels=num_kernels, num_episodes=num_episodes, variation=variation
    )
    by_epochs = forgetting in ("none", "restart")
    shares = -(-num_episodes // memory.get("period", num_episodes)) if by_epochs else num_episodes
    radius = ConfidenceRadius(
        noise_scale=0.5,
        norm_bound=math.sqrt(num_kernels),
        delta=delta,
        information="count" if forgetting == "exponential" else "determinant",
        spread="epochs" if by_epochs else "rounds",
        shares=spec.horizon * shares,
        scale=beta_scale,
    )
    return dict(radius=radius, **memory)


@tuned_by(tune_ucrl_vtr, "radius", *AnyForgetting.__annotations__)
@register("none, or any", "UCB on a mixture of known kernels; rewards are known")
def ucrl_vtr(
    spec: Spec,
    *,
    radius: Numeric | Radius,
    ridge: Numeric = 1.0,
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> ValueTargeted:
    r"""Upper-confidence reinforcement learning with value-targeted regression.

    It needs the kernels $\psi_j$ of $J$ anchors, of which the transitions are an unknown mixture
    $P_h = \sum_j c_{h,j} \psi_{j,h}$, and the rewards of the episode that it plans. From $V_{k,H+1} = 0$
    backwards:
    $$x_{k,h}(s,a)_j = \frac{1}{H\sqrt J}\sum_{s'} \psi_{j,h}(s' \mid s,a) V_{k,h+1}(s'), \qquad
      \Lambda_{k,h} = \sum_{\tau<k} x_{\tau,h} x_{\tau,h}^\top + \lambda I, \qquad
      \hat\theta_{k,h} = \Lambda_{k,h}^{-1} \sum_{\tau<k} x_{\tau,h} V_{\tau,h+1}(s_{\tau,h+1})/H,$$
    $$Q_{k,h} = r_{k,h} + H\bigl(\hat\theta_{k,h}^\top x_{k,h} +
      \beta\sqrt{x_{k,h}^\top \Lambda_{k,h}^{-1} x_{k,h}}\bigr), \qquad
      V_{k,h}(s) = \max_a [Q_{k,h}(s,a)]_{[0,H]},$$

    where $x_{\tau,h}$ without an argument is that of the pair visited in episode $\tau$: old samples keep the
    values of their own episode. $\hat\theta$ estimates $\sqrt J c_h$, and $\|x\| \le 1$. Where it forgets,
    sums are weighted.

    Args:
      clip: `"range"` as above; `"tight"` clips step h to $[0, H-h+1]$.
    When to use: transitions are an unknown mixture of a few kernels that you know, and rewards are known.
    When not: you know no kernels, or rewards have to be learnt.
    Reference: Ayoub, Jia, Szepesvári, Wang & Yang 2020, Algorithm 3 of the supplement, for linear mixtures:
    each pair has the mixture of the confidence set that is best for it, which adds the bonus above. Algorithm
    1 plans with one for all.
    Deviations from the paper: each step has its own mixture. Values are divided by $H$ and kernels by
    $\sqrt J$, so that $\lambda$ and $\beta$ have no units. Where several actions reach the clip, the one with
    the largest unclipped index acts; other ties are broken at random.
    Forgetting is ours.
    """
    return ValueTargeted(spec, choose_forgetting(**forgetting), radius, ridge, clip)


def tune_ucrl_vtr_plus(
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


@tuned_by(
    tune_ucrl_vtr_plus, "radius", "variance_radius", "squares_radius", "ridge", *AnyForgetting.__annotations__
)
@register(
    "none, or any", "UCB on a mixture of known kernels, samples weighted by variance; rewards are known"
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
      clip: `"range"` as above; `"tight"` clips step h to $[0, H-h+1]$.
    When to use: transitions are an unknown mixture of known kernels, and the horizon is long. Variances
    are then far below their worst case.
    When not: runs are short. Three radii have to be right, and `ucrl_vtr` has one.
    Reference: Zhou, Gu & Szepesvári 2021, Algorithm 1.
    Deviations from the paper: values are divided by $H$, their squares by $H^2$ and kernels by $\sqrt J$; so
    are variances, and with the ridge $\lambda/H^4$ of the squares all estimates and bonuses are the paper's.
    Values are clipped to $[0, H]$. Where several actions reach the clip, the one with the largest unclipped
    index acts; other ties are broken at random. Forgetting is ours.
    """
    weights = VarianceWeights(variance_radius, squares_radius)
    return ValueTargeted(spec, choose_forgetting(**forgetting), radius, ridge, clip, weights)
