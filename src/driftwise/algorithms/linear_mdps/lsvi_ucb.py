"""LSVI-UCB: optimistic value iteration that never forgets."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.tuning import lsvi_ucb_radius


def tuning(spec: Spec, *, num_episodes: int, delta: float = 0.05, beta_scale: float = 1.0) -> dict[str, Any]:
    """The radius of Theorem 3.1. It assumes a stationary world: the variation is not used."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    return dict(radius=lsvi_ucb_radius(**sizes, delta=delta, beta_scale=beta_scale))


@register(
    tuning=tuning,
    tunes=("radius",),
    forgetting="none",
    exploration="UCB",
    paper="Jin, Yang, Wang & Jordan 2020",
)
def lsvi_ucb(
    spec: Spec, *, radius: Numeric, ridge: Numeric = 1.0, clip: Literal["paper", "tight"] = "paper"
) -> LeastSquares:
    r"""Least-squares value iteration with upper confidence bounds.

    $$w_{t,h} = \Lambda^{-1} \sum_{\tau<t} \phi_\tau \bigl(r_\tau + V_{t,h+1}(s'_\tau)\bigr), \qquad
      Q_{t,h} = \min\{\phi^\top w_{t,h} + \beta\sqrt{\phi^\top\Lambda^{-1}\phi}, H\}.$$

    Args:
      radius: $\beta \ge 0$.
      ridge: $\lambda > 0$.
      clip: `"paper"` as above; `"tight"` clips step h to $[0, H-h+1]$.

    Reference: Jin, Yang, Wang & Jordan, "Provably Efficient Reinforcement Learning with Linear Function
    Approximation", COLT 2020, Algorithm 1.

    Deviations from the paper: where several actions reach the clip at H, the one with the largest
    unclipped index acts; other ties are broken at random (the paper leaves ties open).
    """
    return LeastSquares(spec, NoForgetting(), Ucb(radius), ridge, clip)
