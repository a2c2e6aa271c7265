"""Paths of the models of an environment, and how far they are from the first model."""

from __future__ import annotations

import numpy as np

from driftwise.environments.environment import Environment
from driftwise.environments.models.continuing_mdp import ContinuingMdp
from driftwise.environments.models.linear_mdp import LinearMdp


def model_paths(environment: Environment, episodes: np.ndarray) -> dict[str, np.ndarray]:
    """Return points `[T, n]` with the distances of the models of the episodes; those of rewards first."""
    environment = environment.tables if isinstance(environment, ContinuingMdp) else environment
    if not isinstance(environment, LinearMdp):
        return {"parameter θ": environment.at(episodes)}
    mixture, paths = environment.at(episodes), {}
    for name, anchors in {"rewards θ": environment.theta, "transitions μ": environment.mu}.items():
        # the anchors in the space that they span, [J, J] at most, with the same distances
        left, sizes, _ = np.linalg.svd(anchors.reshape(len(anchors), -1), full_matrices=False)
        paths[name] = mixture @ (left * sizes)
    return paths


def relative_distances(environment: Environment, episodes: np.ndarray) -> np.ndarray | None:
    """Return the larger distance of rewards and transitions, each over its largest; `None` if constant."""
    paths = model_paths(environment, episodes).values()
    distances = [np.linalg.norm(path - path[0], axis=-1) for path in paths]
    shares = [distance / distance.max() for distance in distances if distance.max() > 0]
    return np.max(shares, axis=0) if shares else None
