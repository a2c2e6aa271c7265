"""Episodic agents in environments of Gymnasium."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.base.progress import Watcher, watched
from driftwise.base.validation import ArgumentError, require_count, require_kind
from driftwise.online.episodes.agent import EpisodicAgent

SAID = "episode {} of {}, last return {:.4g}"


@dataclass(frozen=True, eq=False)
class Training:
    """Returns and lengths of episodes: `[episodes]` each."""

    returns: np.ndarray
    lengths: np.ndarray


def train(
    agent: EpisodicAgent,
    env: Any,
    num_episodes: int,
    *,
    seed: int | None = None,
    progress: bool | Watcher = False,
) -> Training:
    """Let an agent play and learn for `num_episodes` episodes; call it again to go on.

    `env` is any environment of Gymnasium with as many discrete actions as the agent has. An episode that
    outlasts the agent's horizon is left there, and one that is truncated before it is not known beyond that:
    where the end is part of the problem, let the horizon be the environment's limit. `seed` goes to the first
    reset alone. `progress` is a bar, or is called with the episodes done, those in all and the last return.
    An agent in the middle of an episode is a `RuntimeError`, as for `begin`.
    """
    require_kind("agent", agent, EpisodicAgent)
    num_episodes = require_count("num_episodes", num_episodes)
    if agent.under_way:
        raise RuntimeError("train must come after the end of an episode, which is under way; see end()")
    offered = getattr(getattr(env, "action_space", None), "n", None)
    if offered != agent.num_actions:
        expected = f"have the agent's {agent.num_actions} discrete actions"
        raise ArgumentError("env", expected, offered, f"{offered} in {env}")
    first_action = int(getattr(env.action_space, "start", 0))
    first_state = int(getattr(env.observation_space, "start", 0))

    def number(observation: Any) -> Any:
        return observation - first_state if first_state else observation

    returns, lengths = np.zeros(num_episodes), np.zeros(num_episodes, dtype=np.int64)
    with watched(progress, SAID.format) as watch:
        for k in range(num_episodes):
            observation, _ = env.reset(seed=seed) if k == 0 and seed is not None else env.reset()
            agent.begin(number(observation))
            while agent.under_way:
                observation, reward, terminated, truncated, _ = env.step(agent.act() + first_action)
                agent.observe(float(reward), number(observation), terminated=bool(terminated))
                returns[k] += float(reward)
                lengths[k] += 1
                if truncated and agent.under_way:
                    agent.end()
            watch(k + 1, num_episodes, float(returns[k]))
    return Training(returns, lengths)
