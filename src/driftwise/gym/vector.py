"""Linear MDPs as vector environments of Gymnasium: many copies, in step with each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from driftwise.base import random
from driftwise.base.types import Model
from driftwise.base.validation import ArgumentError, as_array, require_count
from driftwise.environments import LinearMdp
from driftwise.gym.path import Path, observation, require_reset, with_horizon


class LinearMdpVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many copies of a `LinearMdpEnv`, each step of all of them computed at once.

    All episodes are as long as the horizon, so that copies end together and share their clock. Seeds,
    observations, `info` and restarts (by the step after the last one) are those of Gymnasium's
    `SyncVectorEnv` around as many copies, and so are the trajectories.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(self, environment: LinearMdp, num_envs: int, *, observe: str = "state") -> None:
        self._path = Path(environment)
        self.environment = environment
        self.num_envs = require_count("num_envs", num_envs)
        spec = environment.spec
        self._observation = observation(environment, observe)
        self.single_observation_space = self._observation.space
        self.single_action_space = gymnasium.spaces.Discrete(spec.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._horizon, self._step = spec.horizon, 0
        self._generators = [seeding.np_random()[0] for _ in range(num_envs)]

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
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode of all copies: their first states, and `info`.

        Copy `i` has the seed `seed + i`, or the one at its place in a list.
        """
        episode = self._path.episode_after(seed, options)
        if seed is not None:
            seeds = (
                [int(seed) + i for i in range(self.num_envs)]
                if isinstance(seed, int | np.integer)
                else list(seed)
            )
            if len(seeds) != self.num_envs or None in seeds:
                raise ArgumentError("seed", f"be one, or one for each of {self.num_envs} copies", seed)
            self._generators = [seeding.np_random(own)[0] for own in seeds]
        self._path.go_to(episode)
        self._step = 0
        initial = np.broadcast_to(self.environment.initial, (self.num_envs, len(self.environment.initial)))
        self._states = self._draw(initial)
        self._optimal_values = self._path.optimal_values[self._states]
        return self._observed()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Take an action in every copy; after the last step of an episode, start the next one instead."""
        require_reset(started=self._path.episode >= 0)
        rewards, never = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
        if self._step == self._horizon:
            observed, info = self.reset()
            return observed, rewards, never, never.copy(), info
        phi = self.environment.features[self._states, self._checked(actions)]  # [copies, d]
        rewards = phi @ self.model.theta[self._step]
        if self.environment.rewards != "mean":
            rewards = (self._uniform() < rewards).astype(float)
        self._states = self._draw(phi @ self.model.mu[self._step])
        self._step += 1
        observed, info = self._observed()
        return observed, rewards, never | (self._step == self._horizon), never, info

    def _checked(self, actions: Any) -> np.ndarray:
        found, num_actions = as_array(actions), self.environment.spec.num_actions
        fitting = found.dtype.kind in "iu" and found.shape == (self.num_envs,)
        if not fitting or found.min() < 0 or found.max() >= num_actions:
            expected = f"be {self.num_envs} integers from 0 to {num_actions - 1}"
            raise ArgumentError("actions", expected, actions)
        return found

    def _uniform(self) -> np.ndarray:
        return np.array([generator.random() for generator in self._generators])

    def _draw(self, probabilities: np.ndarray) -> np.ndarray:
        return random.choose(np.cumsum(probabilities, axis=-1), self._uniform()).astype(np.int64)

    def _observed(self) -> tuple[np.ndarray, dict[str, Any]]:
        facts = self._path.info(self._step, self._optimal_values)
        info: dict[str, Any] = {name: np.full(self.num_envs, value) for name, value in facts.items()}
        there = {f"_{name}": np.ones(self.num_envs, dtype=bool) for name in facts}  # as Gymnasium marks it
        return self._observation.of(self._states, self._step), info | there
