"""A drifting bandit: arms, a path of the parameter, a link, the kind of rewards, and their corruption."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.part import number, part, require_single
from driftwise.base.schema import NonNegative, apply_checks
from driftwise.base.types import Array, Episode, FeatureTable, Key, Spec, Variation
from driftwise.base.validation import ArgumentError, require_array, require_instance
from driftwise.environments.arms import Arms, Sampler
from driftwise.environments.environment import Carry, Environment, PlayedEpisode, Record, require_path
from driftwise.environments.paths import ParameterPath
from driftwise.parts import Link, link_from_name
from driftwise.parts.links import LinkName

ARMS, NOISE, CORRUPTION = 0, 1, 2  # below the purpose of the environment
BanditRewards = Literal["gaussian", "bernoulli", "poisson"]
_LARGEST_MEAN = 50.0  # of a count
_TOLERANCE = 1e-8  # of probabilities
_LARGEST_COUNT = 200  # of that mean: fifteen standard deviations more have a chance below 1e-40


class Corruption(ABC):
    """An adversary who sees the reward and the arm that earned it."""

    @abstractmethod
    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        """Return the reward seen; `best` marks best arms, `spent` is `Σ|c|` so far, `luck` uniform."""


@part
class SignFlips(Corruption):
    """The best arm's rewards with their signs flipped, as long as `Σ|c|` stays within the `budget`."""

    budget: float = number(at_least=0)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        xp = namespace(reward)
        return xp.where(best & (spent + 2 * xp.abs(reward) <= self.budget), -reward, reward)


@part
class WrongUnit(Corruption):
    """A share of the rewards, drawn at random, times a factor: cents for euros."""

    share: float = number(at_least=0, at_most=1)
    factor: float = number(default=100.0)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        return namespace(reward).where(luck < self.share, self.factor * reward, reward)


@part
class Mirrored(Corruption):
    """A share of the best arm's rewards r, drawn at random, as 1 − r: successes look like failures."""

    share: float = number(at_least=0, at_most=1)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        return namespace(reward).where(best & (luck < self.share), 1 - reward, reward)


class LinearBanditArrays(NamedTuple):
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

    def draw(self, key: Key) -> tuple[FeatureTable, Array]:
        """Draw the arms of a round, and the luck of their rewards; or of many rounds with keys `[..., 2]`."""
        luck = random.draw_uniform(random.fold(key, NOISE), 3, self.noise_scale.dtype)
        return self.arms.draw(random.fold(key, ARMS)), luck

    def means(self, arms: FeatureTable, theta: Array) -> Array:
        """Return mean rewards of arms `[..., A, d]` under parameters `[..., d]`: `[..., A]`."""
        return self.link.mean(namespace(theta).sum(arms.values * theta[..., None, :], axis=-1))

    def reward(self, mean: Array, luck: Array) -> Array:
        """Return the rewards of arms with means `[...]`, given the luck of their rounds, `[..., 3]`."""
        xp, dtype = namespace(luck), luck.dtype
        if self.log_factorials is not None:
            counts = xp.arange(len(self.log_factorials), dtype=dtype)
            log_mean = xp.log(xp.maximum(mean[..., None], xp.asarray(1e-30, dtype=mean.dtype)))  # 0 log 0 = 0
            chances = xp.exp(counts * log_mean - mean[..., None] - self.log_factorials)
            return xp.sum(xp.astype(luck[..., 2:] >= xp.cumulative_sum(chances, axis=-1), dtype), axis=-1)
        noise = self.noise_scale * random.box_muller(luck[..., 0], luck[..., 1])
        return xp.where(self.coin_rewards, xp.astype(luck[..., 2] < mean, dtype), mean) + noise

    def advance(self, agent: Agent, carry: Carry, inputs: Array, run_key: Key, t: Any) -> PlayedEpisode:
        xp, dtype = namespace(inputs), inputs.dtype
        for_environment, for_plan, for_action = random.episode_keys(run_key, t)
        arms, luck = self.draw(for_environment)
        plan = agent.plan(carry.state, arms, for_plan)
        start = xp.asarray(0, dtype=xp.int32)
        arm = agent.act(plan, 0, start, random.draw_uniform(for_action, 1, dtype)[0])
        means, spent = self.means(arms, inputs), carry.position
        mean, reward = means[arm], self.reward(means[arm], luck)
        best = xp.max(means if arms.present is None else xp.where(arms.present, means, -xp.inf))
        if self.corruption is not None:
            chance = random.draw_uniform(random.fold(for_environment, CORRUPTION), 1, dtype)[0]
            seen = self.corruption.corrupt(reward, mean >= best, spent, chance)
            reward, spent = seen, spent + xp.abs(seen - reward)
        record = Record(reward, xp.sum(plan.policy[0, 0] * means), best)
        episode = Episode(start[None], arm[None], arms.values[arm][None], reward[None], start[None])
        learnt = Carry(agent.update(carry.state, arms, plan, episode), spent)
        return PlayedEpisode(carry.state, arms, plan, episode, record, learnt)


@dataclass(frozen=True, eq=False, repr=False)
class LinearBandit(Environment):
    """A path of linear bandits: in round `t` an arm with features `x` pays `μ(xᵀθ(t))` in the mean.

    Args:
      arms: the decision sets, from `driftwise.environments.arms`.
      path: the parameter of every round, from `driftwise.environments.paths`.
      rewards: `"gaussian"` adds noise of deviation `noise_scale`; `"bernoulli"` pays coins of the mean's
        bias, and `"poisson"` counts of that mean, at most 50. Without a link they need arms known beforehand.
      link: μ: `"identity"`, `"logistic"` (clicks) or `"log"` (counts, `‖θ‖ ≤ log 50`).
      corruption: an adversary who changes rewards, such as `SignFlips`.
    """

    arms: Arms
    path: ParameterPath
    rewards: BanditRewards = "gaussian"
    noise_scale: NonNegative = 1.0
    name: str = "linear_bandit"
    config: Mapping[str, Any] = field(default_factory=dict)
    link: LinkName = "identity"
    corruption: Corruption | None = None

    def __post_init__(self) -> None:
        for name, value in apply_checks(LinearBandit, vars(self)).items():
            object.__setattr__(self, name, value)
        require_instance("arms", self.arms, Arms)
        require_instance("path", self.path, ParameterPath)
        if self.corruption is not None:
            require_single(require_instance("corruption", self.corruption, Corruption))
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
        """Return the parameter at the rounds `[T]`, `[T, d]`; coins and counts need means that fit."""
        episodes = np.asarray(episodes)
        if episodes.ndim != 1:
            raise ArgumentError("episodes", "be a list of rounds", episodes)
        theta = require_array("path", self.path.theta(episodes), (len(episodes), self.arms.dim))
        if self.rewards != "gaussian" and self.link == "identity":
            means = theta @ np.asarray(self.arms.all_features).T
            most = 1.0 if self.rewards == "bernoulli" else _LARGEST_MEAN
            if means.min(initial=0.0) < -_TOLERANCE or means.max(initial=0.0) > most + _TOLERANCE:
                worst = means.flat[np.argmax(np.abs(means - most / 2))]
                kind = "coins a bias" if self.rewards == "bernoulli" else "counts a mean"
                raise ArgumentError("path", f"give {kind} in [0, {most:g}]", worst, f"{worst:.6g}")
        if self.link == "log":
            longest = np.linalg.norm(theta, axis=-1).max(initial=0.0)
            if longest > math.log(_LARGEST_MEAN) + _TOLERANCE:
                expected = "have norms of at most log 50 for the log link"
                raise ArgumentError("path", expected, longest, f"{longest:.6g}")
        return theta

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return self.path.changes(num_episodes)

    @np.errstate(over="ignore")  # longer than any number, and refused by who needs it
    def variation(self, num_episodes: int) -> Variation:
        """Return the moves `‖θ(t) − θ(t+1)‖` of the first `num_episodes` rounds."""
        theta = self.at(np.arange(require_path(num_episodes, width=3 * self.arms.dim)))
        moves = np.linalg.norm(np.diff(theta, axis=0), axis=-1)
        return Variation(moves, np.zeros_like(moves))

    def norm_bound(self, num_episodes: int) -> float:
        """Return `max_t ‖θ(t)‖` over the first `num_episodes` rounds: the `norm_bound` of recipes."""
        theta = self.at(np.arange(require_path(num_episodes, width=2 * self.arms.dim)))
        return float(np.linalg.norm(theta, axis=-1).max())

    def to_arrays(self, dtype: Any = np.float64, *, needs: tuple[type, ...] = ()) -> LinearBanditArrays:
        self.require_known(needs)
        sampler, counts = self.arms.sampler(dtype), range(_LARGEST_COUNT if self.rewards == "poisson" else 0)
        return LinearBanditArrays(
            arms=sampler,
            example=sampler.draw(random.key(0)),
            noise_scale=np.asarray(self.noise_scale if self.rewards == "gaussian" else 0.0, dtype=dtype),
            coin_rewards=np.asarray(self.rewards == "bernoulli"),
            link=link_from_name(self.link),
            log_factorials=np.array([math.lgamma(k + 1) for k in counts], dtype=dtype) if counts else None,
            corruption=self.corruption,
        )

    def digest(self) -> str:
        text = f"{self.arms!r} {self.path!r} {self.rewards} {self.noise_scale!r}"
        text += "" if self.link == "identity" else f" {self.link}"
        text += "" if self.corruption is None else f" {self.corruption!r}"
        return hashlib.sha256(text.encode()).hexdigest()
