"""Episodic agents as files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.part import from_config, to_config
from driftwise.base.random import key
from driftwise.online.episodic_memory import MemoryPlan
from driftwise.online.episodic_states import FeatureMap, MappedStates, States, TableOfStates
from driftwise.online.gauge import Gauge
from driftwise.online.persistence import Stored, WrongFeatures, leaves, with_leaves

KIND = "episodic agent"  # in files


class Kept(NamedTuple):
    """All that an agent is between two episodes."""

    agent: Agent
    states: States
    known: Mapping[str, Any]
    plan_every: int
    seed: int
    num_episodes: int
    gauge: Gauge
    state: Any
    plan: Any  # on which the next episode acts, or None if it plans anew


def stored_as(kept: Kept) -> Stored:
    """What a file is to hold of an agent."""
    description = {
        "kind": KIND,
        "agent": to_config(kept.agent),
        "features": kept.states.description,
        "plan_every": kept.plan_every,
        "seed": kept.seed,
        "num_episodes": kept.num_episodes,
        "has_plan": kept.plan is not None,
    }
    given = {f"known.{name}": each for name, each in kept.known.items()} | kept.states.tensors
    tensors = {name: np.array(each, order="C") for name, each in given.items()}  # files know no other
    tensors["gauge"] = np.array(dataclasses.astuple(kept.gauge), dtype=np.float64)
    arrays = enumerate(leaves((kept.state, _made_by(None, kept.plan))))
    return Stored(description, tensors | {f"kept.{i}": each for i, each in arrays})


def kept_in(stored: Stored, features: FeatureMap | None) -> Kept:
    """The agent in a file; `features` take the place of a map that the file cannot describe."""
    description, tensors = stored
    agent = from_config(description["agent"])
    states = _states(description["features"], tensors, features)
    have, want = (states.num_actions, states.dim), (agent.spec.num_actions, agent.spec.dim)
    if have != want:
        raise WrongFeatures(
            f"features must be of {want[0]} actions and {want[1]} dimensions, as those of the agent that was "
            f"saved, got {have[0]} and {have[1]}"
        )
    known = {name.removeprefix("known."): each for name, each in tensors.items() if name.startswith("known.")}
    table = states.table(agent.spec.horizon, agent.needs, known)
    state, plan = agent.init(table), None
    if description["has_plan"]:
        plan = _made_by(None, agent.plan(state, table, key(0)))  # of the same shapes
    arrays = [tensors[f"kept.{i}"] for i in range(sum(name.startswith("kept.") for name in tensors))]
    state, plan = with_leaves((state, plan), arrays)
    plan_every, seed, num_episodes = (description[name] for name in ("plan_every", "seed", "num_episodes"))
    count, *rest = tensors["gauge"].tolist()
    settings = known, plan_every, seed, num_episodes, Gauge(int(count), *rest)
    return Kept(agent, states, *settings, state, _made_by(agent, plan))


def _states(known: Any, tensors: Mapping[str, Any], features: FeatureMap | None) -> States:
    if "features" in tensors:
        if features is not None:
            raise WrongFeatures(
                f"features must be left out, as the file has them in a table, got {features!r}"
            )
        return TableOfStates(tensors["features"])
    if features is None and known is None:
        raise WrongFeatures("features must be the map that the agent was made with, got None")
    return MappedStates(from_config(known) if features is None else features)


def _made_by(agent: Agent | None, plan: Any) -> Any:
    """A plan with its agent, which is not written twice."""
    return plan._replace(maker=agent) if isinstance(plan, MemoryPlan) else plan
