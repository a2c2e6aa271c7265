"""Exact tables, values and best actions of an episode, by plain loops."""

from collections.abc import Sequence

import numpy as np

from driftwise.environments import LinearMdp, PlayedEpisode
from tests.reference import planning


def tables(environment: LinearMdp, t: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean rewards and transition probabilities of the first step."""
    reward, probability = planning.kernel(environment.features, environment.model(t))
    return reward[0], probability[0]


def best(environment: LinearMdp, t: int = 0) -> tuple[float, np.ndarray]:
    """The mean optimal value of an episode, and the first optimal action `[H, S]`."""
    values, q = planning.optimal(environment.features, environment.model(t))
    return float(environment.initial @ values[0]), (q >= values[:-1, :, None] - 1e-12).argmax(axis=-1)


def start_value(environment: LinearMdp, policy: np.ndarray, t: int = 0) -> float:
    """The mean value of a policy that is the same at all steps, `[S, A]`."""
    steps = np.broadcast_to(policy, (environment.spec.horizon, *policy.shape))
    values = planning.of_policy(environment.features, environment.model(t), steps)
    return float(environment.initial @ values[0])


def optimal_values(environment: LinearMdp, played: Sequence[PlayedEpisode]) -> list[float]:
    """V* at the first states of consecutive episodes from the first on, by plain loops."""
    known: dict[bytes, np.ndarray] = {}  # of the models met so far
    found = []
    for t, one in enumerate(played):
        name = environment.at(np.array([t])).tobytes()
        if name not in known:
            known[name] = planning.optimal(environment.features, environment.model(t))[0][0]
        found.append(float(known[name][one.episode.states[0]]))
    return found
