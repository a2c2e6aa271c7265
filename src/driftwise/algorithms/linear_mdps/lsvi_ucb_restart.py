"""LSVI-UCB-Restart: start LSVI-UCB afresh at regular intervals."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec, Variation
from driftwise.base.validation import require_choice, require_kind
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import PeriodicRestart
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.radii import local_variation_radius
from driftwise.theory.tuning import lsvi_ucb_radius, restart_period, restart_period_if_known


def tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    variations: Variation | None = None,
    local_variation: Literal["unknown", "known"] = "unknown",
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    """The radius of LSVI-UCB and the period for unknown or known local variation.

    If it is known, epochs have another length, and the radius grows within each as `variations`
    (`environment.variation(num_episodes)`) say.
    """
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    radius = lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale)
    if require_choice("local_variation", local_variation, ("unknown", "known")) == "unknown":
        return dict(period=restart_period(**sizes, variation=variation), radius=radius)
    period = restart_period_if_known(**sizes, variation=variation)
    moves = require_kind("variations", variations, Variation)
    run: dict[str, Any] = dict(horizon=spec.horizon, num_episodes=num_episodes, variations=moves)
    return dict(period=period, radius=local_variation_radius(radius, period=period, **run))


@register(
    tuning=tuning,
    tunes=("period", "radius"),
    forgetting="periodic restart",
    exploration="UCB",
    paper="Zhou, Chen, Varshney & Jagmohan 2020",
)
def lsvi_ucb_restart(
    spec: Spec,
    *,
    period: Numeric,
    radius: Numeric | Radius,
    ridge: Numeric = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the current epoch only, $\tau \ge \lfloor t/E \rfloor E$.

    Args:
      period: $E$, episodes in an epoch.
      radius: $\beta \ge 0$, or a part that gives it: `LocalVariationRadius` adds
        $\sqrt{d(t-t_0)}(B_\theta + HB_\mu)$ for an epoch that starts at $t_0$ and varies by that much.
      ridge: $\lambda > 0$.
      clip: `"paper"` is $\min\{\cdot, H\}$; `"tight"` clips step h to $[0, H-h+1]$.

    Reference: Zhou, Chen, Varshney & Jagmohan, "Nonstationary Reinforcement Learning with Linear Function
    Approximation", 2020, Algorithm 1.

    Deviations from the paper: those of `lsvi_ucb`; moves from one epoch to the next are no part of an epoch's
    variation, since no estimate mixes data from both sides.
    """
    return LeastSquares(spec, PeriodicRestart(period), Ucb(radius), ridge, clip)
