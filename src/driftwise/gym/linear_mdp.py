"""Linear MDPs as environments of Gymnasium."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from driftwise.base import random
from driftwise.base.types import Model
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.environments import Environment, LinearMdp
from driftwise.environments.registry import build, for_each_environment
from driftwise.gym.path import Path, observation, require_reset, with_horizon
from driftwise.gym.vector import LinearMdpVectorEnv

RENDER_MODES = ("ansi",)


class LinearMdpEnv(gymnasium.Env[Any, np.int64]):
    """A drifting linear MDP, played one step at a time; every `reset` starts the next episode of its path.

    The clock starts at episode 0, also after `reset(seed=...)`: the same seed gives the same trajectory only
    if it meets the same models. `reset(options={"episode": t})` goes to episode `t`.

    Episodes are *terminated* after `horizon` steps. The horizon is part of the problem: nothing can be earned
    after it, so a learner must not bootstrap there, as it would where an episode is truncated.

    Observations are the state (`observe="state"`), the state and how many steps were taken (`"step"`), or
    the features of the state's actions (`"features"`).

    `info` holds the episode's number `episode_index`, the `step` (how many were taken), and the exact
    `optimal_value` of the episode's first state, so that dynamic regret is the sum of `optimal_value` less
    the policy's value, which the sum of rewards estimates without bias.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, environment: LinearMdp, *, observe: str = "state", render_mode: str | None = None
    ) -> None:
        self._path = Path(environment)
        self.environment = environment
        if render_mode is not None:
            require_choice("render_mode", render_mode, RENDER_MODES)
        self.render_mode = render_mode
        self._observation = observation(environment, observe)
        self.observation_space = self._observation.space
        self.action_space = gymnasium.spaces.Discrete(environment.spec.num_actions)
        self._horizon = self._step = environment.spec.horizon  # no episode is under way

    @property
    def spec(self) -> EnvSpec | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The specification that Gymnasium made it from; its `max_episode_steps` is the horizon."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        self._spec = with_horizon(spec, self._horizon)

    _spec: EnvSpec | None = None

    @property
    def model(self) -> Model:
        """The linear MDP of the current episode."""
        require_reset(started=self._path.episode >= 0)
        return self._path.model

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode: its first observation, and `info`."""
        episode = self._path.episode_after(seed, options)
        gymnasium.Env.reset(self, seed=seed)
        self._path.go_to(episode)
        self._step = 0
        self._state = self._draw(self.environment.initial)
        self._optimal_value = float(self._path.optimal_values[self._state])
        return self._observed()

    def step(self, action: int | np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action: the observation, reward, whether the horizon is reached, `False`, and `info`."""
        require_reset(started=self._step < self._horizon)
        if not self.action_space.contains(action):
            expected = f"be an integer from 0 to {self.environment.spec.num_actions - 1}"
            raise ArgumentError("action", expected, action)
        phi = self.environment.features[self._state, action]
        mean = float(phi @ self.model.theta[self._step])
        reward = mean if self.environment.rewards == "mean" else float(self.np_random.random() < mean)
        self._state = self._draw(phi @ self.model.mu[self._step])
        self._step += 1
        observed, info = self._observed()
        return observed, reward, self._step == self._horizon, False, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A line on the state of the episode; nothing without a `render_mode`."""
        require_reset(started=self._path.episode >= 0)
        if self.render_mode is None:
            return None
        return f"episode {self._path.episode}, step {self._step} of {self._horizon}, state {self._state}\n"

    def _draw(self, probabilities: np.ndarray) -> np.int64:
        return np.int64(random.choose(np.cumsum(probabilities), self.np_random.random()))

    def _observed(self) -> tuple[Any, dict[str, Any]]:
        info = self._path.info(self._step, self._optimal_value)
        return self._observation.of(self._state, self._step), info


def make_env(
    maker: str, *, observe: str = "state", render_mode: str | None = None, **parameters: Any
) -> LinearMdpEnv:
    """The environment of a maker in `driftwise.environments`; parts may be given as plain dictionaries."""
    return LinearMdpEnv(_made(maker, parameters), observe=observe, render_mode=render_mode)


def make_vector_env(
    maker: str,
    *,
    num_envs: int,
    observe: str = "state",
    max_episode_steps: int | None = None,
    **parameters: Any,
) -> LinearMdpVectorEnv:
    """As many copies as one vector environment; `max_episode_steps` can be the horizon alone."""
    environment = _made(maker, parameters)
    if max_episode_steps not in (None, environment.spec.horizon):
        expected = f"be the horizon, {environment.spec.horizon}, or left out"
        raise ArgumentError("max_episode_steps", expected, max_episode_steps)
    return LinearMdpVectorEnv(environment, num_envs, observe=observe)


def _made(maker: str, parameters: dict[str, Any]) -> LinearMdp:
    environment: Any = build(require_choice("maker", maker, list(MAKERS.values())), **parameters)
    return environment


MAKERS: dict[str, str] = {}  # by the ids that Gymnasium knows them under


def _register_id(name: str, maker: Callable[..., Environment]) -> None:
    """Make a linear MDP known to Gymnasium; what is no linear MDP has no id."""
    own_id = f"driftwise/{name.title().replace('_', '')}-v0"
    if typing.get_type_hints(maker).get("return") is LinearMdp and own_id not in MAKERS:
        MAKERS[own_id] = name
        gymnasium.register(
            own_id,
            entry_point="driftwise.gym:make_env",
            vector_entry_point="driftwise.gym:make_vector_env",
            kwargs={"maker": name},
        )


for_each_environment(_register_id)
