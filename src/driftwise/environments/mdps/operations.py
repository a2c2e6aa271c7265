"""MDPs of operations research: a machine, a queue, a stock and an oil field."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from driftwise.base.schema import AtLeastTwo, Count, NonNegative, Positive, Share
from driftwise.base.validation import require_number
from driftwise.environments.drift.curves import Drift, require_anchor_numbers
from driftwise.environments.environment import register_environment, require_models
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.tabular import tabular_mdp


@register_environment
def machine_replacement(
    *,
    num_conditions: AtLeastTwo = 10,
    horizon: Count = 20,
    wear: tuple[float, ...] = (0.1, 0.9),
    replacement_cost: Share = 0.7,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A machine that wears out: keep it and earn less, or pay for a new one.

    In condition i of 0 (new) … n − 1 (worn out) a step earns `1 − i/(n − 1)`, and with the anchor's
    probability of `wear` the condition becomes one worse, if it can. Action 0 keeps the machine; action 1
    replaces it at once, which earns `1 − replacement_cost` in this step. Episodes start with a new machine.
    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 4.7, where it
    is best to replace from some condition on.
    """
    wear, drift = require_anchor_numbers("wear", wear, drift, at_least=0, at_most=1)
    sizes = (num_conditions, 2, 2 * num_conditions, horizon)
    require_models(sizes, drift, num_conditions=num_conditions, horizon=horizon)
    condition = np.eye(num_conditions)
    worse = condition[np.minimum(np.arange(num_conditions) + 1, num_conditions - 1)]
    income = np.linspace(1, 0, num_conditions)
    reward = np.stack([income, np.full(num_conditions, income[0] - replacement_cost)], axis=1)
    kept = [(1 - worsens) * condition + worsens * worse for worsens in wear]
    anchors = [(reward, np.stack([own, np.broadcast_to(own[0], own.shape)], axis=1)) for own in kept]
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)


@register_environment
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

    In a step a customer comes with the anchor's probability, one of `loads`, and the one being served leaves
    with probability `slow` or `fast`. Action `2·admit + fast` decides beforehand whether the newcomer may
    join, which earns 1 and needs room, and how fast to serve. With q in the queue a step costs
    `waiting_cost·q/capacity`, and fast service `fast_cost` more. The mean reward is that of
    `(earned − costs − low)/(1 − low)`, where `low = −waiting_cost − fast_cost`. The queue is empty at first.
    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 3.7, where
    it is best to admit below some length of the queue.
    """
    loads, drift = require_anchor_numbers("loads", loads, drift, at_least=0, at_most=1)
    require_models((capacity + 1, 4, 4 * (capacity + 1), horizon), drift, capacity=capacity, horizon=horizon)
    fast = require_number("fast", fast, at_least=slow, at_most=1)
    low = -waiting_cost - fast_cost

    def anchor(load: float) -> tuple[np.ndarray, np.ndarray]:
        profit, kernel = np.zeros((capacity + 1, 4)), np.zeros((capacity + 1, 4, capacity + 1))
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


@register_environment
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
    mean reward is that of `(profit − low)/(high − low)`. The shelf is empty at first.
    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 3.2, with lost
    sales. Without a setup cost it is best to order up to a level.
    """
    demands, drift = require_anchor_numbers("demands", demands, drift, above=0)
    sizes = (capacity + 1, capacity + 1, (capacity + 1) ** 2, horizon)
    require_models(sizes, drift, capacity=capacity, horizon=horizon)
    low, high = -setup_cost - (unit_cost + holding_cost) * capacity, price * capacity

    def anchor(demand: float) -> tuple[np.ndarray, np.ndarray]:
        ratios = np.log(demand) - np.log(np.arange(1, capacity))  # of neighbours; they cannot overflow
        below = np.exp(np.cumsum([-demand, *ratios]))  # P(D = 0), …, P(D = capacity − 1)
        probability = np.append(below, max(1 - below.sum(), 0))  # larger demands empty any shelf, too
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


_PUBLISHED = (0.7 + math.pi / 60, 1 - (0.7 + math.pi / 60))
_SETTINGS = {  # where oil lies, how fast it thins out around there, and what moving costs
    "ours": ((0.8, 0.2), 5.0, 0.2),
    "published_1": (_PUBLISHED, 1.0, 1.0),
    "published_10": (_PUBLISHED, 10.0, 1.0),
    "published_50": (_PUBLISHED, 50.0, 1.0),
}


@register_environment
def oil_discovery(
    *,
    num_states: Count = 10,
    num_actions: Count = 10,
    horizon: Count = 5,
    setting: Literal["ours", "published_1", "published_10", "published_50"] = "ours",
    centres: tuple[float, ...] | None = None,
    sharpness: float | None = None,
    moving_cost: float | None = None,
    noise: NonNegative = 0.0,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A line with oil around a place that moves: go there, and pay for the way.

    States and actions are places in [0, 1], the middles of as many equal intervals. Action `a` in state `x`
    surveys `a`, where the next step starts, and earns `max(0, exp(−sharpness·|a − centre|) − moving_cost·|a −
    x|)`. With `noise`, the state reached is spread around `a` as a Gaussian of that standard deviation, cut
    to the line. Episodes start at the left end. Each of `centres` is an anchor's; agents that need a metric
    have `positions`.

    The `setting` has what is not given: `"ours"` is centres 0.8 and 0.2, sharpness 5, moving cost 0.2. The
    published ones have a sharpness of 1, 10 or 50, a moving cost of 1 and the centre `0.7 + π/60`; a second
    anchor's, the mirror image, is ours.
    Reference: the oil problem of Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement
    Learning in Metric Spaces", 2019, with its Laplace survey function. The grid and the drift are ours.
    """
    given = zip((centres, sharpness, moving_cost), _SETTINGS[setting], strict=True)
    where, thinning, cost = (usual if own is None else own for own, usual in given)
    thinning = require_number("sharpness", thinning, at_least=0)
    cost = require_number("moving_cost", cost, at_least=0)
    centres, drift = require_anchor_numbers("centres", where, drift, at_least=0, at_most=1)
    sizes = dict(num_states=num_states, num_actions=num_actions, horizon=horizon)
    require_models((num_states, num_actions, num_states * num_actions, horizon), drift, **sizes)
    places, targets = ((np.arange(count) + 0.5) / count for count in (num_states, num_actions))
    way = np.abs(targets - places[:, None])  # [S, A]
    squared = (places - targets[:, None]) ** 2
    beyond = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / (2 * noise**2)) if noise else (beyond < 1e-12).astype(float)
    arrivals = weights / weights.sum(axis=1, keepdims=True)  # [A, S]: without noise, at the nearest place
    kernel = np.broadcast_to(arrivals, (num_states, num_actions, num_states))
    oils = [np.exp(-thinning * np.abs(targets - centre)) for centre in centres]
    anchors = [(np.maximum(0, oil - cost * way), kernel) for oil in oils]
    positions = np.stack(np.meshgrid(places, targets, indexing="ij"), axis=-1)
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards, positions=positions)
