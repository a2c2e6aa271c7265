"""RestartLinUCB: start LinUCB afresh at regular intervals."""

from __future__ import annotations

from typing import Any

from driftwise.algorithms.bandits.agent import Information, bandit_agent, unweighted_radius
from driftwise.algorithms.bandits.tuned import tuned_to_drift
from driftwise.algorithms.registry import register
from driftwise.exploration import Ucb
from driftwise.forgetting import PeriodicRestart
from driftwise.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import bandit_window
from driftwise.types import Numeric, Spec


@tuned_to_drift()
def tuned(spec: Spec, run: dict[str, Any], assumed: dict[str, Any]) -> LeastSquares:
    """RestartLinUCB with the period of a `tuning`, and the radius of LinUCB in each epoch."""
    return restart_lin_ucb(spec, period=bandit_window(**run), **assumed)


@register(
    tuned=tuned,
    problem="linear bandit",
    forgetting="periodic restart",
    exploration="UCB",
    bound="d^(7/8) Δ^(1/4) K^(3/4)",
    paper="Zhao, Zhang, Jiang & Zhou 2020",
)
def restart_lin_ucb(
    spec: Spec,
    *,
    period: Numeric,
    noise_scale: Numeric | None = None,
    radius: Numeric | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.05,
    information: Information = "count",
    radius_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
) -> LeastSquares:
    r"""LinUCB on the rounds of the current epoch, $\tau \ge \lfloor t/E \rfloor E$ (RestartUCB in the paper).

    Args:
      spec: sizes of the problem, `environment.spec`.
      period: $E$, rounds in an epoch.
      noise_scale, radius, norm_bound, delta, radius_scale, ridge: as of `lin_ucb`.
      information: as of `lin_ucb`; the rounds that are counted are those of the epoch.

    Reference: Zhao, Zhang, Jiang & Zhou, "A Simple Approach for Non-stationary Linear Bandits", AISTATS 2020,
    Algorithm 1. The bound is that of the corrected analysis (Touati & Vincent 2020).

    Deviations from the paper: the radius grows with the rounds of the epoch, where the paper's has the whole
    epoch in it from the start; ties are broken at random.
    """
    beta = unweighted_radius(
        information=information,
        period=period,
        radius=radius,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        radius_scale=radius_scale,
    )
    return bandit_agent(spec, PeriodicRestart(period), Ucb(beta), ridge)
