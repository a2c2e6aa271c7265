"""Online Q-REPS (Neu & Olkhovskaya 2021), line by line, its dual left to a solver for any smooth function."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.optimize import minimize

from driftwise.base import Episode


def occupancy(kernel: np.ndarray, initial: np.ndarray, policy: np.ndarray) -> np.ndarray:
    """`u_h(s,a)` for transitions `[H, S, A, S]`."""
    visits, here = np.zeros(policy.shape), initial
    for h in range(len(policy)):
        visits[h] = here[:, None] * policy[h]
        here = np.einsum("sa,sax->x", visits[h], kernel[h])
    return visits


def covariance(features: np.ndarray, visits: np.ndarray) -> np.ndarray:
    """`Σ_h`, for features `[S, A, d]`."""
    total = np.zeros((len(visits), features.shape[-1], features.shape[-1]))
    for h, s, a in np.ndindex(*visits.shape):
        total[h] += visits[h, s, a] * np.outer(features[s, a], features[s, a])
    return total


def values_of(action_values: np.ndarray, softness: float) -> np.ndarray:
    """`V(s) = log(Σ_a exp(αQ(s,a)) / A) / α`."""
    most = action_values.max(axis=-1)
    return most + np.log(np.exp(softness * (action_values - most[:, None])).mean(axis=-1)) / softness


class Dual:
    """The convex function of `Z` whose minimum gives the policy, for sums `[H, d]` of the estimates."""

    def __init__(
        self,
        features: np.ndarray,
        kernel: np.ndarray,
        initial: np.ndarray,
        *,
        learning_rate: float,
        softness: float,
    ) -> None:
        self.features, self.kernel, self.initial = features, kernel, initial
        self.learning_rate, self.softness = learning_rate, softness
        self.uniform = np.full(kernel.shape[:3], 1 / kernel.shape[2])
        self.prior = occupancy(kernel, initial, self.uniform)

    def __call__(self, dual: np.ndarray, sums: np.ndarray) -> float:
        horizon = len(sums)
        dual = dual.reshape(sums.shape)
        value = np.zeros(len(self.initial))
        total = 0.0
        for h in reversed(range(horizon)):
            error = self.features @ sums[h] + self.kernel[h] @ value - self.features @ dual[h]
            most = error.max()
            weighted = (self.prior[h] * np.exp(self.learning_rate * (error - most))).sum()
            total += most + np.log(weighted) / self.learning_rate
            value = values_of(self.features @ dual[h], self.softness)
        return float(total + self.initial @ value)

    def policy(self, sums: np.ndarray) -> np.ndarray:
        """The policy at the minimum, by finite differences and a solver that knows nothing of it."""
        start = np.zeros(sums.size)
        found = minimize(self, start, (sums,), "BFGS", jac="3-point", options=dict(gtol=1e-8, maxiter=2000))
        policy = np.zeros_like(self.uniform)
        for h, weights in enumerate(found.x.reshape(sums.shape)):
            for s, phis in enumerate(self.features):
                q = self.softness * (phis @ weights)
                policy[h, s] = np.exp(q - q.max()) / np.exp(q - q.max()).sum()
        return policy


def policies(
    dual: Dual,
    played: Sequence[Episode],
    *,
    exploration: float,
    ridge: float,
    restarts: Callable[[int], bool] = lambda k: False,
) -> Iterator[np.ndarray]:
    """The policy of each episode before it is mixed with uniform play, along given trajectories."""
    horizon, dim = len(dual.uniform), dual.features.shape[-1]
    sums = np.zeros((horizon, dim))
    for k, episode in enumerate(played):
        if restarts(k):
            sums = np.zeros((horizon, dim))
        policy = dual.policy(sums)
        yield policy
        visits = (1 - exploration) * occupancy(dual.kernel, dual.initial, policy) + exploration * dual.prior
        sigma = covariance(dual.features, visits)
        for h in range(horizon):
            phi = dual.features[episode.states[h], episode.actions[h]]
            estimate = np.linalg.solve(sigma[h] + ridge * np.eye(dim), phi) * episode.rewards[h]
            sums[h] = sums[h] + estimate
