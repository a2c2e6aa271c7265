"""Any drifting linear bandit."""

from __future__ import annotations

from typing import Literal

from driftwise.arms import Arms
from driftwise.environments.linear_bandit import LinearBandit
from driftwise.environments.registry import register
from driftwise.paths import ParameterPath


@register
def linear_bandit(
    *,
    arms: Arms,
    path: ParameterPath,
    rewards: Literal["gaussian", "bernoulli"] = "gaussian",
    noise_scale: float = 1.0,
) -> LinearBandit:
    """Arms from `driftwise.arms`, a parameter's path from `driftwise.paths`, and noise or coins."""
    return LinearBandit(arms, path, rewards, noise_scale)
