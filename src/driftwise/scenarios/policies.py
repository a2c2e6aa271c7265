"""Algorithms of ours as policies."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.types import FeatureTable, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.scenarios.protocols import Context, Make, MdpContext, Reward, Trajectory

if TYPE_CHECKING:  # who lists scenarios needs no bandits
    from driftwise.online import Bandit


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
    """An agent of `driftwise.algorithms` as a policy of an MDP; it plans as in a run of a simulation."""

    def __init__(self, agent: Agent, run: int) -> None:
        self.agent = agent
        self.state: Any = None  # until it has seen features
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


def bandit_policy(algorithm: str, **options: Any) -> Make:
    """What makes policies of an online bandit with these options."""

    def make(spec: Spec, seed: int) -> BanditPolicy:
        from driftwise.online import Bandit

        if not _is_bandit(spec):
            raise ArgumentError("scenario", "be one of a bandit, for the policy of one", spec)
        return BanditPolicy(Bandit(algorithm, dim=spec.dim, seed=seed, **options))

    return make


def mdp_policy(algorithm: str, **options: Any) -> Make:
    """What makes policies of an agent for MDPs, which has the numbers of practice where none are given.

    Agents that need them know mean rewards, the measures of the anchors and the chances of first states.
    """

    def make(spec: Spec, seed: int) -> AgentPolicy:
        from driftwise.algorithms import build
        from driftwise.online.episodes.practice import with_practice

        if _is_bandit(spec):
            raise ArgumentError("scenario", "be one of an MDP, for the policy of one", spec)
        return AgentPolicy(build(spec, algorithm, **with_practice(algorithm, options, spec.horizon)), seed)

    return make


def _is_bandit(spec: Spec) -> bool:
    return spec.num_states == spec.horizon == 1
