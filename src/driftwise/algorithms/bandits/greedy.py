"""Greedy least squares: no forgetting, no exploration."""

from __future__ import annotations

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Greedy
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning, bandit_ridge, check_bandit_run


def tuned(
    spec: Spec,
    *,
    num_episodes: int = 1,
    variation: float = 0.0,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "one",
) -> LeastSquares:
    """`greedy` with `λ = 1` or `λ = d`. Nothing is forgotten: no use is made of the run and its `tuning`."""
    check_bandit_run(num_episodes=num_episodes, variation=variation, tuning=tuning)
    return greedy(spec, ridge=bandit_ridge(dim=spec.dim, ridge=ridge))


@register(
    tuned=tuned,
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
