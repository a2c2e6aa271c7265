"""WeightUCB: D-LinUCB with one matrix."""

from __future__ import annotations

from typing import Any

from driftwise.algorithms.bandits.agent import Confidence
from driftwise.algorithms.bandits.d_lin_ucb import d_lin_ucb
from driftwise.algorithms.bandits.tuned import confidence_of, tuned_to_drift
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import bandit_rate, weight_ucb_rate


@tuned_to_drift(ridge="dim")
def tuned(spec: Spec, run: dict[str, Any], assumed: dict[str, Any]) -> LeastSquares:
    """WeightUCB with λ = d unless `ridge` says otherwise, and the rate and radius of a `tuning`.

    `"published"` is γ = 1 − max{1/T, √(P_T/(dT))} with the radius as printed.
    """
    if run["tuning"] == "published":
        rate = weight_ucb_rate(**{name: run[name] for name in ("dim", "num_episodes", "variation")})
    else:
        rate = bandit_rate(**run)
    return weight_ucb(spec, rate=rate, **assumed, **confidence_of(run))


@register(
    tuned=tuned,
    problem="linear bandit",
    forgetting="exponential weights",
    exploration="UCB, single norm",
    bound="d^(3/4) Δ^(1/4) K^(3/4)",
    paper="Wang, Zhao & Zhou 2023",
)
def weight_ucb(
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
) -> LeastSquares:
    r"""Weighted UCB: the estimate and radius of `d_lin_ucb`, the width of one matrix.

    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x}.$$

    $V^{-1}\tilde V V^{-1} \preceq V^{-1}$, so the index is still optimistic.

    Args:
      spec: sizes of the problem, `environment.spec`.
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`.
      ridge: $\lambda > 0$; the paper's is $d$.

    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits", UAI
    2023, Algorithm 1.

    Deviations from the paper: those of `d_lin_ucb`.
    """
    return d_lin_ucb(
        spec,
        rate=rate,
        noise_scale=noise_scale,
        radius=radius,
        norm_bound=norm_bound,
        delta=delta,
        num_episodes=num_episodes,
        confidence=confidence,
        radius_scale=radius_scale,
        ridge=ridge,
        norm="single",
    )
