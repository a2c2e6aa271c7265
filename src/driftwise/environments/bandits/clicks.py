"""Published bandits whose rewards are clicks: the logistic link, and a parameter of the plane that drifts."""

from __future__ import annotations

import math

import numpy as np

from driftwise.base.arguments import Count, Positive, Seed, Several
from driftwise.base.validation import require_count
from driftwise.environments.arms import FixedArms, FreshArms, require_arms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Rotation, abrupt_path
from driftwise.environments.registry import register


@register
def wang_logistic(
    *, num_rounds: Count = 6000, norm_bound: Positive = 1.0, num_arms: Several = 50, seed: Seed = 0
) -> LinearBandit:
    """Fifty fixed arms of the plane, clicks, and a parameter that turns once around a circle.

    Arms are N(0, I), drawn from `seed`, each scaled to length one; `‖θ‖ = norm_bound` in every round.
    Reference: Wang, Zhao & Zhou, "Revisiting Weighted Strategy for Non-stationary Parametric Bandits",
    AISTATS 2023 (6000 rounds, a `norm_bound` of 1 and of 5).
    """
    require_arms(num_arms, 2)
    arms = np.random.default_rng(seed).normal(size=(num_arms, 2))
    arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
    turn = Rotation(start=0.0, end=2 * math.pi, rounds=num_rounds, radius=norm_bound)
    return LinearBandit(FixedArms(arms), turn, "bernoulli", link="logistic")


@register
def russac_logistic(*, num_rounds: int = 8000, norm_bound: Positive = 6.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round, clicks, and a parameter that jumps once, half-way.

    From the angle 2π/3 to 4π/3, at length `norm_bound`. Reference: Russac, Faury, Cappé & Garivier,
    "Self-Concordant Analysis of Generalized Linear Bandits with Forgetting", AISTATS 2021 (8000 rounds, a
    `norm_bound` of 6 and of 7). Arms on the unit circle are ours.
    """
    num_rounds = require_count("num_rounds", num_rounds, at_least=2)
    angles = (2 * math.pi / 3, 4 * math.pi / 3)
    values = tuple((norm_bound * math.cos(each), norm_bound * math.sin(each)) for each in angles)
    path = abrupt_path(values, (num_rounds // 2,))
    return LinearBandit(FreshArms(50, 2, "sphere"), path, "bernoulli", link="logistic")
