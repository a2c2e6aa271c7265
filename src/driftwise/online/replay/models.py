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
    """Ridge regression `q(x, a) = cᵀ w_a` on all events so far, one action at a time (Sherman–Morrison)."""

    def __init__(self, num_actions: int, dim: int, ridge: float = 1.0) -> None:
        self._inverse = np.tile(np.eye(dim) / ridge, (num_actions, 1, 1))
        self._weights = np.zeros((num_actions, dim))

    def predict(self, context: np.ndarray) -> np.ndarray:
        """Predicted rewards of all actions in the context `[dim]`: `[num_actions]`."""
        return self._weights @ context

    def learn(self, context: np.ndarray, action: int, reward: float) -> None:
        """Take in the reward of an action."""
        direction = self._inverse[action] @ context
        gain = direction / (1 + context @ direction)
        self._weights[action] += gain * (reward - self._weights[action] @ context)
        self._inverse[action] -= np.outer(gain, direction)
