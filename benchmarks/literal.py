"""OPT-WLSVI as Algorithm 1 is printed: NumPy, stored history, every past successor re-evaluated.

It is the yardstick of `benchmarks.speed`. The only liberty is that sums are scaled by η^(t−1), without
which the printed weights η^(−τ) overflow; that changes no decision and no cost. Regret is not computed.

There are two of them, alike to the last decision. The *literal* one keeps its history in lists and
writes the bonus as the paper does, one `einsum`; the *careful* one knows NumPy: arrays allocated ahead, and
the bonus as a matrix product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.environments import LinearMdp


class ListHistory:
    """What happened at one step, appended to lists."""

    def __init__(self, num_episodes: int, dim: int) -> None:
        self._features: list[np.ndarray] = []
        self._rewards: list[float] = []
        self._successors: list[int] = []

    def append(self, features: np.ndarray, reward: float, successor: int) -> None:
        self._features.append(features)
        self._rewards.append(reward)
        self._successors.append(successor)

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array(self._features), np.array(self._rewards), np.array(self._successors)


class ArrayHistory:
    """The same in arrays that are large enough from the start."""

    def __init__(self, num_episodes: int, dim: int) -> None:
        self._size = 0
        self._features = np.empty((num_episodes, dim))
        self._rewards = np.empty(num_episodes)
        self._successors = np.empty(num_episodes, dtype=int)

    def append(self, features: np.ndarray, reward: float, successor: int) -> None:
        self._features[self._size] = features
        self._rewards[self._size] = reward
        self._successors[self._size] = successor
        self._size += 1

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        size = self._size
        return self._features[:size], self._rewards[:size], self._successors[:size]


class Visited(NamedTuple):
    """Where a run went: `[K, H]` each."""

    states: np.ndarray
    actions: np.ndarray


def einsum_form(features: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """`φᵀMφ` for features `[n, A, d]`, as one writes it."""
    return np.einsum("nai,ij,naj->na", features, matrix, features)


def product_form(features: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """`φᵀMφ` for features `[n, A, d]`, as BLAS likes it."""
    return np.sum((features @ matrix) * features, axis=-1)


def opt_wlsvi(
    environment: LinearMdp,
    *,
    num_episodes: int,
    rate: float,
    radius: float,
    ridge: float = 1.0,
    seed: int = 0,
    careful: bool = False,
) -> Visited:
    """One run."""
    spec = environment.spec
    rng = np.random.default_rng(seed)
    features = environment.features
    identity = np.eye(spec.dim)
    gram = np.stack([ridge * identity] * spec.horizon)
    gram_sq = gram.copy()
    history = [
        (ArrayHistory if careful else ListHistory)(num_episodes, spec.dim) for _ in range(spec.horizon)
    ]
    quadratic = product_form if careful else einsum_form
    visited = Visited(*np.zeros((2, num_episodes, spec.horizon), dtype=int))

    def index(features: np.ndarray, weights: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        return features @ weights + radius * np.sqrt(quadratic(features, matrix))

    for t in range(num_episodes):
        discounts = rate ** np.arange(t - 1, -1, -1)
        weights = np.zeros((spec.horizon, spec.dim))
        matrices = np.zeros((spec.horizon, spec.dim, spec.dim))
        for h in reversed(range(spec.horizon)):
            inverse = np.linalg.inv(gram[h])
            matrices[h] = inverse @ gram_sq[h] @ inverse
            if t == 0:
                continue
            past_features, targets, successors = history[h].arrays()
            if h + 1 < spec.horizon:
                q = index(features[successors], weights[h + 1], matrices[h + 1])
                targets = targets + np.minimum(q.max(axis=1), spec.horizon)
            weights[h] = inverse @ (past_features.T @ (discounts * targets))

        model = environment.model(t)
        state = int(rng.choice(spec.num_states, p=environment.initial))
        for h in range(spec.horizon):
            action = int(index(features[state][None], weights[h], matrices[h])[0].argmax())
            visited.states[t, h], visited.actions[t, h] = state, action
            phi = features[state, action]
            reward = float(phi @ model.theta[h])
            chances = phi @ model.mu[h]
            state = int(rng.choice(spec.num_states, p=chances / chances.sum()))
            history[h].append(phi, reward, state)
            gram[h] = rate * gram[h] + np.outer(phi, phi) + (1 - rate) * ridge * identity
            gram_sq[h] = rate**2 * gram_sq[h] + np.outer(phi, phi) + (1 - rate**2) * ridge * identity
    return visited
