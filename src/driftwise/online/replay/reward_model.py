"""What a doubly-robust estimate leans on: a regression of rewards for each action."""

from __future__ import annotations

import numpy as np


class RewardModel:
    """Ridge regression `q(x, a) = cᵀ w_a` on all events so far, one action at a time (Sherman–Morrison)."""

    def __init__(self, num_actions: int, dim: int, ridge: float = 1.0) -> None:
        self._inverse = np.tile(np.eye(dim) / ridge, (num_actions, 1, 1))
        self._weights = np.zeros((num_actions, dim))

    def predict(self, context: np.ndarray) -> np.ndarray:
        """Of all actions in the context `[dim]`: `[num_actions]`."""
        return self._weights @ context

    def learn(self, context: np.ndarray, action: int, reward: float) -> None:
        direction = self._inverse[action] @ context
        gain = direction / (1 + context @ direction)
        self._weights[action] += gain * (reward - self._weights[action] @ context)
        self._inverse[action] -= np.outer(gain, direction)
