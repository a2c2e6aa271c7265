"""Adaptive Q-learning with a tree of squares for every step, and kernel means of the whole history."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, remember


class Square:
    """A node: `(low, high]²` of states and actions, closed at zero too; a leaf until it is cut."""

    def __init__(self, x: float, y: float, side: float, q: float, count: int) -> None:
        self.x, self.y, self.side = x, y, side
        self.q, self.count = q, count
        self.children: list[Square] = []

    def holds(self, place: np.ndarray) -> bool:
        return all(
            low < at <= low + self.side or at == low == 0
            for low, at in zip((self.x, self.y), place, strict=True)
        )

    def leaf(self, place: np.ndarray) -> "Square":
        """The active square around a place."""
        for child in self.children:
            if child.holds(place):
                return child.leaf(place)
        return self

    def cut(self) -> None:
        half = self.side / 2
        for x in (self.x, self.x + half):
            for y in (self.y, self.y + half):
                self.children.append(Square(x, y, half, self.q, self.count))


def adaptive_q_learning(
    played: Sequence[Episode], positions: np.ndarray, *, radius: float, period: int = 0
) -> Iterator[Planned]:
    """Q at every pair before each episode of given trajectories; positions `[S, A, 2]`."""
    horizon = len(played[0].states)
    num_actions = positions.shape[1]

    def value(trees: list[Square], h: int, x: int) -> float:
        if h == horizon:
            return 0.0
        relevant = [trees[h].leaf(positions[x, a]).q for a in range(num_actions)]
        return min(horizon, max(relevant))

    trees: list[Square] = []
    for k, episode in enumerate(played):
        if k == 0 or (period and k % period == 0):
            trees = [Square(0.0, 0.0, 1.0, float(horizon), 0) for _ in range(horizon)]
        yield Planned(np.array([[[tree.leaf(at).q for at in row] for row in positions] for tree in trees]))
        for h in range(horizon):  # in the order of time: V of the next step is not yet updated
            active = trees[h].leaf(positions[episode.states[h], episode.actions[h]])
            active.count += 1
            t = active.count
            share = (horizon + 1) / (horizon + t)
            goal = episode.rewards[h] + radius / math.sqrt(t) + value(trees, h + 1, episode.successors[h])
            active.q = (1 - share) * active.q + share * goal
            if t >= (1 / active.side) ** 2:
                active.cut()


def distance(first: np.ndarray, second: np.ndarray) -> float:
    return sum(abs(one - other) for one, other in zip(first, second, strict=True))


def kernel_ucbvi(
    played: Sequence[Episode],
    positions: np.ndarray,
    *,
    bandwidth: float,
    radius: float,
    lipschitz: float,
    ridge: float,
    bias_scale: float,
    weight: Weight = remember,
) -> Iterator[Planned]:
    """What is planned for each episode. Positions `[S, A, 2]`; the weight is χ."""
    num_states, num_actions, _ = positions.shape
    horizon = len(played[0].states)
    pairs = [(x, a) for x in range(num_states) for a in range(num_actions)]
    for k in range(len(played)):
        bonus = np.zeros((horizon, num_states, num_actions))
        q, values = np.zeros_like(bonus), np.zeros((horizon + 1, num_states))
        for h in reversed(range(horizon)):
            history = [(int(one.states[h]), int(one.actions[h])) for one in played[:k]]
            raised = {}
            for pair in pairs:
                count, total = ridge, 0.0
                for s, visited in enumerate(history):
                    near = distance(positions[pair], positions[visited]) / bandwidth
                    w = weight(k, s) * math.exp(-(near**2) / 2)
                    count += w
                    total += w * (played[s].rewards[h] + values[h + 1, played[s].successors[h]])
                bonus[h][pair] = (
                    radius / math.sqrt(count) + ridge * horizon / count + bias_scale * lipschitz * bandwidth
                )
                raised[pair] = total / count + bonus[h][pair]
            for pair in pairs:
                reached = [
                    raised[visited] + lipschitz * distance(positions[pair], positions[visited])
                    for visited in history
                ]
                q[h][pair] = min(reached, default=horizon - h)
            for x in range(num_states):
                values[h, x] = min(max(q[h, x]), horizon - h)
        yield Planned(q, values[:-1], bonus)
