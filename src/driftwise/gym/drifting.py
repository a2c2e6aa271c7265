"""Environments of Gymnasium with a parameter that drifts from episode to episode."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_choice,
    require_count,
    suggest_name,
)
from driftwise.environments.drift.curves import Drift, require_drift

Info = dict[str, Any]
Setter = Callable[[Any, float], None]


class DriftingParameter(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """An environment one of whose parameters follows a drift: in episode t it is `Σ_j c_j(t) · values[j]`.

    `parameter` is the name of an attribute of the environment itself (without its wrappers), or a function
    that is called with it and the value, such as `set_slipperiness` or `set_cart_pole("length")`.

    The clock is that of `LinearMdpEnv`: every `reset` starts the next episode, `reset(seed=…)` starts over at
    episode 0, `reset(options={"episode": t})` goes anywhere. `info` has `episode_index` and the `parameter`.
    """

    def __init__(
        self, env: gymnasium.Env, parameter: str | Setter, values: Sequence[float], drift: Drift
    ) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, parameter=parameter, values=values, drift=drift)
        gymnasium.Wrapper.__init__(self, env)
        self._set = _attribute(env.unwrapped, parameter) if isinstance(parameter, str) else parameter
        if not callable(self._set):
            raise ArgumentError("parameter", "be the name of an attribute or a function", parameter)
        self._values = require_array("values", values, (None,))
        self._drift = require_drift(drift)
        if (num := len(self._values)) != self._drift.num_anchors:
            raise ArgumentError("drift", f"mix as many anchors as there are values ({num})", drift)
        self._episode = -1

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Any, Info]:
        """Start an episode: its parameter, then the environment's own reset."""
        remaining = dict(options or {})
        following = self._episode + 1 if seed is None else 0
        episode = require_count("episode", remaining.pop("episode", following), at_least=0)
        value = float(self._drift.mixture(np.array([episode]))[0] @ self._values)
        self._set(self.env.unwrapped, value)
        observation, info = self.env.reset(seed=seed, options=remaining or None)
        self._episode, self._info = episode, {"episode_index": episode, "parameter": value}
        return observation, info | self._info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Take an action in this episode."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, info | self._info


def set_cart_pole(name: str) -> Setter:
    """Return a setter of a number of CartPole, as `length` or `masspole`, and of all that depend on it."""

    def set_value(env: Any, value: float) -> None:
        _attribute(env, name)(env, value)
        env.total_mass = env.masspole + env.masscart
        env.polemass_length = env.masspole * env.length

    return set_value


def set_slipperiness(env: Any, value: float) -> None:
    """Set the probability with which a step on a slippery FrozenLake goes astray, to either side."""
    if not 0 <= value <= 1:
        raise ArgumentError("values", "be probabilities for a slippery lake", value, f"{value:g}")
    shares = (value / 2, 1 - value, value / 2)  # to one side, ahead, to the other side
    slippery = [ways for actions in env.P.values() for ways in actions.values() if len(ways) == 3]
    if not slippery:  # nothing leads on from holes and the goal, and on a dry lake only ahead
        got = f"{env}, where no step goes astray"
        raise ArgumentError("env", "be a lake made with is_slippery=True", env, got)
    for ways in slippery:
        ways[:] = [(share, *way[1:]) for share, way in zip(shares, ways, strict=True)]


def _attribute(env: Any, name: str) -> Setter:
    if not isinstance(getattr(env, name, None), (int, float)):
        numbers = [key for key, value in vars(env).items() if isinstance(value, (int, float))]
        got = f"{name!r}{suggest_name(name, numbers)}"
        raise ArgumentError("parameter", f"be a number of {env}", name, got)
    return lambda env, value: setattr(env, name, value)


def set_torque_sign(env: Any, value: float) -> None:
    """Multiply all torques of Acrobot by a number."""
    env.AVAIL_TORQUE = [value * torque for torque in type(env).AVAIL_TORQUE]


class ReadyDrift(NamedTuple):
    """A parameter of an environment, and two values that differ enough for a drift to matter."""

    parameter: str | Setter
    values: tuple[float, float]


READY_DRIFTS = {  # by environments and names
    "CartPole-v1": {
        "reversed": ReadyDrift("force_mag", (10.0, -10.0)),
        "length": ReadyDrift(set_cart_pole("length"), (0.5, 1.5)),
        "gravity": ReadyDrift("gravity", (9.8, 19.6)),
    },
    "MountainCar-v0": {
        "reversed": ReadyDrift("force", (0.001, -0.001)),
        "gravity": ReadyDrift("gravity", (0.0025, 0.003)),
        "force": ReadyDrift("force", (0.001, 0.0015)),
    },
    "Acrobot-v1": {
        "reversed": ReadyDrift(set_torque_sign, (1.0, -1.0)),
        "mass": ReadyDrift("LINK_MASS_2", (1.0, 1.5)),
        "length": ReadyDrift("LINK_LENGTH_1", (1.0, 1.5)),
    },
    "Pendulum-v1": {
        "gravity": ReadyDrift("g", (10.0, 5.0)),
        "mass": ReadyDrift("m", (1.0, 0.7)),
        "length": ReadyDrift("l", (1.0, 0.7)),
    },
    "FrozenLake-v1": {"slippery": ReadyDrift(set_slipperiness, (0.0, 0.5))},
    "LunarLander-v3": {"gravity": ReadyDrift("gravity", (-10.0, -5.0))},
}


def make_drifting(id: str, name: str, drift: Drift, **options: Any) -> DriftingParameter:
    """Make an environment of Gymnasium whose parameter follows a drift between the values of a ready one.

    ```python
    make_drifting("CartPole-v1", "reversed", Abrupt((40, 80), num_anchors=2), max_episode_steps=300)
    ```
    """
    ready = READY_DRIFTS[require_choice("id", id, list(READY_DRIFTS))]
    chosen = ready[require_choice("name", name, list(ready))]
    return DriftingParameter(gymnasium.make(id, **options), chosen.parameter, chosen.values, drift)
