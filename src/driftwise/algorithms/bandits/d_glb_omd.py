"""D-GLB-OMD: optimism on mirror descent through a link, for clicks and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.algorithms.bandits.agent import require_bandit
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import require_numeric
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.glm_radii import MirrorDescentRadius
from driftwise.parts.links import LinkName, link_of
from driftwise.parts.mirror_descent import MirrorDescent, least_ridge
from driftwise.theory.bandit_tuning import weight_ucb_rate


def tuning(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    """η = 1 − max{1/T, √(P_T/(dT))}, and a radius for all rounds of the run."""
    rate = weight_ucb_rate(dim=spec.dim, num_episodes=num_episodes, variation=variation)
    return dict(rate=rate, num_episodes=num_episodes)


@register(
    tuning=tuning,
    tunes=("rate", "num_episodes"),
    forgetting="exponential weights",
    exploration="UCB, single norm",
    bound="none under drift",
    paper="ours; Zhang, Xu, Zhao & Sugiyama 2025",
)
def d_glb_omd(
    spec: Spec,
    *,
    rate: Numeric,
    link: LinkName = "logistic",
    norm_bound: Numeric = 5.0,
    noise_scale: Numeric = 1.0,
    ridge: Numeric | None = None,
    radius: Numeric | Radius | None = None,
    delta: Numeric = 0.05,
    num_episodes: Numeric | None = None,
    radius_scale: Numeric = 1.0,
) -> MirrorDescent:
    r"""Discounted GLB-OMD: rewards that are clicks or counts, at a constant cost a round.

    A reward has the mean $\mu(x^\top\theta_t)$. One step of mirror descent a round, in the metric of the
    weighted curvature so far,
    $$A = \eta H_t + (1-\eta)\lambda I, \qquad c = A^{-1}\eta H_t\theta_t, \qquad
      \tilde A = A + \tfrac{\zeta}{g}\mu'(x_t^\top c)\,x_tx_t^\top,$$
    $$u = c - \tfrac{\zeta}{g}\tilde A^{-1}x_t(\mu(x_t^\top c) - r_t), \qquad
      \theta_{t+1} = \arg\min_{\|v\|\le S} \|v - u\|_{\tilde A}, \qquad
      H_{t+1} = A + \tfrac1g\mu'(x_t^\top\theta_{t+1})\,x_tx_t^\top,$$
    $$x_t \in \arg\max_x\; x^\top\theta_t + \beta_t \sqrt{x^\top H_t^{-1} x}, \qquad
      \beta_t^2 = \lambda S^2 + 2\zeta\log\tfrac1{\delta'} + (6\zeta^2+\zeta)D_t,$$
    with $D_{t+1} = \eta D_t + \log(\det H_{t+1}/\det A)$ and the step size $\zeta = 1 + RS$, where $R = 1$,
    or 0 for the identity.

    Args:
      rate: $\eta \in (0, 1]$; 1 is GLB-OMD, which never forgets.
      link: $\mu$: `"logistic"` for clicks ($g = 1$), `"log"` for counts ($g = 1$), `"identity"` for rewards
        with noise ($g = \sigma^2$).
      norm_bound: $S \ge \|\theta\|$, where features have norms of at most 1; 5 has chances of clicks from 0.7
        to 99.3 %.
      noise_scale: $\sigma > 0$, for the identity alone.
      ridge: $\lambda > 0$; without it $\max\{14d\zeta R^2, 6\zeta RSk_\mu/g\}$, which theory asks for, or 1
        for the identity.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$.
      delta: $\delta$, the chance of failure.
      num_episodes: rounds of the run: $\delta' = \delta/K$; without it $\delta' = \delta/(2t(1+\ln t)^2)$.
      radius_scale: a factor of $\beta_t$. Theory's constants are large: a tenth, with $\lambda = d$, often
        does better.

    When to use: rewards are clicks or counts that drift, and a round must cost the same however long it
    runs.

    When not: rewards are numbers with a linear mean; `d_lin_ucb` needs no link.

    Reference: Zhang, Xu, Zhao & Sugiyama, "Generalized Linear Bandits: Almost Optimal Regret with One-Pass
    Update", 2025, GLB-OMD, which it is for $\eta = 1$.

    Deviations from the paper: the weights are ours, with a radius that is valid where nothing drifts; a start
    at 0 has $\lambda S^2$ for the paper's $4\lambda S^2$; the radius has the determinant, not its bound.
    """
    require_bandit(spec)
    mean = link_of(link)
    bound = np.asarray(require_numeric("norm_bound", norm_bound, above=0), dtype=float)
    step_size = 1 + mean.self_concordance * bound
    dispersion: Any = 1.0
    if link == "identity":
        dispersion = np.asarray(require_numeric("noise_scale", noise_scale, above=0), dtype=float) ** 2
    if ridge is None:
        ridge = least_ridge(mean, spec.dim, bound)
    if radius is None:
        shares = 0 if num_episodes is None else num_episodes
        radius = MirrorDescentRadius(norm_bound, step_size, delta, shares, radius_scale)
    exploration, forgetting = Ucb(radius, "single"), ExponentialWeights(rate)
    return MirrorDescent(spec, mean, forgetting, exploration, ridge, norm_bound, step_size, dispersion)
