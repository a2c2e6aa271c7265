"""Policies of scenarios: the protocols of what decides and learns, and our algorithms as policies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.types import Episode, FeatureTable, Plan, Spec
from driftwise.base.validation import ArgumentError

if TYPE_CHECKING:  # listing scenarios needs no bandits
    from driftwise.online import Bandit


class Context(NamedTuple):
    """The context of a round of a bandit."""

    number: int  # of the round, from 0; its reward has the same
    arms: np.ndarray  # [A, d]


class Reward(NamedTuple):
    """A reward, and the decision that earned it."""

    number: int  # of the round
    arms: np.ndarray  # [A, d], as they were offered
    arm: int
    value: float


class MdpContext(NamedTuple):
    """The context of an episode of an MDP."""

    number: int  # of the episode, from 0; its trajectory has the same
    features: np.ndarray  # [S, A, d]
    table: FeatureTable  # the same row by row, with mean rewards and what else is known


class Trajectory(NamedTuple):
    """An episode as it was played."""

    number: int
    episode: Episode


class ScenarioPolicy(Protocol):
    """A policy that decides and learns in a bandit.

    Rewards come in order, some late or never. What a policy does not pickle is lost where a scenario
    restarts.
    """

    def decide(self, context: Context) -> SupportsIndex:
        """Return the number of an arm."""
        ...

    def learn(self, reward: Reward) -> bool | None:
        """Learn from a reward; True is an alarm."""


class MdpPolicy(Protocol):
    """A policy that decides and learns in an MDP: a `ScenarioPolicy` with episodes as rounds."""

    def decide(self, context: MdpContext) -> np.ndarray:
        """Return the probabilities of all actions in every step and state, `[H, S, A]`."""
        ...

    def learn(self, trajectory: Trajectory) -> bool | None:
        """Learn from an episode; True is an alarm."""


PolicyMaker = Callable[[Spec, int], ScenarioPolicy | MdpPolicy]  # from the sizes of a problem and a seed


class BanditPolicy:
    """A `driftwise.online.Bandit` as a policy."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit, self.detects = bandit, "alarms" in bandit.diagnostics()

    def decide(self, context: Context) -> int:
        time = float(context.number)  # a round is a second
        return self.bandit.decide(context.arms, id=context.number, time=time).arm

    def learn(self, reward: Reward) -> bool | None:
        self.bandit.learn(reward.number, reward.value)
        return self.bandit.diagnostics()["alarms"] > 0 if self.detects else None


class AgentPolicy:
    """An agent of `driftwise.algorithms` as a policy of an MDP; it plans as in a simulation."""

    def __init__(self, agent: Agent, run: int) -> None:
        self.agent = agent
        self.state: Any = None  # until it has features
        self._key = random.fold(random.fold(random.key(0), run), random.PLANNING)
        self._waiting: deque[tuple[int, FeatureTable, Plan]] = deque()

    def decide(self, context: MdpContext) -> np.ndarray:
        if self.state is None:
            self.state = self.agent.init(context.table)
        plan = self.agent.plan(self.state, context.table, random.LazyKey(self._key, context.number))
        self._waiting.append((context.number, context.table, plan))
        return plan.policy

    def learn(self, trajectory: Trajectory) -> bool | None:
        number, table, plan = self._waiting.popleft()
        while number < trajectory.number:  # those between are lost
            number, table, plan = self._waiting.popleft()
        self.state = self.agent.update(self.state, table, plan, trajectory.episode)
        alarms = self.agent.diagnostics(self.state).get("alarms")
        return None if alarms is None else bool(alarms > 0)


def bandit_policy(algorithm: str, **options: Any) -> PolicyMaker:
    """Return a maker of policies, each an online bandit with these options."""

    def make(spec: Spec, seed: int) -> BanditPolicy:
        from driftwise.online import Bandit

        if not _is_bandit(spec):
            raise ArgumentError("scenario", "be one of a bandit, for the policy of one", spec)
        return BanditPolicy(Bandit(algorithm, dim=spec.dim, seed=seed, **options))

    return make


def mdp_policy(algorithm: str, **options: Any) -> PolicyMaker:
    """Return a maker of policies, each an agent for MDPs with the default parameters of `EpisodicAgent`."""

    def make(spec: Spec, seed: int) -> AgentPolicy:
        from driftwise.algorithms import build
        from driftwise.online.episodes.agent_building import with_defaults

        if _is_bandit(spec):
            raise ArgumentError("scenario", "be one of an MDP, for the policy of one", spec)
        return AgentPolicy(build(spec, algorithm, **with_defaults(algorithm, options, spec.horizon)), seed)

    return make


def _is_bandit(spec: Spec) -> bool:
    return spec.num_states == spec.horizon == 1
