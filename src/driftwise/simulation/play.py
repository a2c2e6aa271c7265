"""The step-by-step engine: one run on NumPy, episode by episode, with everything in sight.

It plays what the simulator plays, to rounding: the same draws, the same code of agents and worlds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.environments.environment import Environment, Played


def play(
    agent: Agent,
    environment: Environment,
    num_episodes: int,
    *,
    seed: int = 0,
    run: int = 0,
    episodes: Sequence[int] | None = None,
) -> Iterator[Played]:
    """Play a run and give each episode in full: features, plan, trajectory, values and the agent's states.

    ```python
    for played in play(agent, environment, num_episodes=100):
        played.plan.q, played.episode.actions, played.record.optimal - played.record.value
    ```

    `episodes` are the only ones that are played, in this order; all of the run unless given.
    """
    world = environment.world(needs=agent.needs)
    key, carry = random.fold(random.key(seed), run), world.begin(agent)
    chosen = np.arange(num_episodes) if episodes is None else np.asarray(episodes)
    path = environment.at(chosen)
    for place, t in enumerate(chosen.tolist()):
        inputs = map_tree(lambda leaf: leaf[0], world.inputs(path[place : place + 1]))
        played = world.advance(agent, carry, inputs, key, t)
        carry = played.carry
        yield played
