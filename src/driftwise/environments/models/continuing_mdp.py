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
from driftwise.base.schema import AtLeastTwo, Count, Positive, Seed
from driftwise.base.types import Array, Episode, FeatureTable, Key, Spec, Variation
from driftwise.base.validation import ArgumentError, require_count, require_instance
from driftwise.environments.drift.curves import Drift, require_drift
from driftwise.environments.environment import (
    Carry,
    Environment,
    PlayedEpisode,
    Record,
    register_environment,
    require_models,
    require_path,
)
from driftwise.environments.mdps.sparse_rewards import river_anchors
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
        record = Record(reward, mean, inputs.optimal_values)
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


@register_environment
def two_state_switch(*, drift: Drift | None = None, rewards: RewardKind = "mean") -> ContinuingMdp:
    """One action stays and the other goes to the other state; the second anchor swaps them.

    State 1 pays 1 and state 0 nothing, whatever is done. Both anchors have diameter 1, but who stays, first
    with one action and then with the other, has a window in which neither seems to leave: optimism about such
    estimates sends nobody back. That is what widening the confidence sets is for.
    Reference: Cheung, Simchi-Levi & Zhu, "Reinforcement Learning for Non-Stationary Markov Decision
    Processes: The Blessing of (More) Optimism", ICML 2020, Proposition 3. The rewards are ours.
    """
    drift = require_drift(drift, 2, "the switch and the switch swapped")
    stay, go = np.eye(2), np.eye(2)[::-1]
    reward = np.array([[0.0, 0.0], [1.0, 1.0]])
    anchors = [(reward, np.stack(pair, axis=1)) for pair in ((stay, go), (go, stay))]
    return continuing_mdp(anchors[: drift.num_anchors], drift=drift, rewards=rewards)


@register_environment
def random_communicating_mdp(
    *,
    num_states: Count = 6,
    num_actions: Count = 2,
    drift: Drift | None = None,
    concentration: Positive = 0.3,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> ContinuingMdp:
    r"""Each anchor's kernel has rows drawn from $\mathrm{Dir}(\alpha 1_S)$, its mean rewards from $U[0,1]$.

    A small `concentration` $\alpha$ gives nearly deterministic transitions; states out of reach are refused.
    """
    drift = require_drift(drift)
    sizes = (num_states, num_actions)
    arguments = dict(num_states=num_states, num_actions=num_actions)
    require_models((*sizes, num_states * num_actions, 1), drift, **arguments)
    rng = np.random.default_rng(seed)
    anchors = [  # one after the other: the first is the same however many follow
        (rng.random(sizes), rng.dirichlet(np.full(num_states, concentration), size=sizes))
        for _ in range(drift.num_anchors)
    ]
    return continuing_mdp(anchors, drift=drift, rewards=rewards)


@register_environment
def continuing_river_swim(
    *, num_states: AtLeastTwo = 6, drift: Drift | None = None, rewards: RewardKind = "mean"
) -> ContinuingMdp:
    """The chain of `river_swim`, where the swimmer goes on from where it is; it starts at the left end.

    In a second anchor the river has turned, with the same gain and the same diameter.
    Reference: Strehl & Littman, "An Analysis of Model-Based Interval Estimation for Markov Decision
    Processes", 2008, with the numbers of Osband, Russo & Van Roy 2013. The turn is ours.
    """
    drift = require_drift(drift, 2, "the river and the river turned")
    require_models((num_states, 2, 2 * num_states, 1), drift, num_states=num_states)
    return continuing_mdp(river_anchors(num_states)[: drift.num_anchors], drift=drift, rewards=rewards)
