"""The agent that recipes for bandits share, its radius and tunings, and recipes that explore by chance."""

from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise import parts
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.base.schema import add_defaults
from driftwise.base.types import Forgetting, Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_numeric
from driftwise.parts import Caution, LeastSquares
from driftwise.parts.exploration import EpsilonGreedy, Greedy, InverseGap, Norm, Thompson
from driftwise.theory import bandit_tuning
from driftwise.theory.bandit_tuning import BanditRun, RidgeRule, Tuning
from driftwise.theory.tuning import exploration_probability

Information = Literal["count", "determinant"]


class Confidence(TypedDict, total=False):
    noise_scale: Annotated[Numeric | None, None]
    radius: Annotated[Numeric | Radius | None, None]
    norm_bound: Annotated[Numeric, 1.0]
    delta: Annotated[Numeric, 0.05]
    radius_scale: Annotated[Numeric, 1.0]
    ridge: Annotated[Numeric, 1.0]


class SpreadConfidence(Confidence, total=False):
    r"""The radius where δ is spread over the run, or what it is computed from.

    Args:
      noise_scale: $\sigma \ge 0$; needed unless `radius` is given.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$ and its arguments.
      num_episodes: rounds of the run: $\delta' = \delta/K$; without it $\delta' = \delta/(2t(1+\ln t)^2)$.
      confidence: `"published"` is the paper's $\delta' = \delta$, which does not cover all rounds at once.
    """

    num_episodes: Annotated[Numeric | None, None]
    confidence: Annotated[Literal["uniform", "published"], "uniform"]


Confidence.__doc__ = SpreadConfidence.__doc__  # which describes its arguments, too


def bandit_agent(
    spec: Spec, forgetting: Forgetting, exploration: parts.Exploration, ridge: Numeric = 1.0, **options: Any
) -> LeastSquares:
    """Least squares for a bandit, with `noise` or `caution`; other problems are refused."""
    require_bandit(spec)
    return LeastSquares(spec, forgetting, exploration, ridge, clip="none", **options)  # means may exceed one


def ucb_agent(
    spec: Spec, forgetting: Forgetting, norm: Norm = "sandwich", caution: Caution | None = None, **radius: Any
) -> LeastSquares:
    """The bandit agent with the index of an upper confidence bound, of a `confidence_radius`."""
    exploration = parts.Ucb(confidence_radius(**radius), norm)
    return bandit_agent(spec, forgetting, exploration, radius.get("ridge", 1.0), caution=caution)


def require_bandit(spec: Spec) -> None:
    """Refuse all problems but bandits."""
    if (spec.num_states, spec.horizon) != (1, 1):
        raise ArgumentError("spec", "be a bandit's, of one state and one step", spec)


def confidence_radius(
    *,
    spread: Literal["rounds", "epochs"] = "rounds",
    shares: Numeric | None = None,
    memory: Numeric = 0,
    information: Information = "count",
    widening: Numeric = 0.0,
    **confidence: Unpack[SpreadConfidence],
) -> Numeric | Radius:
    """The `radius` that the user gave, else that of a confidence ellipsoid.

    δ is spread over rounds, or epochs of `memory` rounds: over `shares` of them, those of a known run, or all
    there may be. As published it is not spread, and the radius counts `memory` samples from the start.
    """
    options = add_defaults(SpreadConfidence, confidence)
    scale = require_numeric("radius_scale", options["radius_scale"], at_least=0)
    published = require_choice("confidence", options["confidence"], ("uniform", "published")) == "published"
    require_choice("information", information, ("count", "determinant"))
    if options["num_episodes"] is not None:
        run = require_numeric("num_episodes", options["num_episodes"], at_least=1, integer=True)
        length = memory if spread == "epochs" else 1
        shares = -(-np.asarray(run) // np.asarray(length)) if shares is None else shares
    if options["radius"] is not None:
        return options["radius"]
    if options["noise_scale"] is None:
        raise ArgumentError("noise_scale", "be a number of at least 0 where no radius is given", None)
    if published:
        information, shares = "count", 1
    known = {name: options[name] for name in ("noise_scale", "norm_bound", "delta")}
    known |= dict(information=information, spread=spread, shares=0 if shares is None else shares)
    return parts.ConfidenceRadius(**known, samples=memory if published else 0, scale=scale, widening=widening)


def tune_ridge(
    spec: Spec, *, tuning: Tuning = "corrected", ridge: RidgeRule | float = "one"
) -> dict[str, Any]:
    """`λ = 1` or `λ = d`. Nothing is forgotten: no use is made of the run and its `tuning`."""
    require_choice("tuning", tuning, bandit_tuning.TUNINGS)
    return dict(ridge=bandit_tuning.bandit_ridge(dim=spec.dim, ridge=ridge))


def tune_memory(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The rate, window or period of a `tuning`, `λ = 1` or `λ = d`, and a radius for all rounds of the run.

    A published tuning comes with the published radius.
    """
    window = bandit_tuning.bandit_window(dim=spec.dim, **run)
    rate = bandit_tuning.bandit_rate(dim=spec.dim, **run)
    ridge = bandit_tuning.bandit_ridge(dim=spec.dim, ridge=add_defaults(BanditRun, run)["ridge"])
    confidence = "published" if run.get("tuning") == "published" else "uniform"
    numbers = dict(rate=rate, length=window, period=window, ridge=ridge)
    return dict(**numbers, num_episodes=run["num_episodes"], confidence=confidence)


@tuned_by(tune_ridge, "ridge")
@register("none", "none", "baseline", "linear in K")
def greedy(spec: Spec, *, ridge: Numeric = 1.0) -> LeastSquares:
    r"""Take an arm with the largest $x^\top\hat\theta_t$, the estimate of `lin_ucb`.

    When to use: you want the baseline that neither explores nor forgets.
    When not: anything depends on its choices. It can stay with a bad arm for ever.
    """
    return bandit_agent(spec, parts.NoForgetting(), Greedy(), ridge)


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

    With probability $\varepsilon$ the arm is drawn uniformly, else it is one of largest $x^\top\hat\theta_t$.
    When to use: you want the simplest baseline that explores and forgets, with a log that can be replayed.
    When not: exploration costs much. It tries bad arms as often at the end as at the start.
    """
    return bandit_agent(spec, parts.ExponentialWeights(rate), EpsilonGreedy(epsilon), ridge)


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
    return bandit_agent(spec, parts.NoForgetting(), Thompson(scale), ridge)


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
    return bandit_agent(spec, parts.ExponentialWeights(rate), Thompson(scale), ridge)


def tune_square_cb(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """D-LinUCB's rate, and SquareCB's γ for as many rounds as are remembered."""
    rounds = min(bandit_tuning.bandit_memory(dim=spec.dim, **run), run["num_episodes"])
    gamma = bandit_tuning.inverse_gap_scale(dim=spec.dim, num_arms=spec.num_actions, num_rounds=rounds)
    return tune_memory(spec, **run) | dict(gamma=gamma)


@tuned_by(tune_square_cb, "gamma", "rate", "ridge")
@register("exponential weights", "inverse-gap weighting", bound="(dAK)^(1/2), stationary")
def square_cb(spec: Spec, *, gamma: Numeric, rate: Numeric = 1.0, ridge: Numeric = 1.0) -> LeastSquares:
    r"""SquareCB on the estimate of `d_lin_ucb`: the smaller an arm's gap, the larger its probability.

    $$b \in \arg\max_x\; x^\top\hat\theta_t, \qquad p_t(b) = 1 - \sum_{a \ne b} p_t(a), \qquad
      p_t(a) = \frac{1}{N + \gamma\,(b - x_a)^\top\hat\theta_t} \quad (a \ne b).$$

    With gaps of at most 1 no probability is below $1/(N + \gamma)$.
    Args:
      gamma: $\gamma \ge 0$; theory's is $\sqrt{NT/(d\log(T/d) + \log(2/\delta))}$ for rewards in [0, 1].
    When to use: every arm needs a probability above zero, so that the log can evaluate other policies.
    When not: there are many arms. All of them are explored, and the bound grows with their number.
    Reference: Foster & Rakhlin 2020, Algorithm 1 and Theorem 1.
    Deviations from the paper: arms tied for the best share what is left. Forgetting is ours, without a bound.
    """
    return bandit_agent(spec, parts.ExponentialWeights(rate), InverseGap(gamma), ridge)
