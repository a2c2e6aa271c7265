"""Optimism for clicks and counts: by weighted likelihood, and by mirror descent at a constant cost."""

import math
from typing import Any, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits.bandit_agent import SpreadConfidence, confidence_radius, require_bandit
from driftwise.base.schema import add_defaults
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import ArgumentError, require_number, require_numeric
from driftwise.parts import ExponentialWeights, MirrorDescent, Ucb, WeightedLikelihood
from driftwise.parts.link_regression import least_ridge
from driftwise.parts.links import LinkName, Logistic, link_from_name
from driftwise.parts.radii import MirrorDescentRadius, SelfConcordantRadius
from driftwise.theory.bandit_tuning import glb_weight_ucb_rate, sc_d_glucb_rate, weight_ucb_rate

_CLICKS = Logistic()


def click_slopes(norm_bound: Numeric) -> tuple[np.ndarray, np.ndarray]:
    """`c_μ` and `k_μ` of the logistic link."""
    return _CLICKS.slopes(np.asarray(require_numeric("norm_bound", norm_bound, above=0), dtype=float))


def likelihood_agent(
    spec: Spec, rate: Numeric, num_episodes: Numeric | None, radius: Numeric | Radius, **options: Any
) -> WeightedLikelihood:
    """Return the agent, with capacity for samples that weigh more than 1e-12, or all of the run."""
    require_bandit(spec)
    forgetting = ExponentialWeights(rate)
    largest = float(np.max(forgetting.rate))
    if largest == 1 and num_episodes is None:
        raise ArgumentError("num_episodes", "be given where nothing is forgotten", None)
    counted = math.inf if largest == 1 else math.ceil(math.log(1e-12) / math.log(largest))
    capacity = counted if num_episodes is None else min(counted, int(np.max(num_episodes)))
    options |= dict(exploration=Ucb(radius, "single"), capacity=max(int(capacity), 1))
    return WeightedLikelihood(spec, _CLICKS, forgetting, **options)


def tune_glb_weight_ucb(
    spec: Spec, *, num_episodes: int, variation: float, norm_bound: float = 1.0
) -> dict[str, Any]:
    """λ = d/c_μ² and η = 1 − max{1/T, √(k_μ c_μ P_T/(dT))}, with a radius for all rounds of the run."""
    least, largest = (float(slope) for slope in click_slopes(require_number("norm_bound", norm_bound)))
    run: Any = dict(num_episodes=num_episodes, variation=variation)
    rate = glb_weight_ucb_rate(dim=spec.dim, **run, least_slope=least, largest_slope=largest)
    return dict(rate=rate, ridge=spec.dim / least**2, num_episodes=num_episodes)


@tuned_by(tune_glb_weight_ucb, "rate", "ridge", "num_episodes")
@register("exponential weights", "UCB, single norm", bound="c_μ^(-3/4) d^(3/4) Δ^(1/4) K^(3/4)")
def glb_weight_ucb(
    spec: Spec, *, rate: Numeric, **confidence: Unpack[SpreadConfidence]
) -> WeightedLikelihood:
    r"""Weighted UCB for clicks, $\mu(z) = 1/(1+e^{-z})$, by maximum likelihood.

    $$\lambda c_\mu\hat\theta_t + \sum_{\tau<t} \eta^{t-1-\tau}(\mu(x_\tau^\top\hat\theta_t) - r_\tau)x_\tau
      = 0, \qquad V_t = \sum_{\tau<t} \eta^{t-1-\tau} x_\tau x_\tau^\top + \lambda I,$$
    $$x_t \in \arg\max_x\; \mu(x^\top\tilde\theta_t) + \frac{2k_\mu}{c_\mu}\beta_t \sqrt{x^\top V_t^{-1} x},$$
    where $\tilde\theta_t$ is $\hat\theta_t$, projected onto the ball $\|\theta\| \le S$; $\beta_t$ is the
    radius of `d_lin_ucb` with $c_\mu S$ for $S$; $c_\mu \le \mu'(z) \le k_\mu = 1/4$ where $|z| \le S$.
    Args:
      ridge: $\lambda > 0$; the paper's is $d/c_\mu^2$.
      noise_scale: $\sigma \ge 0$; 1/2, which holds for clicks, unless given.
      radius: in the place of $2k_\mu\beta_t/c_\mu$.
    When to use: rewards are clicks that drift, and you want maximum likelihood with a proven bound.
    When not: rounds are many. A round costs as much as there are samples; `d_glb_omd` has one step.
    Reference: Wang, Zhao & Zhou 2023, GLB-WeightUCB.
    Deviations from the paper: $\delta'$, as of `d_lin_ucb`; samples of weights below 1e-12 are dropped.
    """
    options: Any = add_defaults(SpreadConfidence, confidence)
    ridge, norm_bound = options["ridge"], options["norm_bound"]
    least, largest = click_slopes(norm_bound)
    if options["noise_scale"] is None:
        options["noise_scale"] = 0.5  # a coin is 1/2-sub-Gaussian
    options["norm_bound"] = least * np.asarray(norm_bound, dtype=float)
    options["radius_scale"] = 2 * largest / least * np.asarray(options["radius_scale"], dtype=float)
    numbers: Any = dict(ridge=ridge, likelihood_ridge=least * np.asarray(ridge, dtype=float))
    numbers |= dict(radius=confidence_radius(**options), norm_bound=norm_bound, within="ball")
    return likelihood_agent(spec, rate, options["num_episodes"], **numbers)


def tune_sc_d_glucb(
    spec: Spec, *, num_episodes: int, num_changes: int = 1, norm_bound: float = 1.0
) -> dict[str, Any]:
    """λ = d log T and η = 1 − (√c_μ Γ/(dT))^(2/3) for Γ `num_changes`."""
    least = float(click_slopes(require_number("norm_bound", norm_bound))[0])
    run: Any = dict(num_episodes=num_episodes, num_changes=num_changes, least_slope=least)
    ridge = spec.dim * max(math.log(num_episodes), 1.0)
    return dict(rate=sc_d_glucb_rate(dim=spec.dim, **run), ridge=ridge, num_episodes=num_episodes)


@tuned_by(tune_sc_d_glucb, "rate", "ridge", "num_episodes")
@register("exponential weights", "UCB, single norm", bound="c_μ^(-1/3) d^(2/3) Γ^(1/3) K^(2/3), Γ jumps")
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
    with the radius $\beta_t$ of `driftwise.parts.SelfConcordantRadius`.
    Args:
      rate: $\eta \in (0, 1)$; $\gamma$ in the paper.
      ridge: $\lambda > 0$; the paper's is $d\log K$.
      radius: in the place of $\beta_t/\sqrt{c_\mu}$; the paper's experiments have the `radius_scale` 1/5.
    When to use: rewards are clicks with chances near 0 or 1, which jump a few times.
    When not: rounds are many. A round costs as much as there are samples; `d_glb_omd` has one step.
    Reference: Russac, Faury, Cappé & Garivier 2021, SC-D-GLUCB.
    Deviations from the paper: samples of weights below 1e-12 are dropped.
    """
    least, largest = click_slopes(norm_bound)
    rate = require_numeric("rate", rate, above=0, at_most=1)
    if np.max(rate) == 1:
        raise ArgumentError("rate", "be below 1", rate)
    numbers: Any = dict(norm_bound=norm_bound)
    if radius is None:
        options: Any = dict(num_episodes=num_episodes, delta=delta, scale=radius_scale, rate=rate)
        radius = SelfConcordantRadius(**numbers, least_slope=least, largest_slope=largest, **options)
    numbers |= dict(ridge=np.asarray(ridge, dtype=float) / least, likelihood_ridge=ridge, within="space")
    return likelihood_agent(spec, rate, num_episodes, radius, **numbers)


def tune_d_glb_omd(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    """η = 1 − max{1/T, √(P_T/(dT))}, and a radius for all rounds of the run."""
    rate = weight_ucb_rate(dim=spec.dim, num_episodes=num_episodes, variation=variation)
    return dict(rate=rate, num_episodes=num_episodes)


@tuned_by(tune_d_glb_omd, "rate", "num_episodes")
@register(
    "exponential weights", "UCB, single norm", "ours; Zhang, Xu, Zhao & Sugiyama 2025", "none under drift"
)
def d_glb_omd(
    spec: Spec,
    *,
    rate: Numeric,
    link: LinkName = "logistic",
    norm_bound: Numeric = 5.0,
    noise_scale: Numeric = 1.0,
    ridge: Numeric | None = None,
    radius: Numeric | Radius | None = None,
    delta: Numeric = 0.05,
    num_episodes: Numeric | None = None,
    radius_scale: Numeric = 1.0,
) -> MirrorDescent:
    r"""Discounted GLB-OMD: rewards that are clicks or counts, at a constant cost a round.

    A reward has the mean $\mu(x^\top\theta_t)$. Every round has one step of mirror descent,
    $$A = \eta H_t + (1-\eta)\lambda I, \qquad c = A^{-1}\eta H_t\theta_t, \qquad
      \tilde A = A + \tfrac{\zeta}{g}\mu'(x_t^\top c)\,x_tx_t^\top,$$
    $$u = c - \tfrac{\zeta}{g}\tilde A^{-1}x_t(\mu(x_t^\top c) - r_t), \qquad
      \theta_{t+1} = \arg\min_{\|v\|\le S} \|v - u\|_{\tilde A}, \qquad
      H_{t+1} = A + \tfrac1g\mu'(x_t^\top\theta_{t+1})\,x_tx_t^\top,$$
    $$x_t \in \arg\max_x\; x^\top\theta_t + \beta_t \sqrt{x^\top H_t^{-1} x}, \qquad
      \beta_t^2 = \lambda S^2 + 2\zeta\log\tfrac1{\delta'} + (6\zeta^2+\zeta)D_t,$$
    with $D_{t+1} = \eta D_t + \log(\det H_{t+1}/\det A)$, $\zeta = 1 + RS$, $R = 1$ or 0 for the identity.
    Args:
      rate: $\eta \in (0, 1]$; 1 is GLB-OMD, which never forgets.
      link: $\mu$: `"logistic"` for clicks, `"log"` for counts ($g = 1$), `"identity"` with $g = \sigma^2$.
      norm_bound: $S \ge \|\theta\|$ for features of norms up to 1; 5 has chances of clicks of 0.7 to 99.3 %.
      noise_scale: $\sigma > 0$, for the identity alone.
      ridge: $\lambda > 0$; without it theory's $\max\{14d\zeta R^2, 6\zeta RSk_\mu/g\}$, 1 for the identity.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`, instead of $\beta_t$.
      num_episodes: rounds of the run: $\delta' = \delta/K$; without it $\delta' = \delta/(2t(1+\ln t)^2)$.
      radius_scale: a factor of $\beta_t$; a tenth, with $\lambda = d$, often does better.
    When to use: rewards are clicks or counts that drift, and a round must cost the same however long it runs.
    When not: rewards are numbers with a linear mean; `d_lin_ucb` needs no link.
    Reference: Zhang, Xu, Zhao & Sugiyama 2025, GLB-OMD, which it is for $\eta = 1$.
    Deviations from the paper: the weights are ours, with a radius that is valid where nothing drifts; it has
    $\lambda S^2$ for the paper's $4\lambda S^2$, as it starts at 0, and the determinant, not its bound.
    """
    require_bandit(spec)
    mean = link_from_name(link)
    bound = np.asarray(require_numeric("norm_bound", norm_bound, above=0), dtype=float)
    step_size = 1 + mean.self_concordance * bound
    dispersion: Any = 1.0
    if link == "identity":
        dispersion = np.asarray(require_numeric("noise_scale", noise_scale, above=0), dtype=float) ** 2
    if ridge is None:
        ridge = least_ridge(mean, spec.dim, bound)
    if radius is None:
        shares = 0 if num_episodes is None else num_episodes
        radius = MirrorDescentRadius(norm_bound, step_size, delta, shares, radius_scale)
    exploration, forgetting = Ucb(radius, "single"), ExponentialWeights(rate)
    return MirrorDescent(spec, mean, forgetting, exploration, ridge, norm_bound, step_size, dispersion)
