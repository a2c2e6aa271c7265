"""D-LinUCB: optimism on exponentially weighted least squares."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuning import confidence, weighted
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The rate of a `tuning`, with a radius for the whole run (or as published)."""
    return weighted(spec, **run) | confidence(**run)


@register(
    tuning=tuning,
    tunes=("rate", "ridge", "num_episodes", "confidence"),
    forgetting="exponential weights",
    exploration="UCB, sandwich or single norm",
    paper="Russac, Vernade & Cappé 2019",
)
def d_lin_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    ridge: Numeric = 1.0,
    norm: Literal["sandwich", "single"] = "sandwich",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Discounted linear UCB.

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} \eta^{t-1-\tau} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \lambda I, \qquad
      \tilde V_t = \sum_{\tau<t} \eta^{2(t-1-\tau)} x_\tau x_\tau^\top + \lambda I,$$
    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x}, \qquad
      \beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1{\delta'}
      + d\log\Bigl(1 + \frac{1-\eta^{2(t-1)}}{\lambda d (1-\eta^2)}\Bigr)}.$$

    Args:
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$; nothing that
        $\beta_t$ is made from counts then.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta$, the chance of failure.
      num_episodes: rounds of the run: $\delta' = \delta/K$; without it $\delta' = \delta/(2t(1+\ln t)^2)$.
      confidence: `"published"` is the paper's $\delta' = \delta$, which does not cover all rounds at once.
      radius_scale: a factor of $\beta_t$.
      ridge: $\lambda > 0$.
      norm: `"sandwich"` as above; `"single"` is the norm of WeightUCB.

    Reference: Russac, Vernade & Cappé, "Weighted Linear Bandits for Non-Stationary Environments", NeurIPS
    2019, Algorithm 1 and Theorem 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: $\delta'$, see `confidence`; ties are broken at random. The authors' public
    code deviates as well: it rebuilds $\tilde V_t$ from $V_t$ in every round.
    """
    return bandit_agent(spec, ExponentialWeights(rate), Ucb(confidence_radius(**confidence), norm), ridge)
