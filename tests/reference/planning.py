"""Dynamic programming with the kernel written out, and variation summed model by model."""

import itertools
from collections.abc import Sequence

import numpy as np

from driftwise.base import Model
from driftwise.environments import LinearMdp, PlayedEpisode


def kernel(features: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Mean rewards `[H, S, A]` and transition probabilities `[H, S, A, S]`."""
    num_states, num_actions, _ = features.shape
    horizon = len(model.theta)
    reward = np.zeros((horizon, num_states, num_actions))
    probability = np.zeros((horizon, num_states, num_actions, num_states))
    for h, s, a in np.ndindex(*reward.shape):
        reward[h, s, a] = features[s, a] @ model.theta[h]
        for s_next in range(num_states):
            probability[h, s, a, s_next] = features[s, a] @ model.mu[h, :, s_next]
    return reward, probability


def optimal(features: np.ndarray, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """`V*` `[H+1, S]` and `Q*` `[H, S, A]`."""
    reward, probability = kernel(features, model)
    values, q = np.zeros((len(reward) + 1, reward.shape[1])), np.zeros(reward.shape)
    for h in reversed(range(len(reward))):
        for s, a in np.ndindex(*reward.shape[1:]):
            q[h, s, a] = reward[h, s, a] + probability[h, s, a] @ values[h + 1]
        values[h] = q[h].max(axis=1)
    return values, q


def of_policy(features: np.ndarray, model: Model, policy: np.ndarray) -> np.ndarray:
    """`V^π` `[H+1, S]` of action probabilities `[H, S, A]`."""
    reward, probability = kernel(features, model)
    values = np.zeros((len(reward) + 1, reward.shape[1]))
    for h in reversed(range(len(reward))):
        for s, a in np.ndindex(*reward.shape[1:]):
            values[h, s] += policy[h, s, a] * (reward[h, s, a] + probability[h, s, a] @ values[h + 1])
    return values


def variation(models: Sequence[Model], transition_norm: str) -> tuple[float, float]:
    """`Δ_r` and `Δ_P` of a list of models."""
    in_reward = in_transition = 0.0
    for now, then in itertools.pairwise(models):
        for h in range(len(now.theta)):
            in_reward += np.linalg.norm(then.theta[h] - now.theta[h])
            difference = then.mu[h] - now.mu[h]  # [d, S]
            if transition_norm == "total_variation":
                in_transition += np.linalg.norm([np.sum(np.abs(row)) for row in difference])
            else:
                in_transition += np.linalg.norm(difference)
    return float(in_reward), float(in_transition)


def tables(environment: LinearMdp, t: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Mean rewards and transition probabilities of the first step."""
    reward, probability = kernel(environment.features, environment.model(t))
    return reward[0], probability[0]


def best(environment: LinearMdp, t: int = 0) -> tuple[float, np.ndarray]:
    """The mean optimal value of an episode, and the first optimal action `[H, S]`."""
    values, q = optimal(environment.features, environment.model(t))
    return float(environment.initial @ values[0]), (q >= values[:-1, :, None] - 1e-12).argmax(axis=-1)


def start_value(environment: LinearMdp, policy: np.ndarray, t: int = 0) -> float:
    """The mean value of a policy that is the same at all steps, `[S, A]`."""
    steps = np.broadcast_to(policy, (environment.spec.horizon, *policy.shape))
    values = of_policy(environment.features, environment.model(t), steps)
    return float(environment.initial @ values[0])


def optimal_values(environment: LinearMdp, played: Sequence[PlayedEpisode]) -> list[float]:
    """V* at the first states of consecutive episodes from the first on, by plain loops."""
    known: dict[bytes, np.ndarray] = {}  # of the models met so far
    found = []
    for t, one in enumerate(played):
        name = environment.at(np.array([t])).tobytes()
        if name not in known:
            known[name] = optimal(environment.features, environment.model(t))[0][0]
        found.append(float(known[name][one.episode.states[0]]))
    return found
