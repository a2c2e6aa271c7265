"""The regret of random actions: the measure of an environment that recovery is judged by."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base import random
from driftwise.environments.environment import Environment

NUM_SAMPLED = 100  # episodes, at most


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Mean exact regret of an episode with uniformly drawn actions, over a sample of the episodes."""
    agent, world = uniform(environment.spec), environment.world()
    state = world.begin(agent)
    sampled = np.unique(np.linspace(0, num_episodes - 1, NUM_SAMPLED).round().astype(int))
    regrets = []
    for t in sampled:  # each goes on from the last one where there are no episodes
        inputs = _only(world.inputs(environment.at(np.array([t]))))
        state, record, _ = world.play(agent, state, inputs, random.key(0), int(t))
        regrets.append(record.optimal - record.value)
    return float(np.mean(regrets))


def _only(inputs: Any) -> Any:
    """The inputs of an episode, out of those of a path of one episode."""
    return inputs[0] if isinstance(inputs, np.ndarray) else type(inputs)(*map(_only, inputs))
