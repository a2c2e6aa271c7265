"""Adaptive Q-learning: a partition of states and actions that becomes finer where it matters."""

from __future__ import annotations

import math
from typing import Any

from driftwise.algorithms.metric.adaptive_partition import AdaptiveQLearning
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_number
from driftwise.theory.metric_tuning import partition_period


def tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float = 0.0,
    lipschitz: float = 1.0,
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""The radius of the theorem, $2\sqrt{H^3\log(4HK/\delta)} + 4L$, and a period of ours.

    The `variation` is that of the pair that moves most, `environment.variation(K, norm="pairs").total`.
    Where nothing varies the period is the whole run.
    """
    period = partition_period(num_episodes=num_episodes, variation=variation)
    delta = require_number("delta", delta, above=0, at_most=1)
    lipschitz = require_number("lipschitz", lipschitz, at_least=0)
    scale = require_number("beta_scale", beta_scale, at_least=0)
    noise = 2 * math.sqrt(spec.horizon**3 * math.log(4 * spec.horizon * num_episodes / delta))
    return dict(radius=scale * (noise + 4 * lipschitz), period=period)


@register(
    tuning=tuning,
    tunes=("radius", "period"),
    problem="metric MDP",
    forgetting="none, or restarts",
    exploration="UCB on squares that are cut in four",
    bound="H^(5/2) K^((d+1)/(d+2)) without drift, in dimension d",
    paper="Sinclair, Banerjee & Yu 2019",
)
def adaptive_q_learning(spec: Spec, *, radius: Numeric, period: Numeric | None = None) -> AdaptiveQLearning:
    r"""Optimistic Q-learning on an adaptive partition of the square of states and actions.

    Every step has its own partition, at first the whole square $B_0$ with $Q_h(B_0) = H$. In state $x$ the
    agent takes an action at random in the square $B$ of largest $Q_h(B)$ among those that meet $x$. At the
    $t$-th visit
    $$Q_h(B) \leftarrow (1-\alpha_t) Q_h(B) + \alpha_t \Bigl(r + V_{h+1}(x') + \frac{b}{\sqrt t}\Bigr), \qquad
      \alpha_t = \frac{H+1}{H+t}, \qquad V_h(x) = \min\{H, \max_{B \ni x} Q_h(B)\},$$

    and once $t \ge (1/\mathrm{diam}(B))^2$, with $\mathrm{diam}(B_0) = 1$, $B$ is cut in four that inherit
    $Q_h(B)$ and $t$. The agent has to be told `positions`; an environment without them is refused.

    Args:
      spec: sizes of the problem, `environment.spec`.
      radius: $b \ge 0$; in theory $2\sqrt{H^3\log(4HK/\delta)} + 4L$.
      period: episodes after which everything starts anew; never, unless given.

    Reference: Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement Learning in Metric
    Spaces", 2019, Algorithm 1.

    Deviations from the paper: among equally good squares the action is drawn evenly from all their actions.
    Restarts are an addition.
    """
    return AdaptiveQLearning(spec, radius, 0 if period is None else period)
