"""Features of logged actions, and the regression of rewards that a doubly robust estimate uses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Encoding:
    """Features of the actions in a context `x`.

    The context becomes `c = (1, z)/√(p+1)` with `z` in `[−1, 1]`, linear over each feature's range. Every
    action has weights of its own, `φ(x, a) = e_a ⊗ c`; with `shared` they have a level of their own and the
    rest in common, `φ(x, a) = (e_a, c)/√2`. Norms are at most one.
    """

    low: np.ndarray  # [p]
    high: np.ndarray
    num_actions: int
    shared: bool = False

    @property
    def context_dim(self) -> int:
        return len(self.low) + 1

    @property
    def dim(self) -> int:
        return self.num_actions + self.context_dim if self.shared else self.num_actions * self.context_dim

    def contexts(self, features: np.ndarray) -> np.ndarray:
        """`c` of the rows: `[n, p]` to `[n, p + 1]`."""
        half = (self.high - self.low) / 2
        centred = (features - self.low - half) / np.where(half > 0, half, 1.0)
        return np.insert(centred, 0, 1.0, axis=1) / np.sqrt(self.context_dim)

    def actions(self, context: np.ndarray) -> np.ndarray:
        """`φ` of all actions in one context: `[num_actions, dim]`."""
        return self.taken(np.tile(context, (self.num_actions, 1)), np.arange(self.num_actions))

    def taken(self, contexts: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """`φ` of one action in each of many contexts `[n, p + 1]`: `[n, dim]`."""
        each = np.eye(self.num_actions)[actions]
        if self.shared:
            return np.hstack([each, contexts]) / np.sqrt(2)
        return (each[:, :, None] * contexts[:, None, :]).reshape(len(actions), -1)


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
