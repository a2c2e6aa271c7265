"""LSVI-UCB, which never forgets; on a sliding window, and restarted at regular intervals."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.base.schema import add_defaults
from driftwise.base.types import Numeric, Radius, Spec, Variation
from driftwise.base.validation import require_choice, require_instance
from driftwise.parts import LeastSquares, NoForgetting, PeriodicRestart, SlidingWindow, Ucb
from driftwise.parts.radii import local_variation_radius
from driftwise.theory.tuning import lsvi_ucb_radius, restart_period, restart_period_if_known


class Regression(TypedDict, total=False):
    r"""The ridge, and the range that values are clipped to.

    Args:
      ridge: $\lambda > 0$.
      clip: `"paper"` clips values to at most $H$; `"tight"` clips step h to $[0, H-h+1]$.
    """

    ridge: Annotated[Numeric, 1.0]
    clip: Annotated[Literal["paper", "tight"], "paper"]


class LsviConfidence(TypedDict, total=False):
    r"""The chance $\delta$ that a radius fails, its factor $c$, and bounds on the model.

    `mu_bound` is $C_\mu$, a bound on the measures of transitions, see
    `driftwise.theory.tuning.measure_excess`; `ridge` is $\lambda$.
    """

    delta: Annotated[float, 0.05]
    beta_scale: Annotated[float, 1.0]
    mu_bound: Annotated[float | None, None]
    ridge: Annotated[float, 1.0]


def tune_lsvi_ucb(spec: Spec, *, num_episodes: int, **confidence: Unpack[LsviConfidence]) -> dict[str, Any]:
    """The radius of Theorem 3.1. It assumes a stationary problem: the variation is not used."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    return dict(radius=lsvi_ucb_radius(**sizes, **add_defaults(LsviConfidence, confidence)))


@tuned_by(tune_lsvi_ucb, "radius")
@register("none", "UCB")
def lsvi_ucb(spec: Spec, *, radius: Numeric, **regression: Unpack[Regression]) -> LeastSquares:
    r"""Least-squares value iteration with upper confidence bounds.

    $$w_{t,h} = \Lambda^{-1} \sum_{\tau<t} \phi_\tau \bigl(r_\tau + V_{t,h+1}(s'_\tau)\bigr), \qquad
      Q_{t,h} = \min\{\phi^\top w_{t,h} + \beta\sqrt{\phi^\top\Lambda^{-1}\phi}, H\}.$$

    Args:
      clip: `"paper"` as above; `"tight"` clips step h to $[0, H-h+1]$, which the bound is about: its proof
        needs values that are not negative.
    When to use: nothing drifts; it is the baseline that does not forget.
    When not: the problem changes. Old episodes outweigh new ones for as long as they were right.
    Reference: Jin, Yang, Wang & Jordan 2020, Algorithm 1.
    Deviations from the paper: where several actions reach the clip at H, the one with the largest
    unclipped index acts; other ties are broken at random (the paper leaves ties open).
    """
    return LeastSquares(spec, NoForgetting(), Ucb(radius), **regression)


def tune_sw_lsvi_ucb(
    spec: Spec, *, num_episodes: int, variation: float, **confidence: Unpack[LsviConfidence]
) -> dict[str, Any]:
    """A window as long as LSVI-UCB-Restart's period, and the radius of LSVI-UCB."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    radius = lsvi_ucb_radius(**sizes, **add_defaults(LsviConfidence, confidence))
    return dict(length=restart_period(**sizes, variation=variation), radius=radius)


@tuned_by(tune_sw_lsvi_ucb, "length", "radius")
@register("sliding window", "UCB", "Zhong, Yang, Wang & Szepesvári 2021 for linear kernel MDPs")
def sw_lsvi_ucb(
    spec: Spec, *, length: Numeric, radius: Numeric, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the newest $W$ episodes only, $\tau \ge t - W$.

    Args:
      length: $W$, episodes in the window.
    When to use: an episode is of full use for a known number of episodes and of none after that.
    When not: memory is scarce. A long window keeps all its samples; `opt_wlsvi` keeps sums.
    Reference: LSVI-UCB (Jin et al., COLT 2020) with the window of SW-UCB (Cheung, Simchi-Levi & Zhu, AISTATS
    2019). Zhong, Yang, Wang & Szepesvári 2021, have an SW-LSVI-UCB for linear kernel MDPs.
    Deviations from the papers: linear MDPs instead of linear kernel ones; those of `lsvi_ucb`.
    """
    return LeastSquares(spec, SlidingWindow(length), Ucb(radius), **regression)


def tune_lsvi_ucb_restart(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    variations: Variation | None = None,
    local_variation: Literal["unknown", "known"] = "unknown",
    **confidence: Unpack[LsviConfidence],
) -> dict[str, Any]:
    """The radius of LSVI-UCB and the period for unknown or known local variation.

    If it is known, epochs have another length, and the radius grows within each as `variations`
    (`environment.variation(num_episodes)`) say.
    """
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    radius = lsvi_ucb_radius(**sizes, **add_defaults(LsviConfidence, confidence))
    if require_choice("local_variation", local_variation, ("unknown", "known")) == "unknown":
        return dict(period=restart_period(**sizes, variation=variation), radius=radius)
    period = restart_period_if_known(**sizes, variation=variation)
    moves = require_instance("variations", variations, Variation)
    run: dict[str, Any] = dict(horizon=spec.horizon, num_episodes=num_episodes, variations=moves)
    return dict(period=period, radius=local_variation_radius(radius, period=period, **run))


@tuned_by(tune_lsvi_ucb_restart, "period", "radius")
@register("periodic restart", "UCB")
def lsvi_ucb_restart(
    spec: Spec, *, period: Numeric, radius: Numeric | Radius, **regression: Unpack[Regression]
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the current epoch only, $\tau \ge \lfloor t/E \rfloor E$.

    Args:
      period: $E$, episodes in an epoch.
      radius: $\beta \ge 0$, or a part that gives it: `LocalVariationRadius` adds
        $\sqrt{d(t-t_0)}(B_\theta + HB_\mu)$ for an epoch that starts at $t_0$ and varies by that much.
    When to use: changes are rare, or restarts on a schedule suit you.
    When not: changes come at unknown times. Each restart also throws away what is still true.
    Reference: Zhou, Chen, Varshney & Jagmohan 2020, Algorithm 1.
    Deviations from the paper: those of `lsvi_ucb`; moves from one epoch to the next are no part of an epoch's
    variation, since no estimate mixes data from both sides.
    """
    return LeastSquares(spec, PeriodicRestart(period), Ucb(radius), **regression)
