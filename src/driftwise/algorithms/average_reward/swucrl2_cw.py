"""SWUCRL2-CW: a window, and confidence sets that are wider than the samples ask for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from driftwise.algorithms.average_reward.optimistic_gain import OptimisticGain
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec, Variation
from driftwise.base.validation import require_count, require_kind, require_numeric
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.radii import CountRadius


def tuning(spec: Spec, *, num_episodes: int, variations: Variation) -> dict[str, Any]:
    """The window and the widening for the variation `environment.variation(num_episodes)`.

    `W = 3 S^(2/3) A^(1/2) T^(1/2) / (B_r + B_p + 1)^(1/2)` and `η = √((B_p + 1) W / T)`.
    """
    budgets = require_kind("variations", variations, Variation)
    size = 3 * spec.num_states ** (2 / 3) * math.sqrt(spec.num_actions * num_episodes)
    best = size / math.sqrt(budgets.total + 1)
    widening = math.sqrt((budgets.transition_budget + 1) * best / num_episodes)
    return dict(length=min(math.ceil(best), num_episodes), widening=widening)


@register(
    tuning=tuning,
    tunes=("length", "widening"),
    forgetting="sliding window",
    exploration="optimism over widened L1 balls",
    bound="D (B_r + B_p + 1)^(1/4) S^(2/3) A^(1/2) T^(3/4)",
    paper="Cheung, Simchi-Levi & Zhu 2020",
)
def swucrl2_cw(
    spec: Spec,
    *,
    length: Numeric,
    widening: Numeric,
    num_episodes: int,
    delta: Numeric = 0.05,
    scale: Numeric = 1.0,
    max_iterations: int = MAX_ITERATIONS,
) -> OptimisticGain:
    r"""UCRL2 on the last W steps, with L1 balls widened by η so that no state seems out of reach.

    With N(s,a) samples in the window, rewards lie within $2\sqrt{2\log(SAT/\delta)/\max(1,N)}$ of their means
    and transitions within an L1 distance of $2\sqrt{2S\log(SAT/\delta)/\max(1,N)} + \eta$. An epoch ends as
    in UCRL2, and after every W steps. Each ball lets half of η go anywhere, so the optimistic diameter is at
    most $2/\eta$ whatever mixture of MDPs the window holds.

    Args:
      length: $W$, steps in the window.
      widening: $\eta \ge 0$; with 0 the balls are those of the samples alone.
      num_episodes: $T$, the number of steps.
      delta: $\delta \in (0, 1]$, the probability that the bound fails.
      scale: what both radii are multiplied with, but not the widening; 1 is theory's.
      max_iterations: of value iteration in an epoch, after which the policy it has is taken.

    Reference: Cheung, Simchi-Levi & Zhu, "Reinforcement Learning for Non-Stationary Markov Decision
    Processes: The Blessing of (More) Optimism", ICML 2020, Algorithm 1 and Theorem 1
    [likely: the constants of the radii].

    Deviations from the paper: those of `ucrl2`; epochs end when W, 2W, … steps were played, where the printed
    loop could not go on. A tuned window is never longer than the run.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    delta = np.asarray(require_numeric("delta", delta, above=0, at_most=1))
    logarithm = np.log(spec.num_states * spec.num_actions * num_episodes / delta)
    return OptimisticGain(
        spec,
        SlidingWindow(length),
        CountRadius(8 * logarithm, scale=scale),
        CountRadius(8 * spec.num_states * logarithm, scale=scale, widening=widening),
        period=length,
        max_iterations=max_iterations,
    )
