"""SW-UCRL: UCRL2 that looks back over a window only."""

from __future__ import annotations

import math
from typing import Any

from driftwise.algorithms.average_reward.optimistic_gain import OptimisticGain
from driftwise.algorithms.average_reward.ucrl2 import with_ucrl2_radii
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_number
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS
from driftwise.parts.forgetting import SlidingWindow


def tuning(
    spec: Spec, *, num_episodes: int, changes: tuple[int, ...], diameter: float, delta: float = 0.05
) -> dict[str, Any]:
    """The window for ℓ changes, `W = (16.53 T D S √(A log(T/δ)) / ℓ)^(2/3)` [likely].

    They are `environment.changes(num_episodes)`, and D is `environment.diameter(num_episodes)`.
    """
    if not isinstance(changes, (tuple, list)):
        raise ArgumentError("changes", "be a list of steps", changes)
    diameter = require_number("diameter", diameter, above=0)
    delta = require_number("delta", delta, above=0, at_most=1)
    spread = diameter * spec.num_states * math.sqrt(spec.num_actions * math.log(num_episodes / delta))
    best = (16.53 * num_episodes * spread / max(1, len(changes))) ** (2 / 3)
    return dict(length=min(math.ceil(best), num_episodes))


@register(
    tuning=tuning,
    tunes=("length",),
    forgetting="sliding window",
    exploration="optimism over L1 balls",
    bound="ℓ^(1/3) T^(2/3) D^(2/3) S^(2/3) A^(1/3), ℓ changes",
    paper="Gajane, Ortner & Auer 2018",
)
def sw_ucrl(
    spec: Spec,
    *,
    length: Numeric,
    delta: Numeric = 0.05,
    scale: Numeric = 1.0,
    max_iterations: int = MAX_ITERATIONS,
) -> OptimisticGain:
    r"""UCRL2 whose samples are those of the last W steps before the epoch.

    Args:
      length: $W$, steps in the window.
      delta: $\delta \in (0, 1]$, the probability that the bound fails.
      scale: what both radii are multiplied with; 1 is theory's, far smaller ones do better in practice.
      max_iterations: of value iteration in an epoch, after which the policy it has is taken.

    Reference: Gajane, Ortner & Auer, "A Sliding-Window Algorithm for Markov Decision Processes with
    Arbitrarily Changing Rewards and Transitions", 2018, Algorithm 1 [likely: the radii, which are those of
    UCRL2].

    Deviations from the paper: those of `ucrl2`. A tuned window is never longer than the run.
    """
    window = SlidingWindow(length)
    return with_ucrl2_radii(spec, window, delta=delta, scale=scale, max_iterations=max_iterations)
