"""MatrixRL (Yang & Wang 2020, Algorithm 1), line by line, with the whole history in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftwise.base import Episode
from tests.reference.plain import Planned, Weight, remember


def core_matrix(
    transitions: Sequence[tuple[float, np.ndarray, int]], psi: np.ndarray, dim: int, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """`A_n` and `M_n` from (weight, φ, s') of the transitions, with `K_ψ⁻¹` as it is printed."""
    gram, products = ridge * np.eye(dim), np.zeros((dim, psi.shape[1]))
    kernel = sum((np.outer(row, row) for row in psi), np.zeros((psi.shape[1], psi.shape[1])))
    for weight, phi, successor in transitions:
        gram += weight * np.outer(phi, phi)
        products += weight * np.outer(phi, psi[successor]) @ np.linalg.inv(kernel)
    return gram, np.linalg.inv(gram) @ products


def plan(
    history: Sequence[Episode],
    features: np.ndarray,
    psi: np.ndarray,
    rewards: np.ndarray,
    *,
    radius: float,
    ridge: float,
    shared: bool,
    weight: Weight = remember,
) -> Planned:
    """The Q of an episode with rewards `[H, S, A]`; steps are shared in print."""
    num_states, num_actions, dim = features.shape
    horizon, t = len(rewards), len(history)
    bonus, q = np.zeros((2, horizon, num_states, num_actions))
    values = np.zeros((horizon + 1, num_states))
    for h in reversed(range(horizon)):
        transitions = [
            (weight(t, tau), episode.features[step], int(episode.successors[step]))
            for tau, episode in enumerate(history)
            for step in range(horizon)
            if shared or step == h
        ]
        gram, core = core_matrix(transitions, psi, dim, ridge)
        ahead = sum(psi[s] * values[h + 1, s] for s in range(num_states))  # Ψᵀ V
        for s, a in np.ndindex(num_states, num_actions):
            phi = features[s, a]
            bonus[h, s, a] = radius * np.sqrt(phi @ np.linalg.inv(gram) @ phi)
            q[h, s, a] = rewards[h, s, a] + phi @ core @ ahead + bonus[h, s, a]
        values[h] = [min(max(0.0, max(row)), horizon) for row in q[h]]
    return Planned(q, values[:-1], bonus)
