"""OPT-WLSVI as Algorithm 1 is printed: NumPy, stored history, every past successor re-evaluated.

It is the yardstick of `benchmarks.speed`. The only liberty is that sums are scaled by η^(t−1), without
which the printed weights η^(−τ) overflow; that changes no decision and no cost. Regret is not computed.
"""

from __future__ import annotations

import numpy as np

from driftwise.environments import LinearMdp


def literal_opt_wlsvi(
    environment: LinearMdp,
    *,
    num_episodes: int,
    rate: float,
    radius: float,
    ridge: float = 1.0,
    seed: int = 0,
) -> np.ndarray:
    """Returns of one run, `[num_episodes]`."""
    spec = environment.spec
    rng = np.random.default_rng(seed)
    features = environment.features
    identity = np.eye(spec.dim)
    gram = np.stack([ridge * identity] * spec.horizon)
    gram_sq = gram.copy()
    past_features: list[list[np.ndarray]] = [[] for _ in range(spec.horizon)]
    past_rewards: list[list[float]] = [[] for _ in range(spec.horizon)]
    past_successors: list[list[int]] = [[] for _ in range(spec.horizon)]
    returns = np.zeros(num_episodes)

    for t in range(num_episodes):
        discounts = rate ** np.arange(t - 1, -1, -1)
        weights = np.zeros((spec.horizon, spec.dim))
        shapes = np.zeros((spec.horizon, spec.dim, spec.dim))
        for h in reversed(range(spec.horizon)):
            inverse = np.linalg.inv(gram[h])
            shapes[h] = inverse @ gram_sq[h] @ inverse
            if t == 0:
                continue
            targets = np.array(past_rewards[h])
            if h + 1 < spec.horizon:
                q = _index(features[past_successors[h]], weights[h + 1], shapes[h + 1], radius)
                targets = targets + np.minimum(q.max(axis=1), spec.horizon)
            weights[h] = inverse @ (np.array(past_features[h]).T @ (discounts * targets))

        model = environment.model(t)
        state = rng.choice(spec.num_states, p=environment.initial)
        for h in range(spec.horizon):
            action = int(_index(features[state][None], weights[h], shapes[h], radius)[0].argmax())
            phi = features[state, action]
            reward = float(phi @ model.theta[h])
            chances = phi @ model.mu[h]
            state = rng.choice(spec.num_states, p=chances / chances.sum())
            past_features[h].append(phi)
            past_rewards[h].append(reward)
            past_successors[h].append(state)
            gram[h] = rate * gram[h] + np.outer(phi, phi) + (1 - rate) * ridge * identity
            gram_sq[h] = rate**2 * gram_sq[h] + np.outer(phi, phi) + (1 - rate**2) * ridge * identity
            returns[t] += reward
    return returns


def _index(features: np.ndarray, weights: np.ndarray, shape: np.ndarray, radius: float) -> np.ndarray:
    """`φᵀw + β√(φᵀ Λ⁻¹Λ̃Λ⁻¹ φ)` for features `[n, A, d]`."""
    return features @ weights + radius * np.sqrt(np.einsum("nai,ij,naj->na", features, shape, features))
