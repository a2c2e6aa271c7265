"""The step-by-step engine: one run on NumPy, episode by episode, with everything in sight.

It plays what the simulator plays, to rounding: the same draws, the same code of agents and worlds.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import require_single
from driftwise.environments.environment import Environment, PlayedEpisode
from driftwise.simulation.tasks import Task


def play(
    agent: Agent,
    environment: Environment,
    num_episodes: int,
    *,
    seed: int = 0,
    run: int = 0,
    episodes: Sequence[int] | None = None,
) -> Iterator[PlayedEpisode]:
    """Play a run and give each episode in full: features, plan, trajectory, values and the agent's states.

    ```python
    for played in play(agent, environment, num_episodes=100):
        played.plan.q, played.episode.actions, played.record.optimal - played.record.value
    ```

    `episodes` are the only ones that are played, in this order; all of the run unless given.
    """
    task = Task(agent, environment, num_episodes=num_episodes, seed=seed, first_run=run)  # it checks them
    require_single(agent)
    return _played(task, np.arange(task.num_episodes) if episodes is None else np.asarray(episodes))


def _played(task: Task, chosen: np.ndarray) -> Iterator[PlayedEpisode]:
    agent, environment = task.agent, task.environment
    world = environment.to_arrays(needs=agent.needs)
    key, carry = random.fold(random.key(task.seed), task.first_run), world.begin(agent)
    path = environment.at(chosen)
    for place, t in enumerate(chosen.tolist()):
        inputs = map_tree(lambda leaf: leaf[0], world.inputs(path[place : place + 1]))
        played = world.advance(agent, copy.deepcopy(carry), inputs, key, t)  # which may overwrite the copy
        yield played._replace(before=carry.state)
        carry = played.carry
