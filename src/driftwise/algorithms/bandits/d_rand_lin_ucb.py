"""D-RandLinUCB: D-LinUCB with a radius that is scaled by chance."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.bandits.agent import Confidence, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuned import confidence_of, tuned_to_drift
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.parts.exploration import RandomisedUcb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import bandit_rate


@tuned_to_drift()
def tuned(
    spec: Spec,
    run: dict[str, Any],
    assumed: dict[str, Any],
    *,
    sign: Literal["folded", "signed"] = "folded",
) -> LeastSquares:
    """D-RandLinUCB with rate and radius as D-LinUCB has them; `radius_scale` is the scale of the draws."""
    return d_rand_lin_ucb(spec, rate=bandit_rate(**run), sign=sign, **assumed, **confidence_of(run))


@register(
    tuned=tuned,
    problem="linear bandit",
    forgetting="exponential weights",
    exploration="randomised UCB, one draw a round",
    bound="d^(7/8) Δ^(1/4) K^(3/4)",
    paper="Kim & Tewari 2020",
)
def d_rand_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    noise_scale: Numeric | None = None,
    radius: Numeric | Radius | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.05,
    num_episodes: Numeric | None = None,
    confidence: Confidence = "uniform",
    radius_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
    sign: Literal["folded", "signed"] = "folded",
) -> LeastSquares:
    r"""Discounted randomised linear UCB: estimate, radius and norm of `d_lin_ucb`, times one draw a round.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t
      + Z_t \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}.$$

    Args:
      spec: sizes of the problem, `environment.spec`.
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence: as of `d_lin_ucb`.
      radius_scale: a factor of $\beta_t$, hence the scale of $Z_t$, which theory leaves open.
      ridge: $\lambda > 0$.
      sign: $Z_t = |N(0, 1)|$ (`"folded"`) or $Z_t = N(0, 1)$ (`"signed"`).

    Reference: Kim & Tewari, "Randomized Exploration for Non-Stationary Stochastic Linear Bandits", UAI 2020
    (corrected version), D-RandLinUCB.

    Deviations from the paper: $Z_t$ is multiplied by $\beta_t$, where the paper scales it by a constant;
    `radius` gives that constant.
    """
    beta = confidence_radius(
        radius=radius,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        radius_scale=radius_scale,
        num_episodes=num_episodes,
        confidence=confidence,
    )
    return bandit_agent(spec, ExponentialWeights(rate), RandomisedUcb(beta, sign), ridge)
