"""The experiment as a plain NumPy loop over `World.play`: what the compiled simulator has to equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.types import Agent, Episode, FeatureTable, Key, Plan
from driftwise.environments import Environment, LinearMdp
from driftwise.environments.world import Record
from tests.reference import planning


class Played(NamedTuple):
    """One episode: what was planned, what happened, what the agent knew afterwards."""

    plan: Plan
    episode: Episode
    record: Record
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
    agent: Agent, environment: Environment, num_episodes: int, *, seed: int = 0, run: int = 0
) -> Iterator[Played]:
    """The episodes of one run. A state may be consumed by the next episode: copy what you keep."""
    watched = Watched(agent)
    world = environment.world(tell=getattr(agent, "needs", ()))
    run_key = random.fold(random.key(seed), run)
    state = world.begin(agent)
    for t in range(num_episodes):
        inputs = world.inputs(environment.at(np.array([t])))
        here = type(inputs)(*(leaf[0] for leaf in inputs)) if isinstance(inputs, tuple) else inputs[0]
        state, record, episode = world.play(watched, state, here, run_key, t)
        yield Played(watched.last, episode, record, state)


def optimal_values(environment: LinearMdp, played: Sequence[Played]) -> list[float]:
    """V* at the first states of consecutive episodes from the first on, by plain loops."""
    known: dict[bytes, np.ndarray] = {}  # of the models met so far
    found = []
    for t, one in enumerate(played):
        name = environment.mixture(np.array([t])).tobytes()
        if name not in known:
            known[name] = planning.optimal(environment.features, environment.model(t))[0][0]
        found.append(float(known[name][one.episode.states[0]]))
    return found
