"""The two bandits of Russac, Vernade & Cappé."""

from __future__ import annotations

import math

from driftwise.base.arguments import Several
from driftwise.base.validation import require_count
from driftwise.environments.arms import FreshArms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Rotation, abrupt_path
from driftwise.environments.registry import register

ARMS = FreshArms(num_arms=50, dim=2, shape="cube")


@register
def russac_abrupt(*, num_rounds: int = 6000, noise_scale: float = 1.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round; the parameter jumps at 1/6, 1/3 and 1/2 of the rounds.

    `θ = (1, 0)`, `(−1, 0)`, `(0, 1)`, `(0, −1)`: a variation of `4 + √2`. Reference: Russac, Vernade & Cappé,
    "Weighted Linear Bandits for Non-Stationary Environments", NeurIPS 2019 (6000 rounds, noise 1).
    """
    num_rounds = require_count("num_rounds", num_rounds, at_least=6)
    at = tuple(num_rounds * share // 6 for share in (1, 2, 3))
    return LinearBandit(ARMS, abrupt_path(((1, 0), (-1, 0), (0, 1), (0, -1)), at), "gaussian", noise_scale)


@register
def russac_smooth(*, num_rounds: Several = 6000, noise_scale: float = 1.0) -> LinearBandit:
    """Fifty fresh arms of the plane a round; the parameter turns by 90° in the first half, then rests.

    In steps of `90°/(T/2)`, from 0° in the first round on: it rests from the first round of the second half,
    as in the authors' code. Reference: as `russac_abrupt`.
    """
    turn = Rotation(start=0.0, end=math.pi / 2, rounds=num_rounds // 2)
    return LinearBandit(ARMS, turn, "gaussian", noise_scale)
