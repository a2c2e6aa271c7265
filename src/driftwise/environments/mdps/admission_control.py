"""Admission to a queue under a load that drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, NonNegative, Share
from driftwise.base.validation import require_number
from driftwise.environments.drift import Drift, anchor_numbers
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register


@register
def admission_control(
    *,
    capacity: Count = 9,
    horizon: Count = 20,
    loads: tuple[float, ...] = (0.2, 0.9),
    slow: Share = 0.2,
    fast: float = 0.6,
    waiting_cost: NonNegative = 0.5,
    fast_cost: NonNegative = 0.3,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A queue with a doorkeeper: admit or turn away, serve slowly or, for a price, fast.

    In a step a customer comes with the anchor's probability, one of `loads`, and the one being served, if
    the queue was not empty, leaves with probability `slow` or `fast`. Action `2·admit + fast` decides
    beforehand whether the newcomer may join, which earns 1 and needs room, and how fast to serve. With q in
    the queue a step costs `waiting_cost·q/capacity`, and fast service `fast_cost` more. The mean reward is
    that of `(earned − costs − low)/(1 − low)`, where `low = −waiting_cost − fast_cost`.

    Episodes start with an empty queue. Features are one-hot, so `dim = 4·(capacity + 1)`. A drift with fewer
    anchors than `loads` takes the first ones.

    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 3.7, where
    it is best to admit below some length of the queue.
    """
    loads, drift = anchor_numbers("loads", loads, drift, at_least=0, at_most=1)
    require_models((capacity + 1, 4, 4 * (capacity + 1), horizon), drift, capacity=capacity, horizon=horizon)
    fast = require_number("fast", fast, at_least=slow, at_most=1)
    low = -waiting_cost - fast_cost

    def anchor(load: float) -> tuple[np.ndarray, np.ndarray]:
        profit = np.zeros((capacity + 1, 4))
        kernel = np.zeros((capacity + 1, 4, capacity + 1))
        for queue, action in np.ndindex(*profit.shape):
            admits, is_fast = divmod(action, 2)
            joins = load if admits and queue < capacity else 0.0
            leaves = (fast if is_fast else slow) if queue else 0.0
            longer, shorter = joins * (1 - leaves), leaves * (1 - joins)
            kernel[queue, action, min(queue + 1, capacity)] += longer
            kernel[queue, action, max(queue - 1, 0)] += shorter
            kernel[queue, action, queue] += 1 - longer - shorter
            profit[queue, action] = joins - waiting_cost * queue / capacity - fast_cost * is_fast
        return (profit - low) / (1 - low), kernel

    return tabular_mdp([anchor(load) for load in loads], horizon=horizon, drift=drift, rewards=rewards)
