"""A drifting MDP without episodes: tables of anchors that a curve mixes, and one walk through them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace
from driftwise.base.knowledge import Continuing, SharedSteps
from driftwise.base.types import Array, Episode, FeatureTable, Key, Spec, Variation
from driftwise.base.validation import ArgumentError, require_count, require_instance
from driftwise.environments.drift.curves import Drift
from driftwise.environments.environment import Carry, Environment, PlayedEpisode, Record, require_path
from driftwise.environments.models.linear_mdp import LinearMdp, ModelInputs, RewardKind, mix
from driftwise.environments.models.tabular import Tables, tabular_mdp
from driftwise.environments.planning import diameter, find_unreachable, optimal_gains
from driftwise.parts.regression import fixed_table


class ContinuingMdpArrays(NamedTuple):
    """Anchors of the models; a step is an episode of one step that starts where the last one ended."""

    example: FeatureTable  # the table of every step
    reward: Array  # [J, S, A]
    cumulative_kernel: Array  # [J, S, A, S]
    start: Array  # the first state
    coin_rewards: Array  # whether rewards are coins of the mean's bias

    def begin(self, agent: Agent) -> Carry:
        return Carry(agent.init(self.example), self.start)

    def inputs(self, path: Array) -> ModelInputs:
        return ModelInputs(path[:, :-1], path[:, -1])

    def advance(self, agent: Agent, carry: Carry, inputs: ModelInputs, run_key: Key, t: Any) -> PlayedEpisode:
        xp, dtype = namespace(self.reward), self.reward.dtype
        here: Array = carry.position
        for_environment, for_plan, for_action = random.episode_keys(run_key, t)
        plan = agent.plan(carry.state, self.example, for_plan)
        luck = random.draw_uniform(for_environment, 2, dtype)
        action = agent.act(plan, 0, here, random.draw_uniform(for_action, 1, dtype)[0])
        mean = mix(inputs.mixture, self.reward)[here, action]
        reward = xp.where(self.coin_rewards, xp.astype(luck[1] < mean, dtype), mean)
        successor = random.choose_index(mix(inputs.mixture, self.cumulative_kernel)[here, action], luck[0])
        features = self.example.values[here * self.reward.shape[-1] + action]
        episode = Episode(here[None], action[None], features[None], reward[None], successor[None])
        learnt = Carry(agent.update(carry.state, self.example, plan, episode), successor)
        record = Record(reward, mean, inputs.optimal)
        return PlayedEpisode(carry.state, self.example, plan, episode, record, learnt)


@dataclass(frozen=True, eq=False, repr=False)
class ContinuingMdp(Environment):
    """A path of communicating MDPs. A run is one walk through it; a step takes the place of an episode.

    Regret of a step, the best gain of its MDP less the mean reward of the action, may be negative: rewards
    can be had now at the price of others later. The anchors are `tables` as a linear MDP of one step with
    one-hot features, as `continuing_mdp` makes it.
    """

    tables: LinearMdp
    start: int = 0
    name: str = "continuing_mdp"
    config: Mapping[str, Any] = field(default_factory=dict)
    continuing = True

    def __post_init__(self) -> None:
        spec = require_instance("tables", self.tables, LinearMdp).spec
        one_hot = np.eye(spec.dim).reshape(spec.num_states, -1, spec.dim)
        if spec.horizon != 1 or not np.array_equal(self.tables.features, one_hot):
            raise ArgumentError("tables", "have one step and one-hot features", self.tables)
        if require_count("start", self.start, at_least=0) >= spec.num_states:
            raise ArgumentError("start", f"be a state from 0 to {spec.num_states - 1}", self.start)
        for anchor, kernel in enumerate(self._kernel):  # then every mixture of them is communicating too
            missing = find_unreachable(kernel)
            if missing is not None:
                got = f"no way from state {missing[0]} to state {missing[1]} in anchor {anchor}"
                raise ArgumentError("tables", "be communicating", self.tables, got)

    def __repr__(self) -> str:
        return f"ContinuingMdp({self.name!r}, {self.spec}, drift={self.tables.drift})"

    @property
    def spec(self) -> Spec:
        return self.tables.spec

    @property
    def _reward(self) -> np.ndarray:  # [J, S, A]
        return self.tables.theta.reshape(-1, self.spec.num_states, self.spec.num_actions)

    @property
    def _kernel(self) -> np.ndarray:  # [J, S, A, S]
        return self.tables.mu.reshape(*self._reward.shape, self.spec.num_states)

    def model(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean rewards `[S, A]` and probabilities `[S, A, S]` of step `t`."""
        theta, mu = self.tables.model(t)
        return theta.reshape(self._reward.shape[1:]), mu.reshape(self._kernel.shape[1:])

    def gains(self, episodes: np.ndarray) -> np.ndarray:
        """Return the best gain of the MDPs at the steps `[T]`."""
        mixtures, which = np.unique(self.tables.at(episodes), axis=0, return_inverse=True)
        gains = optimal_gains(_mixed(mixtures, self._reward), _mixed(mixtures, self._kernel))
        return gains.max(axis=-1)[which.reshape(-1)]  # all are equal, but for rounding

    def diameter(self, num_episodes: int) -> float:
        """Return the largest diameter of the MDPs of the first `num_episodes` steps."""
        steps = np.arange(require_path(num_episodes, width=2 * self.tables.drift.num_anchors))
        kernels = _mixed(np.unique(self.tables.at(steps), axis=0), self._kernel)
        return max(diameter(kernel) for kernel in kernels)

    def at(self, episodes: np.ndarray) -> np.ndarray:
        """Return the mixtures at the steps `[T]`, and in a last column their gains."""
        return np.concatenate([self.tables.at(episodes), self.gains(episodes)[:, None]], axis=1)

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return self.tables.changes(num_episodes)

    def variation(self, num_episodes: int) -> Variation:
        """Return `max_{s,a} |r_{t+1} − r_t|` and `max_{s,a} ‖p_{t+1} − p_t‖₁` of the first steps."""
        return self.tables.variation(num_episodes, norm="pairs")

    def to_arrays(self, dtype: Any = np.float64, *, needs: tuple[type, ...] = ()) -> ContinuingMdpArrays:
        self.require_known(needs, Continuing, SharedSteps)
        return ContinuingMdpArrays(
            example=fixed_table(self.tables.features, dtype),
            reward=self._reward.astype(dtype),
            cumulative_kernel=np.cumsum(self._kernel, axis=-1).astype(dtype),
            start=np.asarray(self.start, dtype=np.int32),
            coin_rewards=np.asarray(self.tables.rewards == "bernoulli"),
        )

    def digest(self) -> str:
        return f"{self.tables.digest()} from {self.start}"


def _mixed(mixtures: np.ndarray, anchors: np.ndarray) -> np.ndarray:
    """Return `Σ_j c_j anchors[j]` of each row: no matrix product, whose rounding depends on other rows."""
    shares = [np.multiply.outer(weights, anchor) for weights, anchor in zip(mixtures.T, anchors, strict=True)]
    return np.sum(shares, axis=0)


def continuing_mdp(
    anchors: Iterable[Tables], *, drift: Drift, start: int = 0, rewards: RewardKind = "mean"
) -> ContinuingMdp:
    """Return a continuing MDP of the mean rewards `[S, A]` and probabilities `[S, A, S]` of each anchor."""
    tables = tabular_mdp(anchors, horizon=1, initial="uniform", drift=drift, rewards=rewards)
    return ContinuingMdp(tables, start)
