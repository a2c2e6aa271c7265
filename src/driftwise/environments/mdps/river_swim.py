"""RiverSwim: the pay is upstream."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.arguments import Count, Several
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register

LEFT, RIGHT = 0, 1


@register
def river_swim(
    *,
    num_states: Several = 6,
    horizon: Count = 20,
    start: Literal["left", "middle"] = "left",
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A chain with a current to the left: drifting pays little, swimming to the other end pays 1.

    Action 0 goes left for certain and pays 0.005 at the left end. Action 1 swims right: it moves one state
    on with probability 0.35, stays with 0.6 and is carried back with 0.05; at the left end it moves on with
    0.6, at the right end it stays with 0.6 and pays 1, and else the swimmer stays or is carried back.

    Two anchors: in the second the river has turned and everything is its mirror image. Episodes start at the
    left end, as published, where the turned river pays; with `start="middle"` both anchors are worth the
    same. Features are one-hot, so `dim = 2·num_states`.

    Reference: Strehl & Littman, "An Analysis of Model-Based Interval Estimation for Markov Decision
    Processes", 2008; probabilities, rewards (5/1000 and 1) and horizon of Osband, Russo & Van Roy, "(More)
    Efficient Reinforcement Learning via Posterior Sampling", NeurIPS 2013. The turn is ours.
    """
    drift = checked_drift(drift, 2, "the river and the river turned")
    require_models((num_states, 2, 2 * num_states, horizon), drift, num_states=num_states, horizon=horizon)
    state = np.eye(num_states)
    middle = (state[(num_states - 1) // 2] + state[num_states // 2]) / 2
    initial = middle if start == "middle" else None
    anchors = rivers(num_states)[: drift.num_anchors]
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards, initial=initial)


def rivers(num_states: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean rewards `[S, A]` and probabilities `[S, A, S]` of the river, and of the river turned."""
    last = num_states - 1
    reward = np.zeros((num_states, 2))
    reward[0, LEFT], reward[last, RIGHT] = 0.005, 1
    kernel = np.zeros((num_states, 2, num_states))
    for state in range(num_states):
        kernel[state, LEFT, max(state - 1, 0)] = 1
    kernel[0, RIGHT, :2] = 0.4, 0.6
    for state in range(1, last):
        kernel[state, RIGHT, state - 1 : state + 2] = 0.05, 0.6, 0.35
    kernel[last, RIGHT, last - 1 :] = 0.4, 0.6
    return [(reward, kernel), (reward[::-1, ::-1], kernel[::-1, ::-1, ::-1])]
