"""LinTS: Thompson sampling that never forgets."""

from __future__ import annotations

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.algorithms.bandits.tuning import stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Thompson
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=stationary,
    tunes=("ridge",),
    problem="linear bandit",
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
      spec: sizes of the problem, `environment.spec`.
      scale: $a \ge 0$ ($v$ in the paper); the noise's deviation is the Bayesian choice, theory asks for more.
      ridge: $\lambda > 0$.

    Reference: Agrawal & Goyal, "Thompson Sampling for Contextual Bandits with Linear Payoffs", ICML 2013,
    Algorithm 1.

    Deviations from the paper: none.
    """
    return bandit_agent(spec, NoForgetting(), Thompson(scale), ridge)
