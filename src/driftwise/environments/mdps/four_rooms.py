"""Four rooms with a goal that moves."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Share
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register

CORNERS = ((-1, -1), (0, -1), (-1, 0))  # the goals: bottom right, top right, bottom left
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))  # up, right, down, left, in (row, column)


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
    num_cells = (side - 1) ** 2 + 4  # all but the walls, and the doors in these
    require_models((num_cells, len(MOVES), num_cells, horizon), drift, side=side, horizon=horizon)
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
