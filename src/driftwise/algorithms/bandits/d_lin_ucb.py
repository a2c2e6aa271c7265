"""D-LinUCB, WeightUCB and D-RandLinUCB: optimism on exponentially weighted least squares."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius, forgetful
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import RandomisedUcb, Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, weight_ucb_rate


@register(
    tuning=forgetful,
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

    When to use: the parameter drifts, and you know roughly how many rounds a reward stays useful.

    When not: you do not know that; `adaptive_lin_ucb` weighs memories by itself.

    Reference: Russac, Vernade & Cappé, "Weighted Linear Bandits for Non-Stationary Environments", NeurIPS
    2019, Algorithm 1 and Theorem 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: $\delta'$, see `confidence`; ties are broken at random. The authors' public
    code deviates as well: it rebuilds $\tilde V_t$ from $V_t$ in every round.
    """
    return bandit_agent(spec, ExponentialWeights(rate), Ucb(confidence_radius(**confidence), norm), ridge)


def weight_ucb_tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "dim",
) -> dict[str, Any]:
    """`λ = d` unless `ridge` says otherwise, and the rate and radius of a `tuning`.

    `"published"` is γ = 1 − max{1/T, √(P_T/(dT))} with the radius as printed.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    numbers = forgetful(spec, **run, tuning=tuning, ridge=ridge)
    return numbers | (dict(rate=weight_ucb_rate(dim=spec.dim, **run)) if tuning == "published" else {})


@register(
    tuning=weight_ucb_tuning,
    tunes=("rate", "ridge", "num_episodes", "confidence"),
    forgetting="exponential weights",
    exploration="UCB, single norm",
    paper="Wang, Zhao & Zhou 2023",
)
def weight_ucb(
    spec: Spec, *, rate: Numeric, ridge: Numeric = 1.0, **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Weighted UCB: the estimate and radius of `d_lin_ucb`, the width of one matrix.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x}.$$

    $V^{-1}\tilde V V^{-1} \preceq V^{-1}$, so the index is still optimistic.

    Args:
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`.
      ridge: $\lambda > 0$; the paper's is $d$.

    When to use: you want the smallest proven bound among bandits that forget smoothly, with one matrix
    instead of two.

    When not: exploration costs much. Its width is never below that of `d_lin_ucb`.

    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits",
    AISTATS 2023, Algorithm 1.

    Deviations from the paper: those of `d_lin_ucb`.
    """
    return d_lin_ucb(spec, rate=rate, ridge=ridge, norm="single", **confidence)


@register(
    tuning=forgetful,
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

    When to use: you want random choices and the radius of `d_lin_ucb`. There is one draw a round,
    whatever the dimension.

    When not: you need the same choice from the same data; `d_lin_ucb` gives that.

    Reference: Kim & Tewari, "Randomized Exploration for Non-Stationary Stochastic Linear Bandits", UAI 2020
    (corrected version), D-RandLinUCB.

    Deviations from the paper: $Z_t$ is multiplied by $\beta_t$, where the paper scales it by a constant;
    `radius` gives that constant.
    """
    exploration = RandomisedUcb(confidence_radius(**confidence), sign)
    return bandit_agent(spec, ExponentialWeights(rate), exploration, ridge)
