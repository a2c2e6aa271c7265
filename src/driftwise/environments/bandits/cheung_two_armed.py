"""The two arms of Cheung, Simchi-Levi & Zhu."""

from __future__ import annotations

import math

from driftwise.base.arguments import Count, Positive
from driftwise.environments.arms import orthogonal_arms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Sinusoid
from driftwise.environments.registry import register


@register
def cheung_two_armed(
    *, num_rounds: Count = 10_000, budget: Positive = 1.0, noise_scale: float = 0.1
) -> LinearBandit:
    """Two arms without anything in common, whose means swing against each other.

    `θ(t) = 0.5 ± 0.3 sin(5Bπt/T)` at the rounds `t = 1, 2, …, T`. The paper calls B its `budget`; the path is
    `3√2 B` long. Reference: Cheung, Simchi-Levi & Zhu, "Learning to Optimize under Non-Stationarity", AISTATS
    2019.
    """
    period = 2 * num_rounds / (5 * budget)
    first = 2 * math.pi / period  # paths count rounds from 0
    swing = Sinusoid(centre=(0.5, 0.5), amplitude=(0.3, -0.3), phase=(first, first), period=period)
    return LinearBandit(orthogonal_arms(2), swing, "gaussian", noise_scale)
