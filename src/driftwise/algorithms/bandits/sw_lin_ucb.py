"""SW-LinUCB: optimism on a sliding window."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuning import windowed
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The window of a `tuning`, with a radius for the whole run (or as published)."""
    length, numbers = windowed(spec, **run)
    return dict(length=length, **numbers)


@register(
    tuning=tuning,
    tunes=("length", "ridge", "num_episodes", "confidence"),
    forgetting="sliding window",
    exploration="UCB",
    paper="Cheung, Simchi-Levi & Zhu 2019",
)
def sw_lin_ucb(
    spec: Spec, *, length: Numeric, ridge: Numeric = 1.0, **confidence: Unpack[SpreadConfidence]
) -> LeastSquares:
    r"""Sliding-window linear UCB (SW-UCB in the paper): sums over the newest $W$ rounds, $\tau \ge t - W$.

    $$\hat\theta_t = V_t^{-1} \sum_\tau x_\tau r_\tau, \qquad
      V_t = \sum_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac n{\lambda d}\Bigr)},
      \qquad n = \min\{t-1, W\}.$$

    Args:
      length: $W$, rounds in the window.
      noise_scale, radius, norm_bound, delta, num_episodes, radius_scale: as of `d_lin_ucb`.
      confidence: `"published"` has $n = W$ from the start and $\delta' = \delta$, which does not cover all
        rounds at once.
      ridge: $\lambda > 0$.

    Reference: Cheung, Simchi-Levi & Zhu, "Learning to Optimize under Non-Stationarity", AISTATS 2019,
    Algorithm 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: the radius is the sharper one of the determinant's bound, where the paper has
    $\sigma\sqrt{d\log((1 + W/\lambda)/\delta)}$; $\delta'$ as in `d_lin_ucb`; ties are broken at random.
    """
    window = SlidingWindow(length)
    return bandit_agent(spec, window, Ucb(confidence_radius(memory=window.length, **confidence)), ridge)
