"""Least-squares value iteration: LSVI-UCB, on a window, restarted; OPT-WLSVI; with drawn or known parts."""

import math
from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise import parts
from driftwise.algorithms import any_forgetting
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import KEYWORDS, AnyForgetting, Clip, LinearRun, TheoryRun
from driftwise.base.schema import add_defaults
from driftwise.base.types import Numeric, Radius, Spec, Variation
from driftwise.base.validation import require_choice, require_instance, require_number, require_numeric
from driftwise.parts import LeastSquares, NoForgetting, Ucb
from driftwise.parts.exploration import Norm
from driftwise.parts.radii import local_variation_radius
from driftwise.theory import tuning as formulas
from driftwise.theory.tuning import RateTuning


class Regression(TypedDict, total=False):
    ridge: Annotated[Numeric, 1.0]
    clip: Annotated[Clip, "paper"]


class RadiusRun(TheoryRun, total=False):
    mu_bound: Annotated[float | None, None]


class LsviRun(RadiusRun, total=False):
    ridge: Annotated[float, 1.0]


def tune_lsvi_ucb(spec: Spec, **run: Unpack[LsviRun]) -> dict[str, Any]:
    """The radius of Theorem 3.1. It assumes a stationary problem: the variation is not used."""
    return dict(
        radius=formulas.lsvi_ucb_radius(dim=spec.dim, horizon=spec.horizon, **add_defaults(LsviRun, run))
    )


@tuned_by(tune_lsvi_ucb, "radius")
@register("none", "UCB")
def lsvi_ucb(spec: Spec, *, radius: Numeric, **regression: Unpack[Regression]) -> LeastSquares:
    r"""Least-squares value iteration with upper confidence bounds.

    $$w_{t,h} = \Lambda^{-1} \sum_{\tau<t} \phi_\tau \bigl(r_\tau + V_{t,h+1}(s'_\tau)\bigr), \qquad
      Q_{t,h} = \min\{\phi^\top w_{t,h} + \beta\sqrt{\phi^\top\Lambda^{-1}\phi}, H\}.$$
    Args:
      clip: `"paper"` as above; `"tight"` clips step h to $[0, H-h+1]$, which the proof of the bound needs.
    When to use: nothing drifts; it is the baseline that does not forget.
    When not: the problem changes. Old episodes outweigh new ones for as long as they were right.
    Reference: Jin, Yang, Wang & Jordan 2020, Algorithm 1.
    Deviations from the paper: of actions that reach the clip at H, the largest unclipped index acts.
    """
    return LeastSquares(spec, NoForgetting(), Ucb(radius), **regression)


def tune_sw_lsvi_ucb(spec: Spec, *, variation: float, **run: Unpack[LsviRun]) -> dict[str, Any]:
    """A window as long as LSVI-UCB-Restart's period, and the radius of LSVI-UCB."""
    numbers = tune_lsvi_ucb_restart(spec, variation=variation, **run)
    return dict(length=numbers["period"], radius=numbers["radius"])


@tuned_by(tune_sw_lsvi_ucb, "length", "radius")
@register("sliding window", "UCB", "Zhong, Yang, Wang & Szepesvári 2021 for linear kernel MDPs")
def sw_lsvi_ucb(
    spec: Spec, *, length: Numeric, radius: Numeric, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the newest $W$ episodes only, $\tau \ge t - W$.

    When to use: an episode is of full use for a known number of episodes and of none after that.
    When not: memory is scarce. A long window keeps all its samples; `opt_wlsvi` keeps sums.
    Reference: Jin et al. 2020 with the window of Cheung, Simchi-Levi & Zhu 2019; Zhong, Yang, Wang &
    Szepesvári 2021 for linear kernel MDPs. Deviations from the papers: linear MDPs; those of `lsvi_ucb`.
    """
    return LeastSquares(spec, parts.SlidingWindow(length), Ucb(radius), **regression)


def tune_lsvi_ucb_restart(
    spec: Spec,
    *,
    variation: float,
    variations: Variation | None = None,
    local_variation: Literal["unknown", "known"] = "unknown",
    **run: Unpack[LsviRun],
) -> dict[str, Any]:
    """The radius of LSVI-UCB and the period for unknown or known local variation.

    If it is known, the radius grows within epochs by `variations`, `environment.variation(num_episodes)`.
    """
    sizes: dict[str, Any] = dict(horizon=spec.horizon, num_episodes=run["num_episodes"])
    radius = tune_lsvi_ucb(spec, **run)["radius"]
    if require_choice("local_variation", local_variation, ("unknown", "known")) == "unknown":
        return dict(period=formulas.restart_period(dim=spec.dim, variation=variation, **sizes), radius=radius)
    period = formulas.restart_period_if_known(dim=spec.dim, variation=variation, **sizes)
    sizes |= dict(period=period, variations=require_instance("variations", variations, Variation))
    return dict(period=period, radius=local_variation_radius(radius, **sizes))


@tuned_by(tune_lsvi_ucb_restart, "period", "radius")
@register("periodic restart", "UCB")
def lsvi_ucb_restart(
    spec: Spec, *, period: Numeric, radius: Numeric | Radius, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the current epoch only, $\tau \ge \lfloor t/E \rfloor E$.
    Args:
      radius: $\beta \ge 0$, or a part that gives it, as `LocalVariationRadius` does.
    When to use: changes are rare, or restarts on a schedule suit you.
    When not: changes come at unknown times. Each restart also throws away what is still true.
    Reference: Zhou, Chen, Varshney & Jagmohan 2020, Algorithm 1.
    Deviations from the paper: those of `lsvi_ucb`; moves between epochs are no part of their variation.
    """
    return LeastSquares(spec, parts.PeriodicRestart(period), Ucb(radius), **regression)


def tune_opt_wlsvi(
    spec: Spec, *, variation: float, tuning: RateTuning = "paper", **run: Unpack[RadiusRun]
) -> dict[str, Any]:
    """The rate of Corollary 1 (or another `tuning`) and the radius of Theorem 1, for the `mu_bound`."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=run["num_episodes"])
    rate = formulas.opt_wlsvi_rate(**sizes, variation=variation, tuning=tuning)
    ridge = float(spec.dim) if tuning == "ridge_dim" else 1.0
    sizes |= add_defaults(RadiusRun, run)
    return dict(rate=rate, radius=formulas.opt_wlsvi_radius(**sizes, rate=rate, ridge=ridge), ridge=ridge)


@tuned_by(tune_opt_wlsvi, "rate", "radius", "ridge")
@register("exponential weights", "UCB, sandwich or single norm")
def opt_wlsvi(
    spec: Spec, *, rate: Numeric, radius: Numeric, norm: Norm = "sandwich", **regression: Unpack[Regression]
) -> LeastSquares:
    r"""Optimistic weighted least-squares value iteration.

    $$w_{t,h} = \Lambda_{t,h}^{-1} \sum_{\tau<t} \eta^{t-1-\tau} \phi_{\tau,h}
      \bigl(r_{\tau,h} + V_{t,h+1}(s_{\tau,h+1})\bigr), \qquad
      \Lambda_{t,h} = \sum_{\tau<t} \eta^{t-1-\tau} \phi_{\tau,h}\phi_{\tau,h}^\top + \lambda I,$$
    $$Q_{t,h} = \phi^\top w_{t,h} + \beta \sqrt{\phi^\top \Lambda^{-1}\tilde\Lambda\Lambda^{-1} \phi}, \qquad
      V_{t,h} = \min\{\max_a Q_{t,h}(\cdot,a), H\},$$

    with $\tilde\Lambda$ as $\Lambda$ but with squared weights; the greedy policy acts on $Q$.
    Args:
      norm: `"single"` has $\sqrt{\phi^\top\Lambda^{-1}\phi}$ for the root, which is never smaller.
    When to use: the MDP drifts, and you know roughly how many episodes an observation stays useful.
    When not: you do not know that; `adaptive_opt_wlsvi` weighs memories by itself.
    Reference: Touati & Vincent 2020, Algorithm 1 and Equations (6) and (7).
    Deviations from the paper: sums are multiplied by $\eta^{t-1}$, so that they cannot overflow.
    """
    return LeastSquares(spec, parts.ExponentialWeights(rate), Ucb(radius, norm), **regression)


def tune_epsilon_greedy_lsvi(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    """OPT-WLSVI's rate and ε = min{1, (A/K)^(1/3)}."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    epsilon = formulas.exploration_probability(num_actions=spec.num_actions, num_episodes=num_episodes)
    return dict(rate=formulas.opt_wlsvi_rate(**sizes, variation=variation), epsilon=epsilon)


@tuned_by(tune_epsilon_greedy_lsvi, "rate", "epsilon")
@register("exponential weights", "ε-greedy", "baseline", "none")
def epsilon_greedy_lsvi(
    spec: Spec, *, epsilon: Numeric, rate: Numeric = 1.0, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""Least-squares value iteration that explores by chance.

    Weights are OPT-WLSVI's without a bonus, $Q_{t,h} = \phi^\top w_{t,h}$, for values of the greedy policy.
    Each step takes a uniformly drawn action with probability $\varepsilon$ and a greedy one otherwise.
    When to use: you want the simplest baseline that explores and forgets.
    When not: reward lies behind several right actions in a row. Chance rarely finds them all.
    """
    return LeastSquares(spec, parts.ExponentialWeights(rate), parts.EpsilonGreedy(epsilon), **regression)


def tune_opt_rlsvi(
    spec: Spec, *, upper_scale: float = 1.0, mu_bound: float | None = None, **run: Unpack[LinearRun]
) -> dict[str, Any]:
    r"""$\sigma = \sqrt H\,\beta$ and the forgetting of OPT-WLSVI, whose radius is $\beta$.

    $\alpha_U = \min\{1, c'/(\sigma\sqrt d)\} = 2\alpha_L$ with `upper_scale` for $c'$, left open by theory.
    """
    radius, memory = any_forgetting.radius_and_memory(spec, mu_bound, **run)
    scale = math.sqrt(spec.horizon) * radius
    upper_scale = require_number("upper_scale", upper_scale, above=0)
    return dict(scale=scale, upper=upper_scale / max(scale * math.sqrt(spec.dim), upper_scale), **memory)


@tuned_by(tune_opt_rlsvi, "scale", "upper", *KEYWORDS)
@register("none, or any", "drawn parameters, optimistic where unsure", bound="d^2 H^2 T^(1/2), stationary")
def opt_rlsvi(
    spec: Spec,
    *,
    scale: Numeric,
    upper: Numeric,
    lower: Numeric | None = None,
    ridge: Numeric = 1.0,
    **forgetting: Unpack[AnyForgetting],
) -> LeastSquares:
    r"""Optimistic randomised least-squares value iteration.

    $$\bar w_{t,h} = \Lambda^{-1} \sum_{\tau<t} \phi_\tau \bigl(r_\tau + \bar V_{t,h+1}(s'_\tau)\bigr) + \xi,
      \qquad \xi \sim N(0, \sigma^2\Lambda^{-1}), \qquad \bar V_{t,h} = \max_a \bar Q_{t,h}(\cdot, a),$$
    $$\bar Q_{t,h} = (1 - u)\,\phi^\top\bar w_{t,h} + u\,(H-h+1), \qquad
      u = \min\Bigl\{1, \max\Bigl\{0,
      \frac{\|\phi\|_{\Lambda^{-1}} - \alpha_L}{\alpha_U - \alpha_L}\Bigr\}\Bigr\}.$$

    Where it forgets, sums are weighted, and $\xi \sim N(0, \sigma^2\Lambda^{-1}\tilde\Lambda\Lambda^{-1})$.
    Args:
      scale: $\sigma \ge 0$.
      upper: $\alpha_U$, from which on an estimate counts for nothing.
      lower: $\alpha_L \le \alpha_U$, up to which it is trusted; half of `upper` if left out, as in the paper.
    When to use: you want exploration by drawn parameters instead of a bonus, in values of many steps.
    When not: you want the smaller bound. That of `lsvi_ucb` has a lower power of the dimension.
    Reference: Zanette, Brandfonbrener, Brunskill, Pirotta & Lazaric 2020, Algorithm 1.
    Deviations from the paper: forgetting is ours.
    """
    if lower is None:
        lower = np.asarray(require_numeric("upper", upper, at_least=0)) / 2
    exploration = parts.TruncatedThompson(scale, lower, upper)
    return LeastSquares(spec, any_forgetting.choose_forgetting(**forgetting), exploration, ridge, clip="none")


def tune_matrix_rl(spec: Spec, **run: Unpack[LinearRun]) -> dict[str, Any]:
    r"""OPT-WLSVI's forgetting, and its radius over $\sqrt d$, with constants of features in `beta_scale`."""
    radius, memory = any_forgetting.radius_and_memory(spec, **run)
    return dict(radius=radius / math.sqrt(spec.dim), **memory)


@tuned_by(tune_matrix_rl, "radius", *KEYWORDS)
@register("none, or any", "UCB; known rewards and successor features", bound="d H^2 T^(1/2), stationary")
def matrix_rl(
    spec: Spec,
    *,
    radius: Numeric,
    ridge: Numeric = 1.0,
    steps: Literal["shared", "apart"] = "shared",
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> LeastSquares:
    r"""Value iteration on an estimate of the matrix $M$ in $P(s'|s,a) = \phi(s,a)^\top M \psi(s')$.

    $$A_t = \lambda I + \sum_{\tau<t,\,h} \phi_{\tau,h}\phi_{\tau,h}^\top, \qquad
      \hat M_t = A_t^{-1} \sum_{\tau<t,\,h} \phi_{\tau,h}\,\psi(s_{\tau,h+1})^\top K_\psi^{-1}, \qquad
      K_\psi = \sum_s \psi(s)\psi(s)^\top,$$
    $$Q_{t,h} = r_{t,h} + \phi^\top \hat M_t \sum_s \psi(s) V_{t,h+1}(s) + \beta\sqrt{\phi^\top A_t^{-1}\phi},
      \qquad V_{t,h} = \min\{\max\{\max_a Q_{t,h}(\cdot,a), 0\}, H\}.$$

    It needs $\psi$, the `successor_features`, and the rewards of every episode. It may forget by weights.
    Args:
      steps: `"shared"` as above, if transitions do not depend on h; `"apart"` has sums for each step.
    When to use: rewards and features of successors are known: a small matrix is all there is to learn.
    When not: rewards have to be learnt, or nobody knows the features of successors.
    Reference: Yang & Wang 2020, Algorithm 1.
    Deviations from the paper: those of `lsvi_ucb`. In the bonus $\|\sum_s \psi(s)V(s)\|$ is replaced by its
    bound $C_\psi H$. Forgetting, rewards that depend on episode and step, and `steps="apart"` are ours.
    """
    chosen = any_forgetting.choose_forgetting(**forgetting)
    known: Any = dict(rewards="known", successors="features", steps=steps)
    return LeastSquares(spec, chosen, Ucb(radius, "single"), ridge, clip, **known)
