"""The experiment as a plain NumPy loop over `rollout.play`: what the compiled simulator has to equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise import random, rollout
from driftwise.environments import LinearMdp
from driftwise.types import Agent, Episode, FeatureTable, Key, Plan
from tests.reference import planning


class Played(NamedTuple):
    """One episode: what was planned, what happened, what the agent knew afterwards."""

    plan: Plan
    episode: Episode
    record: rollout.Record
    optimal_value: float
    state: Any


class Watched:
    """An agent that remembers its last plan."""

    def __init__(self, agent: Agent) -> None:
        self.spec, self.init, self.act, self.update = agent.spec, agent.init, agent.act, agent.update
        self.agent = agent

    def plan(self, state: Any, features: FeatureTable, key: Key) -> Plan:
        self.last = self.agent.plan(state, features, key)
        return self.last


def episodes(
    agent: Agent, environment: LinearMdp, num_episodes: int, *, seed: int = 0, run: int = 0
) -> Iterator[Played]:
    """The episodes of one run. A state may be consumed by the next episode: copy what you keep."""
    watched = Watched(agent)
    world = rollout.World.of(environment)
    run_key = random.fold(random.key(seed), run)
    state = agent.init(world.table)
    known: dict[bytes, np.ndarray] = {}  # V* of the models met so far
    for t in range(num_episodes):
        mixture = environment.mixture(np.array([t]))[0]
        if mixture.tobytes() not in known:
            values, _ = planning.optimal(environment.features, environment.model(t))
            known[mixture.tobytes()] = values[0]
        state, record, episode = rollout.play(watched, world, state, mixture, run_key, t)
        best = float(known[mixture.tobytes()][record.start])
        yield Played(watched.last, episode, record, best, state)
