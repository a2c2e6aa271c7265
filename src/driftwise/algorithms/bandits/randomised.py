"""Bandits on least squares that explore by chance or not at all."""

from typing import Any, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits.bandit_agent import bandit_agent, tune_memory, tune_ridge
from driftwise.base.types import Numeric, Spec
from driftwise.parts import ExponentialWeights, LeastSquares, NoForgetting
from driftwise.parts.exploration import EpsilonGreedy, Greedy, InverseGap, Thompson
from driftwise.theory.bandit_tuning import BanditRun, bandit_memory, inverse_gap_scale
from driftwise.theory.tuning import exploration_probability


@tuned_by(tune_ridge, "ridge")
@register("none", "none", "baseline", "linear in K")
def greedy(spec: Spec, *, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Take an arm with the largest $x^\top\hat\theta_t$, the estimate of `lin_ucb`.

    When to use: you want the baseline that neither explores nor forgets.
    When not: anything depends on its choices. It can stay with a bad arm for ever.
    """
    return bandit_agent(spec, NoForgetting(), Greedy(), ridge)


def tune_epsilon_greedy(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """D-LinUCB's rate and ε = min{1, (A/K)^(1/3)}."""
    epsilon = exploration_probability(num_actions=spec.num_actions, num_episodes=run["num_episodes"])
    return tune_memory(spec, **run) | dict(epsilon=epsilon)


@tuned_by(tune_epsilon_greedy, "epsilon", "rate", "ridge")
@register("exponential weights", "ε-greedy", "baseline", "none")
def epsilon_greedy(
    spec: Spec, *, epsilon: Numeric, rate: Numeric = 1.0, ridge: Numeric = 1.0
) -> LeastSquares:
    r"""The estimate of `d_lin_ucb`, explored by chance.

    With probability $\varepsilon$ the arm is drawn uniformly from those of the round; else it is one with the
    largest $x^\top\hat\theta_t$.

    When to use: you want the simplest baseline that explores and forgets, with a log that can be replayed.
    When not: exploration costs much. It tries bad arms as often at the end as at the start.
    """
    return bandit_agent(spec, ExponentialWeights(rate), EpsilonGreedy(epsilon), ridge)


@tuned_by(tune_ridge, "ridge")
@register("none", "Thompson sampling", bound="d^(3/2) K^(1/2), stationary")
def lin_ts(spec: Spec, *, scale: Numeric, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Linear Thompson sampling, with the estimate $\hat\theta_t$ and the matrix $V_t$ of `lin_ucb`.

    $$\tilde\theta_t \sim N(\hat\theta_t, a^2 V_t^{-1}), \qquad x_t \in \arg\max_x\; x^\top\tilde\theta_t.$$

    Args:
      scale: $a \ge 0$ ($v$ in the paper); the noise's deviation is the Bayesian choice, theory asks for more.
    When to use: nothing drifts, and you want random choices, also before the first reward.
    When not: the problem changes; `d_lin_ts` and `adaptive_lin_ts` forget.
    Reference: Agrawal & Goyal 2013, Algorithm 1. Deviations from the paper: none.
    """
    return bandit_agent(spec, NoForgetting(), Thompson(scale), ridge)


@tuned_by(tune_memory, "rate", "ridge")
@register("exponential weights", "Thompson sampling", bound="d^(7/8) Δ^(1/4) K^(3/4), and a log of the arms")
def d_lin_ts(spec: Spec, *, rate: Numeric, scale: Numeric, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Discounted linear Thompson sampling, with $\hat\theta_t$, $V_t$ and $\tilde V_t$ of `d_lin_ucb`.

    $$\tilde\theta_t \sim N(\hat\theta_t, a^2 V_t^{-1}\tilde V_t V_t^{-1}), \qquad
      x_t \in \arg\max_x\; x^\top\tilde\theta_t.$$

    Args:
      scale: $a \ge 0$, which theory leaves open; the noise's deviation is a usual choice.
    When to use: the parameter drifts at a pace you can guess, and you want random choices.
    When not: you cannot guess the pace; `adaptive_lin_ts` weighs memories by itself.
    Reference: Kim & Tewari 2020 (corrected version), D-LinTS.
    Deviations from the paper: none in distribution. Tuned rates are D-LinUCB's, without the log of the arms.
    """
    return bandit_agent(spec, ExponentialWeights(rate), Thompson(scale), ridge)


def tune_square_cb(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """D-LinUCB's rate, and SquareCB's γ for as many rounds as are remembered."""
    rounds = min(bandit_memory(dim=spec.dim, **run), run["num_episodes"])
    gamma = inverse_gap_scale(dim=spec.dim, num_arms=spec.num_actions, num_rounds=rounds)
    return tune_memory(spec, **run) | dict(gamma=gamma)


@tuned_by(tune_square_cb, "gamma", "rate", "ridge")
@register("exponential weights", "inverse-gap weighting", bound="(dAK)^(1/2), stationary")
def square_cb(spec: Spec, *, gamma: Numeric, rate: Numeric = 1.0, ridge: Numeric = 1.0) -> LeastSquares:
    r"""SquareCB on the estimate of `d_lin_ucb`: the smaller an arm's gap, the larger its probability.

    $$b \in \arg\max_x\; x^\top\hat\theta_t, \qquad
      p_t(a) = \frac{1}{N + \gamma\,(b - x_a)^\top\hat\theta_t} \quad (a \ne b), \qquad
      p_t(b) = 1 - \sum_{a \ne b} p_t(a).$$

    With gaps of at most 1 no probability is below $1/(N + \gamma)$.

    Args:
      gamma: $\gamma \ge 0$; theory's is $\sqrt{NT/(d\log(T/d) + \log(2/\delta))}$ for rewards in [0, 1].
    When to use: every arm needs a probability above zero, so that the log can evaluate other policies.
    When not: there are many arms. All of them are explored, and the bound grows with their number.
    Reference: Foster & Rakhlin 2020, Algorithm 1 and Theorem 1.
    Deviations from the paper: arms that are tied for the best share what is left. Forgetting is ours, with
    the memory for $T$ in the tuned $\gamma$, and without a bound.
    """
    return bandit_agent(spec, ExponentialWeights(rate), InverseGap(gamma), ridge)
