"""GLB-WeightUCB and SC-D-GLUCB: optimism on the weighted likelihood of clicks."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack

import numpy as np

from driftwise.algorithms.bandits.agent import SpreadConfidence, confidence_radius, require_bandit
from driftwise.algorithms.registry import register
from driftwise.base.arguments import with_defaults
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_number, require_numeric
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.glm_radii import SelfConcordantRadius
from driftwise.parts.links import Logistic
from driftwise.parts.weighted_likelihood import WeightedLikelihood
from driftwise.theory.bandit_tuning import glb_weight_ucb_rate, sc_d_glucb_rate

CLICKS = Logistic()
COIN = 0.5  # a coin is 1/2-sub-Gaussian
NEGLIGIBLE = 1e-12  # a weight


def slopes_of_clicks(norm_bound: Numeric) -> tuple[np.ndarray, np.ndarray]:
    """`c_μ` and `k_μ` of the logistic link."""
    return CLICKS.slopes(np.asarray(require_numeric("norm_bound", norm_bound, above=0), dtype=float))


def likelihood(
    spec: Spec,
    rate: Numeric,
    num_episodes: Numeric | None,
    within: Literal["ball", "space"],
    **numbers: Any,
) -> WeightedLikelihood:
    """The agent, with room for all samples whose weight is not negligible, or for all of the run."""
    require_bandit(spec)
    forgetting = ExponentialWeights(rate)
    largest = float(np.max(forgetting.rate))
    if largest == 1 and num_episodes is None:
        raise ArgumentError("num_episodes", "be given where nothing is forgotten", None)
    counted = math.inf if largest == 1 else math.ceil(math.log(NEGLIGIBLE) / math.log(largest))
    capacity = counted if num_episodes is None else min(counted, int(np.max(num_episodes)))
    return WeightedLikelihood(
        spec, CLICKS, forgetting, within=within, capacity=max(int(capacity), 1), **numbers
    )


def glb_weight_ucb_tuning(
    spec: Spec, *, num_episodes: int, variation: float, norm_bound: float = 1.0
) -> dict[str, Any]:
    """λ = d/c_μ² and η = 1 − max{1/T, √(k_μ c_μ P_T/(dT))}, with a radius for all rounds of the run."""
    least, largest = (float(each) for each in slopes_of_clicks(require_number("norm_bound", norm_bound)))
    slopes: Any = dict(least_slope=least, largest_slope=largest)
    rate = glb_weight_ucb_rate(dim=spec.dim, num_episodes=num_episodes, variation=variation, **slopes)
    return dict(rate=rate, ridge=spec.dim / least**2, num_episodes=num_episodes)


@register(
    tuning=glb_weight_ucb_tuning,
    tunes=("rate", "ridge", "num_episodes"),
    forgetting="exponential weights",
    exploration="UCB, single norm",
    bound="c_μ^(-3/4) d^(3/4) Δ^(1/4) K^(3/4)",
    paper="Wang, Zhao & Zhou 2023",
)
def glb_weight_ucb(
    spec: Spec, *, rate: Numeric, ridge: Numeric = 1.0, **confidence: Unpack[SpreadConfidence]
) -> WeightedLikelihood:
    r"""Weighted UCB for clicks, $\mu(z) = 1/(1+e^{-z})$, by maximum likelihood.

    $$\lambda c_\mu\hat\theta_t + \sum_{\tau<t} \eta^{t-1-\tau}(\mu(x_\tau^\top\hat\theta_t) - r_\tau)x_\tau
      = 0, \qquad V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \lambda I,$$
    $$x_t \in \arg\max_x\; \mu(x^\top\tilde\theta_t) + \frac{2k_\mu}{c_\mu}\beta_t \sqrt{x^\top V_t^{-1} x},$$
    where $\tilde\theta_t$ is $\hat\theta_t$, or for $\|\hat\theta_t\| > S$ its projection onto the ball;
    $\beta_t$ is the radius of `d_lin_ucb` with $c_\mu S$ in the place of $S$. The slope of $\mu$ is between
    $c_\mu$ and $k_\mu = 1/4$ where $|z| \le S$.

    Args:
      rate: $\eta \in (0, 1]$; $\gamma$ in the paper.
      ridge: $\lambda > 0$; the paper's is $d/c_\mu^2$.
      noise_scale: $\sigma \ge 0$; 1/2, which holds for clicks, unless given.
      radius: in the place of $2k_\mu\beta_t/c_\mu$.
      norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`.

    When to use: rewards are clicks that drift, and you want maximum likelihood with a proven bound.

    When not: rounds are many and must be quick. A round costs as much as there are samples; `d_glb_omd`
    has one step.

    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits",
    AISTATS 2023, GLB-WeightUCB.

    Deviations from the paper: $\delta'$, as of `d_lin_ucb`; samples of weights below 1e-12 are dropped. A
    round costs as much as there are others.
    """
    given = with_defaults(SpreadConfidence, confidence)
    least, largest = slopes_of_clicks(given["norm_bound"])
    own: Any = given | dict(
        noise_scale=COIN if given["noise_scale"] is None else given["noise_scale"],
        norm_bound=least * np.asarray(given["norm_bound"], dtype=float),
        radius_scale=2 * largest / least * np.asarray(given["radius_scale"], dtype=float),
    )
    return likelihood(
        spec,
        rate,
        given["num_episodes"],
        "ball",
        exploration=Ucb(confidence_radius(**own), "single"),
        ridge=ridge,
        likelihood_ridge=least * np.asarray(ridge, dtype=float),
        norm_bound=given["norm_bound"],
    )


def sc_d_glucb_tuning(
    spec: Spec, *, num_episodes: int, num_changes: int = 1, norm_bound: float = 1.0
) -> dict[str, Any]:
    """λ = d log T and η = 1 − (√c_μ Γ/(dT))^(2/3) for Γ `num_changes`."""
    least = float(slopes_of_clicks(require_number("norm_bound", norm_bound))[0])
    run: Any = dict(num_episodes=num_episodes, num_changes=num_changes, least_slope=least)
    ridge = spec.dim * max(math.log(num_episodes), 1.0)
    return dict(rate=sc_d_glucb_rate(dim=spec.dim, **run), ridge=ridge, num_episodes=num_episodes)


@register(
    tuning=sc_d_glucb_tuning,
    tunes=("rate", "ridge", "num_episodes"),
    forgetting="exponential weights",
    exploration="UCB, single norm",
    bound="c_μ^(-1/3) d^(2/3) Γ^(1/3) K^(2/3), Γ jumps",
    paper="Russac, Faury, Cappé & Garivier 2021",
)
def sc_d_glucb(
    spec: Spec,
    *,
    rate: Numeric,
    num_episodes: Numeric,
    ridge: Numeric = 1.0,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.05,
    radius: Numeric | Radius | None = None,
    radius_scale: Numeric = 1.0,
) -> WeightedLikelihood:
    r"""Self-concordant discounted UCB for clicks, $\mu(z) = 1/(1+e^{-z})$, without a projection.

    $$\lambda\hat\theta_t + \sum_{\tau<t} \eta^{t-1-\tau}(\mu(x_\tau^\top\hat\theta_t) - r_\tau)x_\tau
      = 0, \qquad V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \frac{\lambda}{c_\mu} I,$$
    $$x_t \in \arg\max_x\; \mu(x^\top\hat\theta_t) + \frac{\beta_t}{\sqrt{c_\mu}} \sqrt{x^\top V_t^{-1} x},$$
    with the radius $\beta_t$ of `driftwise.parts.glm_radii.SelfConcordantRadius`, which is smaller where
    $\|\hat\theta_t\| \le S$.

    Args:
      rate: $\eta \in (0, 1)$; $\gamma$ in the paper.
      num_episodes: $T$, the rounds of the run.
      ridge: $\lambda > 0$; the paper's is $d\log T$.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta$, the chance of failure.
      radius: in the place of $\beta_t/\sqrt{c_\mu}$.
      radius_scale: a factor of $\beta_t$; the paper's experiments have 1/5.

    When to use: rewards are clicks with chances near 0 or 1, which jump a few times. Its bound depends
    least on the slope.

    When not: rounds are many and must be quick. A round costs as much as there are samples; `d_glb_omd`
    has one step.

    Reference: Russac, Faury, Cappé & Garivier, "Self-Concordant Analysis of Generalized Linear Bandits with
    Forgetting", AISTATS 2021, SC-D-GLUCB.

    Deviations from the paper: samples of weights below 1e-12 are dropped. A round costs as much as there are
    others.
    """
    least, largest = slopes_of_clicks(norm_bound)
    rate = require_numeric("rate", rate, above=0, at_most=1)
    if np.max(rate) == 1:
        raise ArgumentError("rate", "be below 1", rate)
    if radius is None:
        slopes: Any = dict(least_slope=least, largest_slope=largest)
        options: Any = dict(num_episodes=num_episodes, delta=delta, scale=radius_scale)
        radius = SelfConcordantRadius(norm_bound=norm_bound, rate=rate, **slopes, **options)
    return likelihood(
        spec,
        rate,
        num_episodes,
        "space",
        exploration=Ucb(radius, "single"),
        ridge=np.asarray(ridge, dtype=float) / least,
        likelihood_ridge=ridge,
        norm_bound=norm_bound,
    )
