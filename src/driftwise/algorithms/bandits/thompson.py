"""Thompson sampling: LinTS, and D-LinTS on exponentially weighted least squares."""

from __future__ import annotations

from driftwise.algorithms.bandits.agent import bandit_agent, forgetful, stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Thompson
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=stationary,
    tunes=("ridge",),
    forgetting="none",
    exploration="Thompson sampling",
    bound="d^(3/2) K^(1/2), stationary",
    paper="Agrawal & Goyal 2013",
)
def lin_ts(spec: Spec, *, scale: Numeric, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Linear Thompson sampling.

    $$\tilde\theta_t \sim N(\hat\theta_t, a^2 V_t^{-1}), \qquad x_t \in \arg\max_x\; x^\top\tilde\theta_t,$$

    with $\hat\theta_t$ and $V_t$ as in `lin_ucb`.

    Args:
      scale: $a \ge 0$ ($v$ in the paper); the noise's deviation is the Bayesian choice, theory asks for more.
      ridge: $\lambda > 0$.

    When to use: nothing drifts, and you want random choices. Many decisions before the first reward
    differ from each other.

    When not: the world changes; `d_lin_ts` and `adaptive_lin_ts` forget.

    Reference: Agrawal & Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs", ICML 2013,
    Algorithm 1.

    Deviations from the paper: none.
    """
    return bandit_agent(spec, NoForgetting(), Thompson(scale), ridge)


@register(
    tuning=forgetful,
    tunes=("rate", "ridge"),
    forgetting="exponential weights",
    exploration="Thompson sampling",
    bound="d^(7/8) Δ^(1/4) K^(3/4), and a log of the arms",
    paper="Kim & Tewari 2020",
)
def d_lin_ts(spec: Spec, *, rate: Numeric, scale: Numeric, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Discounted linear Thompson sampling.

    $$\tilde\theta_t = V_t^{-1}\Bigl(\sum_{\tau<t} \eta^{t-1-\tau} x_\tau r_\tau
      + a \tilde V_t^{1/2} z_t\Bigr), \qquad z_t \sim N(0, I), \qquad
      x_t \in \arg\max_x\; x^\top\tilde\theta_t,$$

    with $V_t$ and $\tilde V_t$ as in `d_lin_ucb`: the covariance is $a^2 V_t^{-1}\tilde V_t V_t^{-1}$.

    Args:
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      scale: $a \ge 0$, which theory leaves open; the noise's deviation is a usual choice.
      ridge: $\lambda > 0$.

    When to use: the parameter drifts at a pace you can guess, and you want random choices.

    When not: you cannot guess the pace; `adaptive_lin_ts` weighs memories by itself.

    Reference: Kim & Tewari, "Randomized Exploration for Non-Stationary Stochastic Linear Bandits", UAI 2020
    (corrected version), D-LinTS.

    Deviations from the paper: the root of $\tilde V_t$ is Cholesky's, which gives the same distribution. The
    tuned form has D-LinUCB's rates, `"published"` too, which leave out the log of the arms in the bound.
    """
    return bandit_agent(spec, ExponentialWeights(rate), Thompson(scale), ridge)
