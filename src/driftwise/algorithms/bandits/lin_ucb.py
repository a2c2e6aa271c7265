"""LinUCB: optimism that never forgets."""

from __future__ import annotations

from typing import Unpack

from driftwise.algorithms.bandits.agent import Confidence, Information, bandit_agent, confidence_radius
from driftwise.algorithms.bandits.tuning import stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=stationary,
    tunes=("ridge",),
    forgetting="none",
    exploration="UCB",
    paper="Abbasi-Yadkori, Pál & Szepesvári 2011",
)
def lin_ucb(
    spec: Spec,
    *,
    information: Information = "count",
    ridge: Numeric = 1.0,
    **confidence: Unpack[Confidence],
) -> LeastSquares:
    r"""Linear UCB with the self-normalised radius (OFUL).

    $$\hat\theta_t = V_t^{-1} \sum_{\tau<t} x_\tau r_\tau, \qquad
      V_t = \sum_{\tau<t} x_\tau x_\tau^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1\delta + \ell_t}, \qquad
      \ell_t = d\log\Bigl(1 + \frac{t-1}{\lambda d}\Bigr) \ge \log\frac{\det V_t}{\lambda^d}.$$

    Args:
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$; nothing that
        $\beta_t$ is made from counts then.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta$, the chance of failure in any round.
      information: `"count"` is $\ell_t$ as above; `"determinant"` is what it bounds, smaller and dearer.
      radius_scale: a factor of $\beta_t$.
      ridge: $\lambda > 0$.

    Reference: Abbasi-Yadkori, Pál & Szepesvári, "Improved Algorithms for Linear Stochastic Bandits", NeurIPS
    2011, Figure 1 and Theorem 2.

    Deviations from the paper: `information="count"` bounds the determinant; ties are broken at random.
    """
    radius = confidence_radius(spread="epochs", shares=1, information=information, **confidence)
    return bandit_agent(spec, NoForgetting(), Ucb(radius), ridge)
