"""SquareCB: a regression and inverse-gap weighting, every arm with a known probability."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.bandits.agent import bandit_agent, forgetful
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import InverseGap
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun, bandit_memory, inverse_gap_scale


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """D-LinUCB's rate, and SquareCB's γ for as many rounds as are remembered."""
    rounds = min(bandit_memory(dim=spec.dim, **run), run["num_episodes"])
    gamma = inverse_gap_scale(dim=spec.dim, num_arms=spec.num_actions, num_rounds=rounds)
    return forgetful(spec, **run) | dict(gamma=gamma)


@register(
    tuning=tuning,
    tunes=("gamma", "rate", "ridge"),
    forgetting="exponential weights",
    exploration="inverse-gap weighting",
    bound="(dAK)^(1/2), stationary",
    paper="Foster & Rakhlin 2020",
)
def square_cb(spec: Spec, *, gamma: Numeric, rate: Numeric = 1.0, ridge: Numeric = 1.0) -> LeastSquares:
    r"""SquareCB on the estimate of `d_lin_ucb`: the smaller an arm's gap, the larger its probability.

    $$b \in \arg\max_x\; x^\top\hat\theta_t, \qquad
      p_t(a) = \frac{1}{N + \gamma\,(b - x_a)^\top\hat\theta_t} \quad (a \ne b), \qquad
      p_t(b) = 1 - \sum_{a \ne b} p_t(a).$$

    With gaps of at most 1 no probability is below $1/(N + \gamma)$, which makes every log of its decisions
    useful for evaluating other policies.

    Args:
      gamma: $\gamma \ge 0$; theory's is $\sqrt{NT/(d\log(T/d) + \log(2/\delta))}$ for rewards in [0, 1].
      rate: $\eta \in (0, 1]$; 1 never forgets.
      ridge: $\lambda > 0$.

    When to use: every arm needs a probability above zero, so that the log can evaluate other policies.

    When not: there are many arms. All of them are explored, and the bound grows with their number.

    Reference: Foster & Rakhlin, "Beyond UCB: Optimal and Efficient Contextual Bandits with Regression
    Oracles", ICML 2020, Algorithm 1 and Theorem 1.

    Deviations from the paper: arms that are tied for the best share what is left. Forgetting is ours, and
    so is the tuned $\gamma$ then, with the memory in the place of $T$; no bound is known for it.
    """
    return bandit_agent(spec, ExponentialWeights(rate), InverseGap(gamma), ridge)
