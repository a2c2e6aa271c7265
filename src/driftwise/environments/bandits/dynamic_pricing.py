"""Prices under a demand that drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Positive, Several
from driftwise.base.validation import ArgumentError, require_array
from driftwise.environments.arms import FixedArms, require_arms
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import Mixture
from driftwise.environments.registry import register


@register
def dynamic_pricing(
    *,
    num_prices: Several = 20,
    highest: Positive = 1.0,
    demands: tuple[tuple[float, float], ...] = ((1.0, 0.5), (1.0, 0.95)),
    drift: Drift | None = None,
    noise_scale: float = 0.1,
) -> LinearBandit:
    """A price from a grid, a demand that is linear in it: the reward is the revenue.

    At the price p the demand is `a − bp`, so the revenue `ap − bp²` is linear in the features `(p, −p²)`;
    both are divided by the longest of them, and the parameter multiplied, so that features stay in the unit
    ball. The parameter may be longer than 1, which recipes assume unless told: see `norm_bound` of the
    environment. Each of `demands` is a pair `(a, b)`, an anchor of the drift; a drift with fewer anchors
    takes the first ones, and without a `drift` the first demand stays.
    """
    anchors = require_array("demands", demands, (None, 2))
    drift = checked_drift(drift, len(anchors), "one for each of demands")
    require_arms(num_prices, 2)
    prices = np.linspace(0, highest, num_prices + 1)[1:]
    lowest = (anchors[:, :1] - anchors[:, 1:] * prices).min()
    if lowest < 0:
        raise ArgumentError("demands", "stay at least 0 up to the highest price", lowest, f"{lowest:.6g}")
    features = np.stack([prices, -np.square(prices)], axis=1)
    unit = np.linalg.norm(features, axis=1).max()
    path = Mixture(anchors[: drift.num_anchors] * unit, drift)
    return LinearBandit(FixedArms(features / unit), path, "gaussian", noise_scale)
