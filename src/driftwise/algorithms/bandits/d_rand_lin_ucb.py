"""D-RandLinUCB: D-LinUCB with a radius that is scaled by chance."""

from __future__ import annotations

from typing import Literal, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.d_lin_ucb import tuning
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import RandomisedUcb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=tuning,
    tunes=("rate", "ridge", "num_episodes", "confidence"),
    forgetting="exponential weights",
    exploration="randomised UCB, one draw a round",
    bound="d^(7/8) Δ^(1/4) K^(3/4)",
    paper="Kim & Tewari 2020",
)
def d_rand_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    ridge: Numeric = 1.0,
    sign: Literal["folded", "signed"] = "folded",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Discounted randomised linear UCB: estimate, radius and norm of `d_lin_ucb`, times one draw a round.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t
      + Z_t \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}.$$

    Args:
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
    exploration = RandomisedUcb(confidence_radius(**confidence), sign)
    return bandit_agent(spec, ExponentialWeights(rate), exploration, ridge)
