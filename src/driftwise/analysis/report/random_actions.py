"""The regret of random actions: the measure of an environment that recovery is judged by."""

from __future__ import annotations

import numpy as np

from driftwise.algorithms import uniform
from driftwise.environments.environment import Environment
from driftwise.simulation.play import play

NUM_SAMPLED = 100  # episodes, at most


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Mean exact regret of an episode with uniformly drawn actions, over a sample of the episodes."""
    sampled = np.unique(np.linspace(0, num_episodes - 1, NUM_SAMPLED).round().astype(int))
    run = play(uniform(environment.spec), environment, num_episodes=num_episodes, episodes=sampled.tolist())
    return float(np.mean([played.record.optimal - played.record.value for played in run]))
