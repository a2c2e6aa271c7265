"""WeightUCB: D-LinUCB with one matrix."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence
from driftwise.algorithms.bandits.d_lin_ucb import d_lin_ucb
from driftwise.algorithms.bandits.d_lin_ucb import tuning as d_lin_ucb_tuning
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, weight_ucb_rate


def tuning(
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
    numbers = d_lin_ucb_tuning(spec, **run, tuning=tuning, ridge=ridge)
    return numbers | (dict(rate=weight_ucb_rate(dim=spec.dim, **run)) if tuning == "published" else {})


@register(
    tuning=tuning,
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

    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits", UAI
    2023, Algorithm 1.

    Deviations from the paper: those of `d_lin_ucb`.
    """
    return d_lin_ucb(spec, rate=rate, ridge=ridge, norm="single", **confidence)
