"""ε-greedy LSVI: value iteration without optimism, as a baseline."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.parts.exploration import EpsilonGreedy
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.tuning import exploration_probability, opt_wlsvi_rate


def tuning(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    """OPT-WLSVI's rate and ε = min{1, (A/K)^(1/3)}."""
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes)
    return dict(
        rate=opt_wlsvi_rate(**sizes, variation=variation),
        epsilon=exploration_probability(num_actions=spec.num_actions, num_episodes=num_episodes),
    )


@register(
    tuning=tuning,
    tunes=("rate", "epsilon"),
    forgetting="exponential weights",
    exploration="ε-greedy",
    bound="none",
    paper="baseline",
)
def epsilon_greedy_lsvi(
    spec: Spec,
    *,
    epsilon: Numeric,
    rate: Numeric = 1.0,
    ridge: Numeric = 1.0,
    clip: Literal["paper", "tight"] = "paper",
) -> LeastSquares:
    r"""Least-squares value iteration that explores by chance.

    Weights are OPT-WLSVI's without a bonus, $Q_{t,h} = \phi^\top w_{t,h}$; each step takes a uniformly drawn
    action with probability $\varepsilon$ and a greedy one otherwise. `epsilon=0` is greedy LSVI.

    Args:
      epsilon: $\varepsilon \in [0, 1]$.
      rate: $\eta \in (0, 1]$; 1 never forgets.
      ridge: $\lambda > 0$.
      clip: `"paper"` is $\min\{\cdot, H\}$; `"tight"` clips step h to $[0, H-h+1]$.

    Deviations from the paper: none; the value iteration backs up the greedy value, not the ε-greedy one.
    """
    return LeastSquares(spec, ExponentialWeights(rate), EpsilonGreedy(epsilon), ridge, clip)
