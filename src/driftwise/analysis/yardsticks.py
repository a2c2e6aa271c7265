"""References that regret is read against: random actions, and how far the environment has moved."""

from __future__ import annotations

import numpy as np

from driftwise.algorithms import uniform
from driftwise.environments.environment import Environment
from driftwise.environments.models.continuing_mdp import ContinuingMdp
from driftwise.environments.models.linear_mdp import LinearMdp
from driftwise.simulation.play import play

NUM_SAMPLED = 100  # episodes of random actions, at most


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Mean exact regret of an episode with uniformly drawn actions, over a sample of the episodes."""
    sampled = np.unique(np.linspace(0, num_episodes - 1, NUM_SAMPLED).round().astype(int))
    run = play(uniform(environment.spec), environment, num_episodes=num_episodes, episodes=sampled.tolist())
    return float(np.mean([played.record.optimal - played.record.value for played in run]))


def paths(environment: Environment, episodes: np.ndarray) -> dict[str, np.ndarray]:
    """Points `[T, n]` as far apart as the models of the episodes are, first for their rewards."""
    environment = environment.tables if isinstance(environment, ContinuingMdp) else environment
    if not isinstance(environment, LinearMdp):
        return {"parameter θ": environment.at(episodes)}
    mixture = environment.at(episodes)
    anchors = {"rewards θ": environment.theta, "transitions μ": environment.mu}
    return {name: mixture @ _coordinates(each) for name, each in anchors.items()}


def distances(environment: Environment, episodes: np.ndarray) -> dict[str, np.ndarray]:
    """Euclidean distances `[T]` of the models of the episodes from the first of them."""
    return {
        name: np.linalg.norm(path - path[0], axis=-1) for name, path in paths(environment, episodes).items()
    }


def moved(environment: Environment, episodes: np.ndarray) -> np.ndarray | None:
    """How far the model is from the first, `[T]` from 0 to 1, the furthest; `None` where it stays.

    Of rewards and transitions, each as a share of its own largest distance, it is the one further away.
    """
    found = distances(environment, episodes).values()
    shares = [each / each.max() for each in found if each.max() > 0]
    return np.max(shares, axis=0) if shares else None


def _coordinates(anchors: np.ndarray) -> np.ndarray:
    """The anchors in the space that they span, `[J, J]` at most: distances stay."""
    left, sizes, _ = np.linalg.svd(anchors.reshape(len(anchors), -1), full_matrices=False)
    return left * sizes
