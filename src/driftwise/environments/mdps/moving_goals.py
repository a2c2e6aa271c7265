"""MDPs with a goal that moves: four rooms, and a line with oil."""

from __future__ import annotations

import dataclasses

import numpy as np

from driftwise.base.arguments import Count, NonNegative, Share
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments.drift import Drift, anchor_numbers, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left, in (row, column)
CORNERS = ((-1, -1), (0, -1), (-1, 0))  # the goals: bottom right, top right, bottom left


@register
def four_rooms(
    *,
    side: int = 7,
    horizon: Count = 20,
    slip: Share = 0.1,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A square of four rooms with a door in each wall between them; the goal moves from corner to corner.

    The walls are the middle row and column of `side × side` cells. Actions move up, right, down and left;
    a move into a wall stays. With probability `slip` the agent then slides on in a direction drawn uniformly.
    A step that ends on the goal pays 1, so that without slips a goal at distance D is worth `H + 1 − D`.
    Episodes start in the top left corner; the goals of the anchors, three at most, are the corners at the
    bottom right, the top right and the bottom left.

    What happens depends on the cell a move aims at, and features are one-hot over these: `dim` is the number
    of cells, a quarter of a table's. The default has 40 cells, a side of 11 the usual 104.

    Reference: the layout after Sutton, Precup & Singh, "Between MDPs and semi-MDPs", 1999; slips, sizes and
    moving goals are ours.
    """
    drift = checked_drift(drift, len(CORNERS), "one for each corner but the first")
    side = require_count("side", side, at_least=5)
    if side % 2 == 0:
        raise ArgumentError("side", "be odd, with a wall in the middle", side)
    cells = _numbered_cells(side)
    aim = _aims(cells)
    one_hot = np.eye(len(aim))
    arrival = (1 - slip) * one_hot + slip * one_hot[aim].mean(axis=1)  # [cell aimed at, next cell]
    theta = np.stack([arrival[:, cells[corner]] for corner in CORNERS[: drift.num_anchors]])
    return LinearMdp(
        features=one_hot[aim],
        theta=np.repeat(theta[:, None], horizon, axis=1),
        mu=np.broadcast_to(arrival, (drift.num_anchors, horizon, *arrival.shape)),
        initial=one_hot[cells[0, 0]],
        drift=drift,
        rewards=rewards,
        successor_features=one_hot,  # which span every measure
    )


def _numbered_cells(side: int) -> np.ndarray:
    """The number of each cell, row by row; −1 where there is a wall."""
    wall = side // 2
    doors = [wall // 2, side - 1 - wall // 2]
    is_open = np.ones((side, side), dtype=bool)
    is_open[wall, :] = is_open[:, wall] = False
    is_open[wall, doors] = is_open[doors, wall] = True
    return np.where(is_open, np.cumsum(is_open).reshape(side, side) - 1, -1)


def _aims(cells: np.ndarray) -> np.ndarray:
    """The cell at which each move aims, `[S, A]`: the neighbour, or where that is a wall the cell itself."""
    walled = np.pad(cells, 1, constant_values=-1)
    here = np.argwhere(walled >= 0)
    aims = np.stack([walled[tuple((here + move).T)] for move in MOVES], axis=1)
    return np.where(aims >= 0, aims, np.arange(len(here))[:, None])


@register
def oil_discovery(
    *,
    num_states: Count = 10,
    num_actions: Count = 10,
    horizon: Count = 5,
    centres: tuple[float, ...] = (0.8, 0.2),
    sharpness: NonNegative = 5.0,
    moving_cost: NonNegative = 0.2,
    noise: NonNegative = 0.0,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    r"""A line with oil around a place that moves: go there, and pay for the way.

    States and actions are places in [0, 1]: the middles of as many equal intervals. Action `a` in state `x`
    surveys `a`, where the next step starts, and earns
    `max(0, exp(−sharpness·|a − centre|) − moving_cost·|a − x|)`. With `noise`, the state reached is spread
    around `a` as a Gaussian of that standard deviation, cut to the line. Episodes start at the left end.

    Every anchor has its own centre: many of them, close together, make oil that wanders; a mixture of two
    distant ones is oil at both. A drift with fewer anchors than `centres` takes the first ones. Features are
    one-hot, so `dim = num_states·num_actions`; agents that need a metric have `positions`. The finer the
    grid, the closer to the continuous problem; values are exact on every grid.

    Reference: the oil problem of Sinclair, Banerjee & Yu, "Adaptive Discretization for Episodic Reinforcement
    Learning in Metric Spaces", 2019, with its Laplace survey function. The grid and the drift are ours.
    """
    centres, drift = anchor_numbers("centres", centres, drift, at_least=0, at_most=1)
    places, targets = middles(num_states), middles(num_actions)
    way = np.abs(targets - places[:, None])  # [S, A]
    kernel = np.broadcast_to(_arrivals(places, targets, noise), (num_states, num_actions, num_states))

    def anchor(centre: float) -> tuple[np.ndarray, np.ndarray]:
        return np.maximum(0, np.exp(-sharpness * np.abs(targets - centre)) - moving_cost * way), kernel

    anchors = [anchor(centre) for centre in centres]
    environment = tabular_mdp(anchors, horizon=horizon, drift=drift, rewards=rewards)
    positions = np.stack(np.meshgrid(places, targets, indexing="ij"), axis=-1)
    return dataclasses.replace(environment, positions=positions)


def middles(count: int) -> np.ndarray:
    """Midpoints of equal intervals of [0, 1]."""
    return (np.arange(count) + 0.5) / count


def _arrivals(places: np.ndarray, targets: np.ndarray, noise: float) -> np.ndarray:
    """Probabilities of the places reached from each target, `[A, S]`: without noise, of the nearest."""
    squared = (places - targets[:, None]) ** 2
    beyond = squared - squared.min(axis=1, keepdims=True)
    weights = np.exp(-beyond / (2 * noise**2)) if noise else (beyond < 1e-12).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)
