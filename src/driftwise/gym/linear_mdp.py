"""Linear MDPs as environments of Gymnasium."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import numpy as np

from driftwise.base import random
from driftwise.base.types import Model
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_kind
from driftwise.environments import Environment, LinearMdp, planning
from driftwise.environments.registry import build, for_each_environment

RENDER_MODES = ("ansi",)


class LinearMdpEnv(gymnasium.Env[np.int64, np.int64]):
    """A drifting linear MDP, played one step at a time; every `reset` starts the next episode of its path.

    The clock starts at episode 0, also after `reset(seed=...)`: the same seed gives the same trajectory only
    if it meets the same models. `reset(options={"episode": t})` goes to episode `t`.

    Episodes are *terminated* after `horizon` steps. The horizon is part of the problem: nothing can be earned
    after it, so a learner must not bootstrap there, as it would where an episode is truncated.

    `info` holds the episode's number `episode_index`, the `step` (how many were taken), and the exact
    `optimal_value` of the episode's first state, so that dynamic regret is the sum of `optimal_value` less
    the policy's value, which the sum of rewards estimates without bias.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(self, environment: LinearMdp, *, render_mode: str | None = None) -> None:
        self.environment: LinearMdp = require_kind("environment", environment, LinearMdp)
        if render_mode is not None:
            require_choice("render_mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        spec = self.environment.spec
        self.observation_space = gymnasium.spaces.Discrete(spec.num_states)
        self.action_space = gymnasium.spaces.Discrete(spec.num_actions)
        self._horizon = self._step = spec.horizon  # no episode is under way
        self._episode = -1
        self._mixture: np.ndarray | None = None

    @property
    def model(self) -> Model:
        """The linear MDP of the current episode."""
        self._require_reset(started=self._episode >= 0)
        return self._model

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Start an episode: its first state, and `info`."""
        episode = _episode_of(options, otherwise=self._episode + 1 if seed is None else 0)
        super().reset(seed=seed)
        self._move_to(episode)
        self._step = 0
        self._state = self._draw(self.environment.initial)
        self._optimal_value = float(self._optimal_values[self._state])
        return self._state, self._info()

    def step(self, action: int | np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take an action: the next state, the reward, whether the horizon is reached, `False`, and `info`."""
        self._require_reset(started=self._step < self._horizon)
        if not self.action_space.contains(action):
            expected = f"be an integer from 0 to {self.environment.spec.num_actions - 1}"
            raise ArgumentError("action", expected, action)
        phi = self.environment.features[self._state, action]
        mean = float(phi @ self._model.theta[self._step])
        reward = mean if self.environment.rewards == "mean" else float(self.np_random.random() < mean)
        self._state = self._draw(phi @ self._model.mu[self._step])
        self._step += 1
        return self._state, reward, self._step == self._horizon, False, self._info()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A line on the state of the episode; nothing without a `render_mode`."""
        self._require_reset(started=self._episode >= 0)
        if self.render_mode is None:
            return None
        return f"episode {self._episode}, step {self._step} of {self._horizon}, state {self._state}\n"

    def _move_to(self, episode: int) -> None:
        mixture = self.environment.at(np.array([episode]))[0]
        if self._mixture is None or not np.array_equal(mixture, self._mixture):
            self._model = self.environment.model(episode)
            self._optimal_values = planning.optimal_values(self.environment.features, self._model)[0]
        self._episode, self._mixture = episode, mixture

    def _draw(self, probabilities: np.ndarray) -> np.int64:
        return np.int64(random.choose(np.cumsum(probabilities), self.np_random.random()))

    def _info(self) -> dict[str, Any]:
        # not "episode", a key that Gymnasium's RecordEpisodeStatistics keeps for itself
        return {"episode_index": self._episode, "step": self._step, "optimal_value": self._optimal_value}

    @staticmethod
    def _require_reset(*, started: bool) -> None:
        if not started:
            raise gymnasium.error.ResetNeeded("reset must be called before an episode can go on")


def make_env(maker: str, *, render_mode: str | None = None, **parameters: Any) -> LinearMdpEnv:
    """The environment of a maker in `driftwise.environments`; parts may be given as plain dictionaries."""
    environment: Any = build(require_choice("maker", maker, list(MAKERS.values())), **parameters)
    return LinearMdpEnv(environment, render_mode=render_mode)


def _episode_of(options: Mapping[str, Any] | None, *, otherwise: int) -> int:
    given: Mapping[str, Any] = require_kind("options", {} if options is None else options, Mapping)
    for name in given:
        require_choice("options", name, ("episode",))
    return require_count("episode", given.get("episode", otherwise), at_least=0)


MAKERS: dict[str, str] = {}  # by the ids that Gymnasium knows them under


def _register_id(name: str, maker: Callable[..., Environment]) -> None:
    """Make a linear MDP known to Gymnasium; what is no linear MDP has no id."""
    own_id = f"driftwise/{name.title().replace('_', '')}-v0"
    if typing.get_type_hints(maker).get("return") is LinearMdp and own_id not in MAKERS:
        MAKERS[own_id] = name
        gymnasium.register(own_id, entry_point="driftwise.gym:make_env", kwargs={"maker": name})


for_each_environment(_register_id)
