"""Greedy least squares: no forgetting, no exploration."""

from __future__ import annotations

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.algorithms.bandits.tuning import stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Greedy
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares


@register(
    tuning=stationary,
    tunes=("ridge",),
    problem="linear bandit",
    forgetting="none",
    exploration="none",
    bound="linear in K",
    paper="baseline",
)
def greedy(spec: Spec, *, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Take an arm with the largest $x^\top\hat\theta_t$, the estimate of `lin_ucb`.

    Args:
      spec: sizes of the problem, `environment.spec`.
      ridge: $\lambda > 0$.

    There is no paper.
    """
    return bandit_agent(spec, NoForgetting(), Greedy(), ridge)
