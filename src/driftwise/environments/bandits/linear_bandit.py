"""Any drifting linear bandit."""

from __future__ import annotations

from typing import Literal

from driftwise.environments.arms import Arms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import ParameterPath
from driftwise.environments.registry import register


@register
def linear_bandit(
    *,
    arms: Arms,
    path: ParameterPath,
    rewards: Literal["gaussian", "bernoulli"] = "gaussian",
    noise_scale: float = 1.0,
) -> LinearBandit:
    """Arms of `dw.arms`, a parameter's path of `dw.paths`, and noise or coins."""
    return LinearBandit(arms, path, rewards, noise_scale)
