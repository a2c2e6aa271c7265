"""Linear MDPs as environments of Gymnasium, one at a time or many copies in step with each other."""

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from driftwise.base import random
from driftwise.base.types import Model
from driftwise.base.validation import ArgumentError, as_array, require_choice, require_count, require_instance
from driftwise.environments import Environment, LinearMdp, planning
from driftwise.environments.environment import ENVIRONMENTS, build_environment

Info = dict[str, Any]
MAKERS: dict[str, str] = {}  # by the ids that Gymnasium knows them under


class _Episodes:
    """Episodes of a linear MDP on its path, with one state, action and reward or those of all copies."""

    _spec: EnvSpec | None = None
    _model: Model
    _optimal: np.ndarray  # [S] exact values of the first step

    def __init__(self, environment: LinearMdp, observe: str) -> None:
        self.environment: LinearMdp = require_instance("environment", environment, LinearMdp)
        self._observe = require_choice("observe", observe, ("state", "step", "features"))
        self._horizon = self._step = environment.spec.horizon  # no episode is under way
        self._episode = -1  # before the first
        self._mixture: np.ndarray | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """The specification that Gymnasium made it from; its `max_episode_steps` is the horizon."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:  # the horizon is not known when an id is registered
        self._spec = None if spec is None else dataclasses.replace(spec, max_episode_steps=self._horizon)

    @property
    def model(self) -> Model:
        """The linear MDP of the current episode."""
        _require_reset(started=self._episode >= 0)
        return self._model

    def _spaces(self) -> tuple[gymnasium.Space, gymnasium.Space]:
        """Return the spaces of observations and actions of one copy."""
        spec, features = self.environment.spec, self.environment.features
        bound = max(1.0, float(np.abs(features).max()))  # norms are at most one, but for rounding
        observations = {
            "state": gymnasium.spaces.Discrete(spec.num_states),
            "step": gymnasium.spaces.MultiDiscrete([spec.num_states, spec.horizon + 1]),
            "features": gymnasium.spaces.Box(-bound, bound, features.shape[1:], np.float64),
        }
        return observations[self._observe], gymnasium.spaces.Discrete(spec.num_actions)

    def _uniform(self) -> Any:
        """Return uniform numbers, one for each copy."""
        raise NotImplementedError

    def _draw(self, probabilities: np.ndarray) -> Any:
        return random.choose_index(np.cumsum(probabilities, axis=-1), self._uniform()).astype(np.int64)

    def _episode_after(self, seed: Any, options: Mapping[str, Any] | None) -> int:
        """Return the episode that a reset starts: of the options, the first with a seed, else the next."""
        chosen: Mapping[str, Any] = require_instance("options", {} if options is None else options, Mapping)
        for name in chosen:
            require_choice("options", name, ("episode",))
        following = self._episode + 1 if seed is None else 0
        return require_count("episode", chosen.get("episode", following), at_least=0)

    def _start(self, episode: int) -> tuple[Any, Info]:
        """Start an episode, with a new model unless it is that of the last one; return what `reset` does."""
        mixture = self.environment.at(np.array([episode]))[0]
        if self._mixture is None or not np.array_equal(mixture, self._mixture):
            self._model = self.environment.model(episode)
            self._optimal = planning.optimal_values(self.environment.features, self._model)[0]
        self._episode, self._mixture, self._step = episode, mixture, 0
        self._states = self._draw(self.environment.initial)
        self._optimal_values = self._optimal[self._states]
        return self._observation(), self._info()

    def _take(self, actions: Any) -> Any:
        """Take actions, and return their rewards."""
        features = self.environment.features[self._states, actions]
        rewards = features @ self._model.theta[self._step]
        if self.environment.rewards != "mean":
            rewards = np.where(self._uniform() < rewards, 1.0, 0.0)
        self._states = self._draw(features @ self._model.mu[self._step])
        self._step += 1
        return rewards

    def _observation(self) -> Any:
        if self._observe == "state":
            return self._states
        if self._observe == "step":
            return np.stack([self._states, 0 * self._states + self._step], axis=-1)
        return np.array(self.environment.features[self._states])

    def _info(self) -> Info:
        # not "episode", a key that Gymnasium's RecordEpisodeStatistics keeps for itself
        return {"episode_index": self._episode, "step": self._step, "optimal_value": self._optimal_values}


class LinearMdpEnv(_Episodes, gymnasium.Env[Any, np.int64]):  # pyright: ignore[reportIncompatibleVariableOverride]
    """A drifting linear MDP, played one step at a time; every `reset` starts the next episode of its path.

    `reset(seed=...)` starts over at episode 0, and `reset(options={"episode": t})` goes to episode `t`.
    Episodes are *terminated* after `horizon` steps: nothing can be earned after it, so a learner must not
    bootstrap there, as it would where an episode is truncated.

    Observations are the state (`observe="state"`), the state and how many steps were taken (`"step"`), or
    the features of the state's actions (`"features"`). `info` holds the episode's number `episode_index`, the
    `step`, and the exact `optimal_value` of the episode's first state.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self, environment: LinearMdp, *, observe: str = "state", render_mode: str | None = None
    ) -> None:
        super().__init__(environment, observe)
        if render_mode is not None:
            require_choice("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.observation_space, self.action_space = self._spaces()

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Start an episode: its first observation, and `info`."""
        episode = self._episode_after(seed, options)
        gymnasium.Env.reset(self, seed=seed)
        return self._start(episode)

    def step(self, action: int | np.int64) -> tuple[Any, float, bool, bool, Info]:
        """Take an action: the observation, reward, whether the horizon is reached, `False`, and `info`."""
        _require_reset(started=self._step < self._horizon)
        if not self.action_space.contains(action):
            expected = f"be an integer from 0 to {self.environment.spec.num_actions - 1}"
            raise ArgumentError("action", expected, action)
        reward = float(self._take(action))
        return self._observation(), reward, self._step == self._horizon, False, self._info()

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return a line on the state of the episode; nothing without a `render_mode`."""
        _require_reset(started=self._episode >= 0)
        if self.render_mode is None:
            return None
        return f"episode {self._episode}, step {self._step} of {self._horizon}, state {self._states}\n"

    def _uniform(self) -> float:
        return self.np_random.random()

    def _info(self) -> Info:
        return super()._info() | {"optimal_value": float(self._optimal_values)}


class LinearMdpVectorEnv(_Episodes, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):  # pyright: ignore[reportIncompatibleVariableOverride]
    """Many copies of a `LinearMdpEnv` in step with each other, each step of all of them computed at once.

    All else, trajectories included, is as in Gymnasium's `SyncVectorEnv` around as many copies.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, environment: LinearMdp, num_envs: int, *, observe: str = "state") -> None:
        super().__init__(environment, observe)
        self.num_envs = require_count("num_envs", num_envs)
        self.single_observation_space, self.single_action_space = self._spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        """Start an episode of all copies; copy `i` has the seed `seed + i`, or the i-th of a list."""
        episode = self._episode_after(seed, options)
        if seed is not None:
            if isinstance(seed, int | np.integer):
                seed = [int(seed) + i for i in range(self.num_envs)]
            seeds = list(seed)
            if len(seeds) != self.num_envs or None in seeds:
                raise ArgumentError("seed", f"be one, or one for each of {self.num_envs} copies", seed)
            self._generators = [seeding.np_random(own)[0] for own in seeds]
        return self._start(episode)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        """Take an action in every copy; after the last step of an episode, start the next one instead."""
        _require_reset(started=self._episode >= 0)
        rewards, never = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
        if self._step == self._horizon:
            observed, info = self.reset()
            return observed, rewards, never, never.copy(), info
        taken, num_actions = as_array(actions), self.environment.spec.num_actions
        integers = taken.dtype.kind in "iu" and taken.shape == (self.num_envs,)
        if not integers or taken.min() < 0 or taken.max() >= num_actions:
            expected = f"be {self.num_envs} integers from 0 to {num_actions - 1}"
            raise ArgumentError("actions", expected, actions)
        rewards = self._take(taken)
        return self._observation(), rewards, never | (self._step == self._horizon), never, self._info()

    def _uniform(self) -> np.ndarray:
        return np.array([generator.random() for generator in self._generators])

    def _info(self) -> Info:
        """Return `info` with a value for each copy, marked as Gymnasium does."""
        values = super()._info()
        info: Info = {name: np.full(self.num_envs, value) for name, value in values.items()}
        return info | {f"_{name}": np.ones(self.num_envs, dtype=bool) for name in values}


def make_env(
    maker: str, *, observe: str = "state", render_mode: str | None = None, **parameters: Any
) -> LinearMdpEnv:
    """Return the environment of a maker of `driftwise.environments`; parts may be plain dictionaries."""
    return LinearMdpEnv(_build_by_name(maker, parameters), observe=observe, render_mode=render_mode)


def make_vector_env(
    maker: str,
    *,
    num_envs: int,
    observe: str = "state",
    max_episode_steps: int | None = None,
    **parameters: Any,
) -> LinearMdpVectorEnv:
    """Return copies as one vector environment; `max_episode_steps` can be the horizon alone."""
    environment = _build_by_name(maker, parameters)
    if max_episode_steps not in (None, environment.spec.horizon):
        expected = f"be the horizon, {environment.spec.horizon}, or left out"
        raise ArgumentError("max_episode_steps", expected, max_episode_steps)
    return LinearMdpVectorEnv(environment, num_envs, observe=observe)


def _build_by_name(maker: str, parameters: Info) -> LinearMdp:
    environment: Any = build_environment(require_choice("maker", maker, list(MAKERS.values())), **parameters)
    return environment


def _require_reset(*, started: bool) -> None:
    """Refuse to continue an episode that was not started, or is over."""
    if not started:
        raise gymnasium.error.ResetNeeded("reset must be called before an episode can go on")


def _register_id(name: str, maker: Callable[..., Environment]) -> None:
    """Register a linear MDP with Gymnasium; no other environment has an id."""
    own_id = f"driftwise/{name.title().replace('_', '')}-v0"
    if typing.get_type_hints(maker).get("return") is LinearMdp and own_id not in MAKERS:
        MAKERS[own_id] = name
        single, vector = "driftwise.gym:make_env", "driftwise.gym:make_vector_env"
        gymnasium.register(own_id, single, vector_entry_point=vector, kwargs={"maker": name})


ENVIRONMENTS.subscribe(_register_id)
