"""LSVI-UCB-Restart: start LSVI-UCB afresh at regular intervals."""

from __future__ import annotations

from typing import Literal

from driftwise.algorithms.registry import register
from driftwise.exploration import Ucb
from driftwise.forgetting import PeriodicRestart
from driftwise.least_squares import LeastSquares
from driftwise.theory.tuning import lsvi_ucb_radius, restart_period
from driftwise.types import Numeric, Spec


def tuned(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    delta: float = 0.05,
    beta_scale: float = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> LeastSquares:
    """LSVI-UCB-Restart with the period for unknown local variation and the radius of LSVI-UCB."""
    sizes = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    period = restart_period(**sizes, variation=variation)
    radius = lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale)
    return lsvi_ucb_restart(spec, period=period, radius=radius, clip=clip)


@register(
    tuned=tuned,
    problem="linear MDP",
    forgetting="periodic restart",
    exploration="UCB",
    bound="d^(5/4) H^(5/4) Δ^(1/4) T^(3/4), T = HK",
    paper="Zhou, Chen, Varshney & Jagmohan 2020",
)
def lsvi_ucb_restart(
    spec: Spec,
    *,
    period: Numeric,
    radius: Numeric,
    ridge: Numeric = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the current epoch only, $\tau \ge \lfloor t/E \rfloor E$.

    Args:
      spec: sizes of the problem, `environment.spec`.
      period: $E$, episodes in an epoch.
      radius: $\beta \ge 0$.
      ridge: $\lambda > 0$.
      clip: `"paper"` is $\min\{\cdot, H\}$; `"tight"` clips step h to $[0, H-h+1]$.

    Reference: Zhou, Chen, Varshney & Jagmohan, "Nonstationary Reinforcement Learning with Linear Function
    Approximation", 2020, Algorithm 1.

    Deviations from the paper: those of `lsvi_ucb`; the variant that is told the local variation is not
    included.
    """
    return LeastSquares(spec, PeriodicRestart(period), Ucb(radius), ridge, clip)
