"""SW-LSVI-UCB: optimistic value iteration on a sliding window."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.tuning import lsvi_ucb_radius, restart_period


def tuning(
    spec: Spec, *, num_episodes: int, variation: float, delta: float = 0.05, beta_scale: float = 1.0
) -> dict[str, Any]:
    """A window as long as LSVI-UCB-Restart's period, and the radius of LSVI-UCB."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    return dict(
        length=restart_period(**sizes, variation=variation),
        radius=lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale),
    )


@register(
    tuning=tuning,
    tunes=("length", "radius"),
    forgetting="sliding window",
    exploration="UCB",
    paper="LSVI-UCB on a window, as SW-UCB (Cheung et al. 2019) for bandits",
)
def sw_lsvi_ucb(
    spec: Spec,
    *,
    length: Numeric,
    radius: Numeric,
    ridge: Numeric = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> LeastSquares:
    r"""LSVI-UCB whose sums run over the newest $W$ episodes only, $\tau \ge t - W$.

    Args:
      length: $W$, episodes in the window.
      radius: $\beta \ge 0$.
      ridge: $\lambda > 0$.
      clip: `"paper"` is $\min\{\cdot, H\}$; `"tight"` clips step h to $[0, H-h+1]$.

    Reference: LSVI-UCB (Jin et al., COLT 2020) with the window of SW-UCB (Cheung, Simchi-Levi & Zhu,
    AISTATS 2019).

    Deviations from the paper: those of `lsvi_ucb`.
    """
    return LeastSquares(spec, SlidingWindow(length), Ucb(radius), ridge, clip)
