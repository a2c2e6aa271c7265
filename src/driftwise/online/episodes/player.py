"""What agents that play episodes have in common: files, the order of calls, and training in Gymnasium."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftwise.base.extras import LOADERS, ProgressCallback, report_progress
from driftwise.base.validation import ArgumentError, require_count
from driftwise.online import agent_files
from driftwise.online.features import FeatureMap

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class EpisodePlayer(ABC):
    """An agent that plays one episode at a time: `begin`, then `act` and `observe` in turns."""

    _open: Any = None  # the episode under way
    _seen: agent_files.Stamps

    @property
    def under_way(self) -> bool:
        """Whether an episode has begun and not ended."""
        return self._open is not None

    @abstractmethod
    def begin(self, state: Any) -> None:
        """Start an episode in a state."""

    @abstractmethod
    def act(self) -> Any:
        """Choose the action of this step."""

    @abstractmethod
    def observe(self, reward: float, next_state: Any, *, terminated: bool = False) -> None:
        """Record the reward of the action; `next_state` counts unless the step `terminated` the episode."""

    @abstractmethod
    def end(self) -> None:
        """Leave the episode where it is, and learn from the steps that were observed."""

    @abstractmethod
    def require_env(self, env: Any) -> tuple[int, int]:
        """Return the environment's first state and first action, if the agent fits it, or raise an error."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to continue with the next episode; `path` is replaced at once, or stays.

        A `FileExistsError` if somebody else has replaced it since this agent loaded or saved it.
        """
        self._seen = agent_files.write_agent_file(path, self._closed_content())

    def to_bytes(self) -> bytes:
        """Return the content of its file, say for a database."""
        return agent_files.to_bytes(self._closed_content())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, features: FeatureMap | None = None) -> Self:
        """Return the agent saved at `path`; `features` are for maps that no file can describe."""
        return agent_files.require_own(cls, agent_files.load(path, features=features), "path")

    @classmethod
    def from_bytes(cls, content: bytes, *, features: FeatureMap | None = None) -> Self:
        """Return the agent of `to_bytes`; `features` are as for `load`."""
        return agent_files.require_own(cls, agent_files.from_bytes(content, features=features), "content")

    @abstractmethod
    def _content(self) -> agent_files.AgentFile:
        """Return the content of its file, between episodes."""

    def _closed_content(self) -> agent_files.AgentFile:
        if self.under_way:
            raise RuntimeError("save must come between episodes, and one is under way; see end()")
        return self._content()

    def _require_closed(self) -> None:
        if self.under_way:
            raise RuntimeError("begin must come after the end of an episode, which is under way; see end()")

    def _require_open(self, call: str) -> Any:
        if self._open is None:
            raise RuntimeError(f"{call} must come after begin, as no episode is under way")
        return self._open


@dataclass(frozen=True, eq=False)
class Training:
    """Returns and lengths of episodes, `[num_episodes]` both."""

    returns: np.ndarray
    lengths: np.ndarray

    def plot(self, inches: tuple[float, float] = (6.0, 3.6)) -> Figure:
        """Return a figure of the returns and of their mean over ten episodes."""
        return LOADERS["result views"]().training_figure(self, inches)


def train(
    agent: EpisodePlayer,
    env: Any,
    num_episodes: int,
    *,
    seed: int | None = None,
    progress: bool | ProgressCallback = False,
) -> Training:
    """Let an agent play and learn in an environment of Gymnasium; call it again to continue.

    An episode stops at the agent's horizon, if it has one, and one that is truncated earlier is unknown after
    that. `seed` is for the first reset; `progress` is a bar, or is called with the finished episodes, all of
    them, and the last return.
    """
    if not isinstance(agent, EpisodePlayer):
        raise ArgumentError("agent", "be an EpisodicAgent", agent)
    num_episodes = require_count("num_episodes", num_episodes)
    if agent.under_way:
        raise RuntimeError("train must come after the end of an episode, which is under way; see end()")
    first_state, first_action = agent.require_env(env)
    returns, lengths = np.zeros(num_episodes), np.zeros(num_episodes, dtype=np.int64)
    with report_progress(progress, "episode {} of {}, last return {:.4g}".format) as watch:
        for k in range(num_episodes):
            observation, _ = env.reset(seed=seed) if k == 0 and seed is not None else env.reset()
            agent.begin(observation - first_state if first_state else observation)
            while agent.under_way:
                action = agent.act()
                observation, reward, terminated, truncated, _ = env.step(
                    action + first_action if first_action else action
                )
                state = observation - first_state if first_state else observation
                agent.observe(float(reward), state, terminated=bool(terminated))
                returns[k] += float(reward)
                lengths[k] += 1
                if truncated and agent.under_way:
                    agent.end()
            watch(k + 1, num_episodes, float(returns[k]))
    return Training(returns, lengths)
