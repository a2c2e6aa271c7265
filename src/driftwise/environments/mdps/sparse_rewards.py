"""Tables in which reward is far away: RiverSwim, DeepSea, the combination lock and four rooms."""

from __future__ import annotations

from typing import Literal

import numpy as np

from driftwise.base.schema import AtLeastTwo, Count, Seed, Share
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.environments.drift.curves import Drift, require_drift
from driftwise.environments.environment import register_environment, require_models
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.tabular import tabular_mdp


@register_environment
def river_swim(
    *,
    num_states: AtLeastTwo = 6,
    horizon: Count = 20,
    start: Literal["left", "middle"] = "left",
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A chain with a current to the left: drifting pays little, swimming to the other end pays 1.

    Action 0 goes left for certain and pays 0.005 at the left end. Action 1 swims right: it moves one state on
    with probability 0.35, stays with 0.6 and is carried back with 0.05; at the left end it moves on with 0.6,
    at the right end it stays with 0.6 and pays 1. The second anchor is the mirror image. Episodes start at
    the left end, as published; with `start="middle"` both anchors are worth the same.
    Reference: Strehl & Littman, "An Analysis of Model-Based Interval Estimation for Markov Decision
    Processes", 2008; probabilities, rewards (5/1000 and 1) and horizon of Osband, Russo & Van Roy, "(More)
    Efficient Reinforcement Learning via Posterior Sampling", NeurIPS 2013. The turn is ours.
    """
    drift = require_drift(drift, 2, "the river and the river turned")
    require_models((num_states, 2, 2 * num_states, horizon), drift, num_states=num_states, horizon=horizon)
    state, anchors = np.eye(num_states), river_anchors(num_states)[: drift.num_anchors]
    middle = (state[(num_states - 1) // 2] + state[num_states // 2]) / 2
    initial = middle if start == "middle" else None
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards, initial=initial)


def river_anchors(num_states: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return mean rewards `[S, A]` and probabilities `[S, A, S]` of the river, and of the river turned."""
    reward, kernel = np.zeros((num_states, 2)), np.zeros((num_states, 2, num_states))
    reward[0, 0], reward[-1, 1] = 0.005, 1
    for state in range(num_states):
        kernel[state, 0, max(state - 1, 0)] = 1
    for state in range(1, num_states - 1):
        kernel[state, 1, state - 1 : state + 2] = 0.05, 0.6, 0.35
    kernel[0, 1, :2] = kernel[-1, 1, -2:] = 0.4, 0.6
    return [(reward, kernel), (reward[::-1, ::-1], kernel[::-1, ::-1, ::-1])]


@register_environment
def deep_sea(
    *,
    size: AtLeastTwo = 10,
    move_cost: Share = 0.01,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """A dive through a square of water: only `size` moves to the right in a row find the treasure.

    Each step sinks one row and moves one column left or right, from the left column of the top row on. Which
    of the two actions is right is drawn from `seed` for every cell and anchor. A move to the right costs
    `move_cost/size`, and from the bottom right corner it finds 1; all rewards are raised by `move_cost/size`,
    to lie in [0, 1]. The row is the step, so a state is a column.
    Reference: Osband, Van Roy, Russo & Wen, "Deep Exploration via Randomized Value Functions", 2019, and
    Osband et al., "Behaviour Suite for Reinforcement Learning", 2020. New actions for every anchor are ours.
    """
    drift = require_drift(drift)
    require_models((size, 2, 2 * size, size), drift, steps=size, size=size)
    (row, column), anchors = np.indices((size, size)), []
    rng = np.random.default_rng(seed)
    for _ in range(drift.num_anchors):
        right = rng.integers(2, size=(size, size))
        reward, kernel = np.zeros((size, size, 2)), np.zeros((size, size, 2, size))  # [row, column, …]
        reward[row, column, 1 - right] = move_cost / size
        reward[-1, -1, right[-1, -1]] = 1
        kernel[row, column, right, np.minimum(column + 1, size - 1)] = 1
        kernel[row, column, 1 - right, np.maximum(column - 1, 0)] = 1
        anchors.append((reward, kernel))
    return tabular_mdp(anchors, horizon=size, drift=drift, rewards=rewards)


@register_environment
def combination_lock(
    *,
    horizon: AtLeastTwo = 5,
    drift: Drift | None = None,
    changing: Literal["ends", "start"] = "ends",
    intended: float = 0.98,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """Two locks of `horizon − 1` positions; one wrong action and the way to the end is lost.

    The first action chooses a lock. In a lock one action (drawn from `seed`) moves on, the other falls into a
    sink that pays `1/(8H)` a step; either happens as intended with probability `intended`, else the opposite
    happens. The right action at the last position pays: 1 in the good lock, 1/4 in the other. Two anchors
    differ in which lock is good, or with `changing="start"` in where the first action leads. States: 0 is the
    start, 1 … H−1 the first lock, H … 2H−2 the second, 2H−1 the sink.
    Reference: Mao, Zhang, Zhu, Simchi-Levi & Başar, "Near-Optimal Model-Free Reinforcement Learning in
    Non-Stationary Episodic MDPs", ICML 2021 (with horizon 5, 5000 episodes, an abrupt swap of the ends
    every 1000 episodes, or a gradual change of the start).
    """
    drift = require_drift(drift, 2, "a lock and its mirror image")
    require_models((2 * horizon, 2, 4 * horizon, horizon), drift, horizon=horizon)
    intended = require_number("intended", intended, above=0, at_most=1)
    right = np.random.default_rng(seed).integers(2, size=(2, horizon - 1))
    sink, anchors = 2 * horizon - 1, []
    for other in range(drift.num_anchors):
        reward, kernel = np.zeros((2 * horizon, 2)), np.zeros((2 * horizon, 2, 2 * horizon))
        reward[sink], kernel[sink, :, sink] = 1 / (8 * horizon), 1
        good, swapped = (other, 0) if changing == "ends" else (0, other)
        for lock in (0, 1):
            positions = 1 + lock * (horizon - 1) + np.arange(horizon - 1)
            for wrong, chance in enumerate((intended, 1 - intended)):
                kernel[0, wrong ^ lock ^ swapped, positions[0]] += chance
                kernel[positions[:-1], wrong ^ right[lock, :-1], positions[1:]] += chance
                kernel[positions, wrong ^ right[lock], sink] += 1 - chance
                kernel[positions[-1], wrong ^ right[lock, -1], sink] += chance
            reward[positions[-1], right[lock, -1]] = 1.0 if lock == good else 0.25
        anchors.append((reward, kernel))
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)


_CORNERS = ((-1, -1), (0, -1), (-1, 0))  # the goals: bottom right, top right, bottom left
_MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left, in (row, column)


@register_environment
def four_rooms(
    *,
    side: int = 7,
    horizon: Count = 20,
    slip: Share = 0.1,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A square of four rooms with a door in each wall between them; the goal moves from corner to corner.

    The walls are the middle row and column of `side × side` cells. Actions move up, right, down and left; a
    move into a wall stays. With probability `slip` the agent then slides on in a direction drawn uniformly. A
    step that ends on the goal pays 1. Episodes start in the top left corner; the goals of the anchors, three
    at most, are the corners at the bottom right, the top right and the bottom left. Features are one-hot over
    the cell a move aims at.
    Reference: the layout after Sutton, Precup & Singh, "Between MDPs and semi-MDPs", 1999; slips, sizes and
    moving goals are ours.
    """
    drift = require_drift(drift, len(_CORNERS), "one for each corner but the first")
    side = require_count("side", side, at_least=5)
    if side % 2 == 0:
        raise ArgumentError("side", "be odd, with a wall in the middle", side)
    num_cells = (side - 1) ** 2 + 4  # all but the walls, and the doors in these
    require_models((num_cells, len(_MOVES), num_cells, horizon), drift, side=side, horizon=horizon)
    wall = side // 2
    doors = [wall // 2, side - 1 - wall // 2]
    is_open = np.ones((side, side), dtype=bool)
    is_open[wall, :] = is_open[:, wall] = False
    is_open[wall, doors] = is_open[doors, wall] = True
    cells = np.where(is_open, np.cumsum(is_open).reshape(side, side) - 1, -1)  # numbers of cells; −1: a wall
    walled = np.pad(cells, 1, constant_values=-1)
    here = np.argwhere(walled >= 0)
    aim = np.stack([walled[tuple((here + move).T)] for move in _MOVES], axis=1)  # [S, A] the neighbour
    aim = np.where(aim >= 0, aim, np.arange(len(here))[:, None])  # or the cell itself, before a wall
    one_hot = np.eye(len(aim))
    arrival = (1 - slip) * one_hot + slip * one_hot[aim].mean(axis=1)  # [cell aimed at, next cell]
    theta = np.stack([arrival[:, cells[corner]] for corner in _CORNERS[: drift.num_anchors]])
    theta = np.repeat(theta[:, None], horizon, axis=1)
    mu, first = np.broadcast_to(arrival, (len(theta), horizon, *arrival.shape)), one_hot[cells[0, 0]]
    return LinearMdp(one_hot[aim], theta, mu, first, drift, rewards, successor_features=one_hot)
