"""A drifting bandit: arms, a path of the parameter, a link, and the kind of rewards."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.part import require_single
from driftwise.base.types import Array, Episode, FeatureTable, Key, Spec, Variation
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_choice,
    require_kind,
    require_number,
)
from driftwise.environments.arms import Arms, Sampler
from driftwise.environments.corruption import Corruption
from driftwise.environments.environment import Carry, Environment, Played, Record
from driftwise.environments.models.sizes import require_path
from driftwise.environments.paths import ParameterPath
from driftwise.environments.registry import register
from driftwise.parts.links import Link, LinkName, link_of

ARMS, NOISE, CORRUPTION = 0, 1, 2  # below the purpose of the environment
RewardKind = Literal["gaussian", "bernoulli", "poisson"]
LARGEST_MEAN = 50.0  # of a count
LARGEST_COUNT = 200  # of that mean: fifteen standard deviations more have a chance below 1e-40


class Round(NamedTuple):
    """A round before anybody plays it, or many of them: leaves `[..., …]`."""

    arms: FeatureTable
    luck: Array  # [..., 3] uniform numbers that make a reward of a mean
    chance: Array | None  # [...] of a corruption


class LinearBanditWorld(NamedTuple):
    """Arms, and what hides their rewards."""

    arms: Sampler
    example: FeatureTable  # the arms of some round
    noise_scale: Array
    coin_rewards: Array  # whether rewards are coins of the mean's bias; noise comes on top
    link: Link
    log_factorials: Array | None  # of 0, 1, …, if rewards are counts
    corruption: Corruption | None

    def begin(self, agent: Agent) -> Carry:
        state = agent.init(self.example)
        return Carry(state) if self.corruption is None else Carry(state, 0 * self.noise_scale)

    def inputs(self, path: Array) -> Array:
        return path

    def draw(self, key: Key) -> Round:
        """What chance makes of a round, given the environment's key; of many, given theirs `[..., 2]`."""
        dtype, chance = self.noise_scale.dtype, None
        if self.corruption is not None:
            chance = random.uniform(random.fold(key, CORRUPTION), 1, dtype)[..., 0]
        luck = random.uniform(random.fold(key, NOISE), 3, dtype)
        return Round(self.arms.draw(random.fold(key, ARMS)), luck, chance)

    def means(self, arms: FeatureTable, theta: Array) -> Array:
        """Mean rewards of arms `[..., A, d]` under parameters `[..., d]`: `[..., A]`."""
        return self.link.mean(namespace(theta).sum(arms.values * theta[..., None, :], axis=-1))

    def reward(self, mean: Array, luck: Array) -> Array:
        """Rewards of arms with means `[...]`, given the luck of their rounds, `[..., 3]`."""
        xp, dtype = namespace(luck), luck.dtype
        if self.log_factorials is not None:
            more = luck[..., 2:] >= poisson_cdf(mean[..., None], self.log_factorials)
            return xp.sum(xp.astype(more, dtype), axis=-1)
        noise = self.noise_scale * random.gaussian(luck[..., 0], luck[..., 1])
        return xp.where(self.coin_rewards, xp.astype(luck[..., 2] < mean, dtype), mean) + noise

    def advance(self, agent: Agent, carry: Carry, inputs: Array, run_key: Key, t: Any) -> Played:
        xp, theta, dtype = namespace(inputs), inputs, inputs.dtype
        for_environment, for_plan, for_action = random.keys_of(run_key, t)
        arms, luck, chance = self.draw(for_environment)

        plan = agent.plan(carry.state, arms, for_plan)
        start = xp.asarray(0, dtype=xp.int32)
        arm = agent.act(plan, 0, start, random.uniform(for_action, 1, dtype)[0])
        means = self.means(arms, theta)
        mean, features = means[arm], arms.values[arm]
        reward = self.reward(mean, luck)

        best = xp.max(means if arms.present is None else xp.where(arms.present, means, -xp.inf))
        spent = carry.position
        if self.corruption is not None:
            seen = self.corruption.corrupt(reward, mean >= best, spent, chance)
            reward, spent = seen, spent + xp.abs(seen - reward)
        record = Record(reward, xp.sum(plan.policy[0, 0] * means), best)
        episode = Episode(start[None], arm[None], features[None], reward[None], start[None])
        learnt = Carry(agent.update(carry.state, arms, plan, episode), spent)
        return Played(carry.state, arms, plan, episode, record, learnt)


def poisson_cdf(mean: Array, log_factorials: Array) -> Array:
    """`P(count ≤ k)` for each k that has a factorial in the table, given means `[..., 1]`."""
    xp = namespace(log_factorials)
    counts = xp.arange(len(log_factorials), dtype=log_factorials.dtype)
    log_mean = xp.log(xp.maximum(mean, xp.asarray(1e-30, dtype=mean.dtype)))  # 0 log 0 = 0
    return xp.cumulative_sum(xp.exp(counts * log_mean - mean - log_factorials), axis=-1)


TOLERANCE = 1e-8  # of probabilities


@dataclass(frozen=True, eq=False, repr=False)
class LinearBandit(Environment):
    """A path of linear bandits: in round `t` an arm with features `x` pays `μ(xᵀθ(t))` in the mean.

    Regret is exact: the best mean of the round's arms, less the mean of the policy's.

    Args:
      arms: the decision sets, from `driftwise.environments.arms`.
      path: the parameter of every round, from `driftwise.environments.paths`.
      rewards: `"gaussian"` adds noise of deviation `noise_scale`; `"bernoulli"` pays coins of the mean's
        bias, and `"poisson"` counts of that mean, at most 50. Without a link they need arms that are known
        beforehand.
      link: μ: `"identity"`, `"logistic"` (clicks) or `"log"` (counts, `‖θ‖ ≤ log 50`).
      name: what tables and files call it.
      config: how it was made, for manifests.
      corruption: an adversary of `driftwise.environments.corruption` who changes rewards on their way.
    """

    arms: Arms
    path: ParameterPath
    rewards: RewardKind = "gaussian"
    noise_scale: float = 1.0
    name: str = "linear_bandit"
    config: Mapping[str, Any] = field(default_factory=dict)
    link: LinkName = "identity"
    corruption: Corruption | None = None

    def __post_init__(self) -> None:
        require_kind("arms", self.arms, Arms)
        require_kind("path", self.path, ParameterPath)
        require_choice("rewards", self.rewards, get_args(RewardKind))
        link_of(self.link)
        if self.corruption is not None:
            require_single(require_kind("corruption", self.corruption, Corruption))
        scale = require_number("noise_scale", self.noise_scale, at_least=0)
        object.__setattr__(self, "noise_scale", scale)
        if self.path.dim != self.arms.dim:
            raise ArgumentError("path", f"have the arms' dimension {self.arms.dim}", self.path.dim)
        if self.rewards != "gaussian" and self.link == "identity" and self.arms.all_features is None:
            raise ArgumentError("rewards", "be 'gaussian' for arms that are drawn", self.rewards)
        if self.rewards == "bernoulli" and self.link == "log":
            raise ArgumentError("link", "be 'identity' or 'logistic' for coins", self.link)

    def __repr__(self) -> str:
        return f"LinearBandit({self.name!r}, {self.spec}, path={self.path})"

    @property
    def spec(self) -> Spec:
        return Spec.bandit(dim=self.arms.dim, num_arms=self.arms.num_arms)

    @np.errstate(all="ignore")  # what is not finite is found
    def at(self, episodes: np.ndarray) -> np.ndarray:
        """The parameter at the rounds `[T]`: `[T, d]`, checked; coins and counts need means that fit."""
        episodes = np.asarray(episodes)
        if episodes.ndim != 1:
            raise ArgumentError("episodes", "be a list of rounds", episodes)
        theta = require_array("path", self.path.theta(episodes), (len(episodes), self.arms.dim))
        if self.rewards != "gaussian" and self.link == "identity":
            means = theta @ np.asarray(self.arms.all_features).T
            most = 1.0 if self.rewards == "bernoulli" else LARGEST_MEAN
            if means.min(initial=0.0) < -TOLERANCE or means.max(initial=0.0) > most + TOLERANCE:
                worst = means.flat[np.argmax(np.abs(means - most / 2))]
                kind = "coins a bias" if self.rewards == "bernoulli" else "counts a mean"
                raise ArgumentError("path", f"give {kind} in [0, {most:g}]", worst, f"{worst:.6g}")
        if self.link == "log":
            longest = np.linalg.norm(theta, axis=-1).max(initial=0.0)
            if longest > math.log(LARGEST_MEAN) + TOLERANCE:
                raise ArgumentError(
                    "path", "have norms of at most log 50 for the log link", longest, f"{longest:.6g}"
                )
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
            link=link_of(self.link),
            log_factorials=_log_factorials(dtype) if self.rewards == "poisson" else None,
            corruption=self.corruption,
        )

    def digest(self) -> str:
        text = f"{self.arms!r} {self.path!r} {self.rewards} {self.noise_scale!r}"
        if self.link != "identity":
            text += f" {self.link}"
        if self.corruption is not None:
            text += f" {self.corruption!r}"
        return hashlib.sha256(text.encode()).hexdigest()


def _log_factorials(dtype: Any) -> np.ndarray:
    return np.array([math.lgamma(count + 1) for count in range(LARGEST_COUNT)], dtype=dtype)


@register
def linear_bandit(
    *,
    arms: Arms,
    path: ParameterPath,
    rewards: RewardKind = "gaussian",
    noise_scale: float = 1.0,
    link: LinkName = "identity",
    corruption: Corruption | None = None,
) -> LinearBandit:
    """Arms of `dw.arms`, a parameter's path of `dw.paths`, a link, and noise, coins or counts."""
    return LinearBandit(arms, path, rewards, noise_scale, link=link, corruption=corruption)
