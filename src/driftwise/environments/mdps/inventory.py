"""Inventory control under a demand that drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, NonNegative, Positive
from driftwise.environments.drift import Drift, anchor_numbers
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


@register
def inventory(
    *,
    capacity: Count = 6,
    horizon: Count = 10,
    demands: tuple[float, ...] = (1.0, 4.0),
    price: Positive = 1.0,
    unit_cost: NonNegative = 0.5,
    holding_cost: NonNegative = 0.1,
    setup_cost: NonNegative = 0.0,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """Order, then sell what is asked for: too little loses sales, too much costs room.

    With s items in stock and a ordered, which come at once, the shelf holds `y = min(s + a, capacity)`; what
    does not fit is neither delivered nor paid. The demand D is Poisson with the mean of the anchor, one of
    `demands`; unmet demand is lost and `(y − D)⁺` items remain, worth nothing after the last step. The profit

        price·min(y, D) − unit_cost·(y − s) − setup_cost·[y > s] − holding_cost·(y − D)⁺

    lies between `low = −setup_cost − (unit_cost + holding_cost)·capacity` and `high = price·capacity`; the
    mean reward is that of `(profit − low)/(high − low)`. Episodes start with an empty shelf. Features are
    one-hot, so `dim = (capacity + 1)²`. A drift with fewer anchors than `demands` takes the first ones.

    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 3.2, with lost
    sales. Without a setup cost it is best to order up to a level.
    """
    demands, drift = anchor_numbers("demands", demands, drift, above=0)
    require_models(
        (capacity + 1, capacity + 1, (capacity + 1) ** 2, horizon), drift, capacity=capacity, horizon=horizon
    )
    low, high = -setup_cost - (unit_cost + holding_cost) * capacity, price * capacity

    def anchor(demand: float) -> tuple[np.ndarray, np.ndarray]:
        probability = _capped_poisson(demand, capacity)
        profit = np.zeros((capacity + 1, capacity + 1))
        kernel = np.zeros((*profit.shape, capacity + 1))
        for stock, order in np.ndindex(*profit.shape):
            shelf = min(stock + order, capacity)
            remaining = np.maximum(shelf - np.arange(capacity + 1), 0)  # for each demand
            np.add.at(kernel[stock, order], remaining, probability)
            sales = price * (shelf - remaining) - holding_cost * remaining
            purchase = unit_cost * (shelf - stock) + setup_cost * (shelf > stock)
            profit[stock, order] = probability @ sales - purchase
        return (profit - low) / (high - low), kernel

    return tabular_mdp([anchor(demand) for demand in demands], horizon=horizon, drift=drift, rewards=rewards)


def _capped_poisson(mean: float, cap: int) -> np.ndarray:
    """Probabilities of 0 … cap − 1 and of at least `cap`, which empties any shelf just as `cap` does."""
    ratios = np.log(mean) - np.log(np.arange(1, cap))  # of neighbours; logarithms cannot overflow
    below = np.exp(np.cumsum([-mean, *ratios]))
    return np.append(below, max(1 - below.sum(), 0))
