"""Least squares that explore by chance or not at all, as baselines."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.algorithms.bandits.agent import bandit_agent, forgetful, stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import EpsilonGreedy, Greedy
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import BanditRun
from driftwise.theory.tuning import exploration_probability


@register(
    tuning=stationary,
    tunes=("ridge",),
    forgetting="none",
    exploration="none",
    bound="linear in K",
    paper="baseline",
)
def greedy(spec: Spec, *, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Take an arm with the largest $x^\top\hat\theta_t$, the estimate of `lin_ucb`.

    Args:
      ridge: $\lambda > 0$.

    When to use: you want the baseline that neither explores nor forgets.

    When not: anything depends on its choices. It can stay with a bad arm for ever.

    There is no paper.
    """
    return bandit_agent(spec, NoForgetting(), Greedy(), ridge)


def tuning(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """D-LinUCB's rate and ε = min{1, (A/K)^(1/3)}."""
    epsilon = exploration_probability(num_actions=spec.num_actions, num_episodes=run["num_episodes"])
    return forgetful(spec, **run) | dict(epsilon=epsilon)


@register(
    tuning=tuning,
    tunes=("epsilon", "rate", "ridge"),
    forgetting="exponential weights",
    exploration="ε-greedy",
    bound="none",
    paper="baseline",
)
def epsilon_greedy(
    spec: Spec, *, epsilon: Numeric, rate: Numeric = 1.0, ridge: Numeric = 1.0
) -> LeastSquares:
    r"""The estimate of `d_lin_ucb`, explored by chance.

    With probability $\varepsilon$ the arm is drawn uniformly from those of the round; else it is one with the
    largest $x^\top\hat\theta_t$.

    Args:
      epsilon: $\varepsilon \in [0, 1]$.
      rate: $\eta \in (0, 1]$; 1 never forgets.
      ridge: $\lambda > 0$.

    When to use: you want the simplest baseline that explores and forgets; every arm has a probability
    above zero, so that its log can be replayed.

    When not: exploration costs much. It tries bad arms as often at the end as at the start.

    There is no paper.
    """
    return bandit_agent(spec, ExponentialWeights(rate), EpsilonGreedy(epsilon), ridge)
