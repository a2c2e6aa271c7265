"""The training of an episodic agent in an environment of Gymnasium."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.base.extras import ProgressCallback, report_progress
from driftwise.base.validation import ArgumentError, require_count, require_instance
from driftwise.online.episodes.episodic_agent import EpisodicAgent


@dataclass(frozen=True, eq=False)
class Training:
    """Returns and lengths of episodes, `[num_episodes]` both."""

    returns: np.ndarray
    lengths: np.ndarray


def train(
    agent: EpisodicAgent,
    env: Any,
    num_episodes: int,
    *,
    seed: int | None = None,
    progress: bool | ProgressCallback = False,
) -> Training:
    """Let an agent play and learn in an environment of Gymnasium; call it again to continue.

    An episode stops at the agent's horizon, and one that is truncated earlier is unknown after that. `seed`
    is for the first reset; `progress` is a bar, or is called with the finished episodes, all of them, and the
    last return.
    """
    require_instance("agent", agent, EpisodicAgent)
    num_episodes = require_count("num_episodes", num_episodes)
    if agent.under_way:
        raise RuntimeError("train must come after the end of an episode, which is under way; see end()")
    offered = getattr(getattr(env, "action_space", None), "n", None)
    if offered != agent.num_actions:
        expected = f"have the agent's {agent.num_actions} discrete actions"
        raise ArgumentError("env", expected, offered, f"{offered} in {env}")
    first_action = int(getattr(env.action_space, "start", 0))
    first_state = int(getattr(env.observation_space, "start", 0))
    returns, lengths = np.zeros(num_episodes), np.zeros(num_episodes, dtype=np.int64)
    with report_progress(progress, "episode {} of {}, last return {:.4g}".format) as watch:
        for k in range(num_episodes):
            observation, _ = env.reset(seed=seed) if k == 0 and seed is not None else env.reset()
            agent.begin(observation - first_state if first_state else observation)
            while agent.under_way:
                observation, reward, terminated, truncated, _ = env.step(agent.act() + first_action)
                state = observation - first_state if first_state else observation
                agent.observe(float(reward), state, terminated=bool(terminated))
                returns[k] += float(reward)
                lengths[k] += 1
                if truncated and agent.under_way:
                    agent.end()
            watch(k + 1, num_episodes, float(returns[k]))
    return Training(returns, lengths)
