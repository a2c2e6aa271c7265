"""A drifting linear bandit: arms, a path of the parameter, and noise."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.types import Array, Episode, FeatureTable, Key, Spec, Variation
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_choice,
    require_kind,
    require_number,
)
from driftwise.environments.arms import Arms, Sampler
from driftwise.environments.environment import Carry, Environment, Played, Record
from driftwise.environments.models.sizes import require_path
from driftwise.environments.paths import ParameterPath
from driftwise.environments.registry import register

ARMS, NOISE = 0, 1  # below the purpose of the environment


class LinearBanditWorld(NamedTuple):
    """Arms, and what hides their rewards."""

    arms: Sampler
    example: FeatureTable  # the arms of some round
    noise_scale: Array
    coin_rewards: Array  # whether rewards are coins of the mean's bias; noise comes on top

    def begin(self, agent: Agent) -> Carry:
        return Carry(agent.init(self.example))

    def inputs(self, path: Array) -> Array:
        return path

    def advance(self, agent: Agent, carry: Carry, inputs: Array, run_key: Key, t: Any) -> Played:
        xp, theta, dtype = namespace(inputs), inputs, inputs.dtype
        for_environment, for_plan, for_action = random.keys_of(run_key, t)
        arms = self.arms.draw(random.fold(for_environment, ARMS))
        luck = random.uniform(random.fold(for_environment, NOISE), 3, dtype)
        noise = self.noise_scale * random.gaussian(luck[:1], luck[1:2])[0]

        plan = agent.plan(carry.state, arms, for_plan)
        start = xp.asarray(0, dtype=xp.int32)
        arm = agent.act(plan, 0, start, random.uniform(for_action, 1, dtype)[0])
        means = xp.sum(arms.values * theta, axis=-1)
        mean, features = means[arm], arms.values[arm]
        reward = xp.where(self.coin_rewards, xp.astype(luck[2] < mean, dtype), mean) + noise

        best = xp.max(means if arms.present is None else xp.where(arms.present, means, -xp.inf))
        record = Record(reward, xp.sum(plan.policy[0, 0] * means), best)
        episode = Episode(start[None], arm[None], features[None], reward[None], start[None])
        learnt = Carry(agent.update(carry.state, arms, plan, episode))
        return Played(carry.state, arms, plan, episode, record, learnt)


TOLERANCE = 1e-8  # of probabilities


@dataclass(frozen=True, eq=False, repr=False)
class LinearBandit(Environment):
    """A path of linear bandits: in round `t` an arm with features `x` pays `xᵀθ(t)` in the mean.

    Regret is exact: the best mean of the round's arms, less the mean of the policy's.

    Args:
      arms: the decision sets, from `driftwise.environments.arms`.
      path: the parameter of every round, from `driftwise.environments.paths`.
      rewards: `"gaussian"` adds noise of deviation `noise_scale`; `"bernoulli"` pays coins, for arms that
        are known beforehand and have means in [0, 1].
      name: what tables and files call it.
      config: how it was made, for manifests.
    """

    arms: Arms
    path: ParameterPath
    rewards: Literal["gaussian", "bernoulli"] = "gaussian"
    noise_scale: float = 1.0
    name: str = "linear_bandit"
    config: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_kind("arms", self.arms, Arms)
        require_kind("path", self.path, ParameterPath)
        require_choice("rewards", self.rewards, ("gaussian", "bernoulli"))
        scale = require_number("noise_scale", self.noise_scale, at_least=0)
        object.__setattr__(self, "noise_scale", scale)
        if self.path.dim != self.arms.dim:
            raise ArgumentError("path", f"have the arms' dimension {self.arms.dim}", self.path.dim)
        if self.rewards == "bernoulli" and self.arms.all_features is None:
            raise ArgumentError("rewards", "be 'gaussian' for arms that are drawn", self.rewards)

    def __repr__(self) -> str:
        return f"LinearBandit({self.name!r}, {self.spec}, path={self.path})"

    @property
    def spec(self) -> Spec:
        return Spec.bandit(dim=self.arms.dim, num_arms=self.arms.num_arms)

    @np.errstate(all="ignore")  # what is not finite is found
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """The parameter at the rounds `[T]`: `[T, d]`, checked; coins need means in [0, 1]."""
        episodes = np.asarray(episodes)
        if episodes.ndim != 1:
            raise ArgumentError("episodes", "be a list of rounds", episodes)
        theta = require_array("path", self.path.theta(episodes), (len(episodes), self.arms.dim))
        if self.rewards == "bernoulli":
            means = theta @ np.asarray(self.arms.all_features).T
            if means.min(initial=0.0) < -TOLERANCE or means.max(initial=0.0) > 1 + TOLERANCE:
                worst = means.flat[np.argmax(np.abs(means - 0.5))]
                raise ArgumentError("path", "give coins a bias in [0, 1]", worst, f"{worst:.6g}")
        return theta

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        """Rounds before `num_episodes` at which the parameter jumps."""
        return self.path.changes(num_episodes)

    @np.errstate(over="ignore")  # longer than any number, and refused by who needs it
    def variation(self, num_episodes: int) -> Variation:
        """`Σ_t ‖θ(t) − θ(t+1)‖` over the first `num_episodes` rounds."""
        theta = self.at(np.arange(require_path(num_episodes, width=3 * self.arms.dim)))
        moves = np.linalg.norm(np.diff(theta, axis=0), axis=-1)
        return Variation(moves, np.zeros_like(moves))

    def norm_bound(self, num_episodes: int) -> float:
        """`max_t ‖θ(t)‖` over the first `num_episodes` rounds: the `norm_bound` that recipes ask for."""
        theta = self.at(np.arange(require_path(num_episodes, width=2 * self.arms.dim)))
        return float(np.linalg.norm(theta, axis=-1).max())

    def world(self, dtype: Any = np.float64, *, needs: tuple[str, ...] = ()) -> LinearBanditWorld:
        """The environment as arrays."""
        if needs:
            raise ArgumentError("environment", f"have {' and '.join(needs)}, which the agent needs", self)
        sampler = self.arms.sampler(dtype)
        return LinearBanditWorld(
            arms=sampler,
            example=sampler.draw(random.key(0)),
            noise_scale=np.asarray(self.noise_scale if self.rewards == "gaussian" else 0.0, dtype=dtype),
            coin_rewards=np.asarray(self.rewards == "bernoulli"),
        )

    def digest(self) -> str:
        text = f"{self.arms!r} {self.path!r} {self.rewards} {self.noise_scale!r}"
        return hashlib.sha256(text.encode()).hexdigest()


@register
def linear_bandit(
    *,
    arms: Arms,
    path: ParameterPath,
    rewards: Literal["gaussian", "bernoulli"] = "gaussian",
    noise_scale: float = 1.0,
) -> LinearBandit:
    """Arms of `dw.arms`, a parameter's path of `dw.paths`, and noise or coins."""
    return LinearBandit(arms, path, rewards, noise_scale)
