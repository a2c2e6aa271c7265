"""A linear MDP as Gymnasium's environments play it: its path of models, and what they show of a state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec

from driftwise.base.types import Model
from driftwise.base.validation import require_choice, require_count, require_kind
from driftwise.environments import LinearMdp, planning

OBSERVATIONS = ("state", "step", "features")


class Observation(NamedTuple):
    """A space, and the point in it for a state, or for each of several, after so many steps."""

    space: gymnasium.Space
    of: Callable[[Any, int], Any]


def observation(environment: LinearMdp, observe: str) -> Observation:
    """The state; the pair of state and step; or the features of the state's actions, `[A, d]`."""
    require_choice("observe", observe, OBSERVATIONS)
    spec, features = environment.spec, environment.features
    if observe == "state":
        return Observation(gymnasium.spaces.Discrete(spec.num_states), lambda states, step: states)
    if observe == "step":
        space = gymnasium.spaces.MultiDiscrete([spec.num_states, spec.horizon + 1])
        return Observation(space, lambda states, step: np.stack([states, 0 * states + step], axis=-1))
    bound = max(1.0, float(np.abs(features).max()))  # norms are at most one, but for rounding
    space = gymnasium.spaces.Box(-bound, bound, features.shape[1:], np.float64)
    return Observation(space, lambda states, step: np.array(features[states]))


class Path:
    """The models of an environment, one episode at a time; before the first, `episode` is −1."""

    model: Model
    optimal_values: np.ndarray  # [S] exact, of the first step

    def __init__(self, environment: LinearMdp) -> None:
        self.environment: LinearMdp = require_kind("environment", environment, LinearMdp)
        self.episode = -1
        self._mixture: np.ndarray | None = None

    def episode_after(self, seed: Any, options: Mapping[str, Any] | None) -> int:
        """The episode that a reset starts: that of the options, the first with a seed, else the next."""
        given: Mapping[str, Any] = require_kind("options", {} if options is None else options, Mapping)
        for name in given:
            require_choice("options", name, ("episode",))
        following = self.episode + 1 if seed is None else 0
        return require_count("episode", given.get("episode", following), at_least=0)

    def go_to(self, episode: int) -> None:
        """Make the model of an episode, unless it is the one that is there."""
        mixture = self.environment.at(np.array([episode]))[0]
        if self._mixture is None or not np.array_equal(mixture, self._mixture):
            self.model = self.environment.model(episode)
            self.optimal_values = planning.optimal_values(self.environment.features, self.model)[0]
        self.episode, self._mixture = episode, mixture

    def info(self, step: int, optimal_value: Any) -> dict[str, Any]:
        """All that `info` holds after so many steps."""
        # not "episode", a key that Gymnasium's RecordEpisodeStatistics keeps for itself
        return {"episode_index": self.episode, "step": step, "optimal_value": optimal_value}


def with_horizon(spec: EnvSpec | None, horizon: int) -> EnvSpec | None:
    """A specification that says how long episodes are, which is not known when an id is registered."""
    return None if spec is None else dataclasses.replace(spec, max_episode_steps=horizon)


def require_reset(*, started: bool) -> None:
    """Refuse to go on with an episode that was not started, or is over."""
    if not started:
        raise gymnasium.error.ResetNeeded("reset must be called before an episode can go on")
