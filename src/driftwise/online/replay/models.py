"""Features of logged actions, and the regression of rewards that a doubly robust estimate uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.online.bandits.decision import ArmBlocks
from driftwise.online.encoding import Encoder


@dataclass(frozen=True)
class Encoding:
    """Features of the actions in a context `x`, of which an encoder makes `c(x)`.

    Every action has weights of its own, `φ(x, a) = e_a ⊗ c`; with `shared` they have a level of their own and
    the rest in common, `φ(x, a) = (c, e_a)/√2`. Norms are at most one.
    """

    encoder: Encoder
    num_actions: int
    shared: bool = False

    @property
    def dim(self) -> int:
        own = 1 if self.shared else self.encoder.dim
        return self.shared * self.encoder.dim + self.num_actions * own

    def contexts(self, features: Any) -> np.ndarray:
        """`c` of rows, in any form that an encoder takes: `[n, p]`."""
        return self.encoder.rows(features)

    def actions(self, context: np.ndarray) -> np.ndarray:
        """`φ` of all actions in one context: `[num_actions, dim]`."""
        return self.taken(np.tile(context, (self.num_actions, 1)), np.arange(self.num_actions))

    def taken(self, contexts: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """`φ` of one action in each of many contexts `[n, p]`: `[n, dim]`."""
        shared, own = (contexts, np.ones((len(actions), 1))) if self.shared else (None, contexts)
        return ArmBlocks(shared, own, actions.tolist(), self.num_actions).features


class RewardModel:
    """Ridge regression `q(φ) = φᵀw` on all events so far (Sherman–Morrison).

    Where every action has weights of its own, it is one regression for each.
    """

    def __init__(self, dim: int, ridge: float = 1.0) -> None:
        self._inverse = np.eye(dim) / ridge
        self._weights = np.zeros(dim)

    def predict(self, arms: np.ndarray) -> np.ndarray:
        """Predicted rewards of the arms `[num_arms, dim]`: `[num_arms]`."""
        return arms @ self._weights

    def learn(self, features: np.ndarray, reward: float) -> None:
        """Take in the reward of an arm with these features `[dim]`."""
        direction = self._inverse @ features
        gain = direction / (1 + features @ direction)
        self._weights += gain * (reward - features @ self._weights)
        self._inverse -= np.outer(gain, direction)
