"""MDPs that are hard to explore: RiverSwim, DeepSea and the combination lock."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.arguments import Count, Seed, Several, Share
from driftwise.base.validation import require_number
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
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


@register
def deep_sea(
    *,
    size: Several = 10,
    move_cost: Share = 0.01,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """A dive through a square of water: only `size` moves to the right in a row find the treasure.

    Each step sinks one row and moves one column left or right, from the left column of the top row on. Which
    of the two actions is right is drawn from `seed` for every cell, and drawn again for every anchor. A move
    to the right costs `move_cost/size`, and from the bottom right corner it finds 1: the best return is
    `1 − move_cost`, and uniform play finds the treasure with probability 2^−size.

    To keep rewards in [0, 1] all of them are raised by `move_cost/size`: a move to the left pays that much, a
    move to the right nothing, the treasure 1. Every return is thereby `move_cost` higher. The row is the
    step, so a state is a column; features are one-hot and `dim = 2·size`.

    Reference: Osband, Van Roy, Russo & Wen, "Deep Exploration via Randomized Value Functions", 2019, and
    Osband et al., "Behaviour Suite for Reinforcement Learning", 2020. New actions for every anchor are ours.
    """
    drift = checked_drift(drift)
    rng = np.random.default_rng(seed)
    anchors = [_sea(rng.integers(2, size=(size, size)), move_cost) for _ in range(drift.num_anchors)]
    return tabular_mdp(anchors, horizon=size, drift=drift, rewards=rewards)


def _sea(right: np.ndarray, move_cost: float) -> tuple[np.ndarray, np.ndarray]:
    """Tables of every step from the action that is right, `[row, column]`."""
    size = len(right)
    reward = np.zeros((size, size, 2))
    kernel = np.zeros((size, size, 2, size))
    for row, column in np.ndindex(size, size):
        to_right = right[row, column]
        reward[row, column, 1 - to_right] = move_cost / size
        kernel[row, column, to_right, min(column + 1, size - 1)] = 1
        kernel[row, column, 1 - to_right, max(column - 1, 0)] = 1
    reward[-1, -1, right[-1, -1]] = 1
    return reward, kernel


@register
def combination_lock(
    *,
    horizon: Several = 5,
    drift: Drift | None = None,
    changing: Literal["ends", "start"] = "ends",
    intended: float = 0.98,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """Two locks of `horizon − 1` positions; one wrong action and the way to the end is lost.

    The first action chooses a lock. In a lock one action (drawn from `seed`) moves on, the other falls
    into a sink that pays `1/(8H)` a step; either happens as intended with probability `intended`, else
    the opposite happens. The right action at the last position pays: 1 in the good lock, 1/4 in the other.

    Two anchors. With `changing="ends"` they differ in which lock is good; with `changing="start"` in
    where the first action leads: the lock it names with probability `intended`, or the other one.
    States: 0 is the start, 1 … H−1 the first lock, H … 2H−2 the second, 2H−1 the sink. Features are
    one-hot, so `dim = 4H`.

    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021 (with horizon 5, 5000 episodes, an abrupt swap of the ends
    every 1000 episodes, or a gradual change of the start).
    """
    drift = checked_drift(drift, 2, "a lock and its mirror image")
    intended = require_number("intended", intended, above=0, at_most=1)
    right = np.random.default_rng(seed).integers(2, size=(2, horizon - 1))
    anchors = [_locks(horizon, right, intended, other, changing) for other in range(drift.num_anchors)]
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)


def _locks(
    horizon: int, right: np.ndarray, intended: float, other: int, changing: str
) -> tuple[np.ndarray, np.ndarray]:
    num_states = 2 * horizon
    start, sink = 0, num_states - 1
    reward = np.zeros((num_states, 2))
    kernel = np.zeros((num_states, 2, num_states))
    reward[sink] = 1 / (8 * horizon)
    kernel[sink, :, sink] = 1
    good = other if changing == "ends" else 0
    swapped = other if changing == "start" else 0
    for lock in (0, 1):
        positions = 1 + lock * (horizon - 1) + np.arange(horizon - 1)
        kernel[start, lock ^ swapped, positions[0]] += intended
        kernel[start, 1 - lock ^ swapped, positions[0]] += 1 - intended
        for depth, state in enumerate(positions):
            last = depth == horizon - 2
            onwards = sink if last else positions[depth + 1]
            for action in (0, 1):
                moves = intended if action == right[lock, depth] else 1 - intended
                kernel[state, action, onwards] += moves
                kernel[state, action, sink] += 1 - moves
            if last:
                reward[state, right[lock, depth]] = 1.0 if lock == good else 0.25
    return reward, kernel
