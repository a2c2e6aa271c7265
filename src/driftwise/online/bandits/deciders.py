"""Deciders: an agent and its state, led through single events.

`Planned` leads any agent by its plans. Others, in files of their own, are faster: `Direct` for plain upper
confidence bounds, `Mixed` for mixtures of memories, `Sampled` for Thompson sampling by many draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.random import ACTING, PLANNING
from driftwise.base.types import Episode, FeatureTable, Key, Plan, Sample
from driftwise.online.limits import finite_plan, first_state, not_finite
from driftwise.parts.exploration import tie_tolerance

ONLY_STATE = np.zeros(1, dtype=np.int32)  # of a bandit, once
TIE = tie_tolerance(np.dtype(np.float64))


class Choice(NamedTuple):
    """A chosen arm, with all that is learnt from when its reward comes."""

    arm: int
    value: float  # the index by which the arm was chosen
    bonus: float  # the part of it that is exploration
    features: np.ndarray  # [d] of the arm, and behind them what else a decider needs of the offer
    planned: tuple[FeatureTable, Plan | None] | None  # arguments of `update`, as far as it needs them


class Offer(NamedTuple):
    """The arms of a round, and what the agent makes of them."""

    arms: np.ndarray  # [N, d]
    scores: np.ndarray  # [N] the indices
    bonus: np.ndarray  # [N] the part of the index that is exploration
    policy: np.ndarray  # [N] probabilities that the arm is drawn with
    chances: np.ndarray  # [N] the same before the agent's own draws, where these can be summed over
    planned: tuple[FeatureTable, Sequence[Plan]] | None  # what the arm's plan is chosen from
    sure: int | None = None  # the arm that is drawn, where nothing is left to chance

    def with_floor(self, epsilon: float) -> Offer:
        """The offer where, with probability ε, any arm is drawn instead."""
        floor = epsilon / len(self.arms)
        policy, chances = ((1 - epsilon) * each + floor for each in (self.policy, self.chances))
        return self._replace(policy=policy, chances=chances, sure=None)

    def taken(self, arm: int) -> Choice:
        """The choice of an arm whose features are all that is learnt from."""
        return Choice(arm, self.scores.item(arm), self.bonus.item(arm), self.arms[arm].copy(), None)


class Draws:
    """Random numbers of run 0 of a simulation with the same seed, by rounds."""

    def __init__(self, seed: int) -> None:
        run = random.fold(random.key(seed), 0)
        self._planning, self._acting = random.fold(run, PLANNING), random.fold(run, ACTING)

    def key(self, number: int) -> Key:
        """The key of a round's plan."""
        return random.LazyKey(self._planning, number)

    def uniform(self, number: Any) -> Any:
        """The uniform number that the action of a round, or of each round, is drawn with."""
        return random.uniform(random.fold(self._acting, number), 1, np.float64)[..., 0]

    def arm(self, policy: np.ndarray, number: int) -> int:
        """The arm of a round, drawn from a policy."""
        return int(random.choose(np.cumulative_sum(policy), self.uniform(number)))


class Decider(Protocol):
    """An agent with its state. `offer` and `learn` are called where NumPy warns of nothing (`silently`)."""

    agent: Any
    draws: Draws
    state: Any

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        """The arms `[num_arms, d]` of a round of that number.

        The time, in seconds, is there for agents that forget by the clock; others count rounds.
        """
        ...

    def choice(self, offer: Offer, arm: int) -> Choice:
        """The choice of an arm."""
        ...

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        """Take in the reward of a choice that was made at that time: the mean of so many rewards.

        A weight other than 1 is there for agents that take weights.
        """
        ...


def best_arms(index: np.ndarray, agent: Agent) -> tuple[np.ndarray, int | None]:
    """The policy that takes an arm of the highest index, ties at random, and the arm if there is no tie."""
    arm = int(index.argmax())  # with `item` faster than `max`; NaN is the largest of all
    best = index.item(arm)
    if not math.isfinite(best):
        raise not_finite(agent)
    least = best - TIE * max(abs(best), 1.0)
    index[arm] = -math.inf  # the next best is found sooner than all that are tied
    second, index[arm] = index.item(index.argmax()), best
    if second >= least:
        tied = index >= least
        return tied / np.count_nonzero(tied), None
    policy = np.zeros(len(index))
    policy[arm] = 1.0
    return policy, arm


def looks_at_arms(agent: Agent) -> bool:
    """Whether the agent tells arms apart by their features, and not, say, by counting numbered actions."""
    three = FeatureTable(np.zeros((3, agent.spec.dim)))
    try:
        return agent.plan(agent.init(three), three, random.key(0)).q.shape == (1, 1, 3)
    except (AttributeError, IndexError, TypeError, ValueError):  # it expects another table
        return False


def episode_of(choice: Choice, reward: float, weight: float) -> Episode:
    """A choice and its reward, the mean of so many, as an episode of one step."""
    taken, counts = np.array([choice.arm], dtype=np.int32), None if weight == 1 else np.array([weight])
    return Episode(ONLY_STATE, taken, choice.features[None], np.array([reward]), ONLY_STATE, counts)


class Planned:
    """Any agent: `plan`, `act`, `update`.

    With `num_draws` the agent plans that many times, each with draws of its own, and the arm is drawn from
    the mean of their policies: given the draws, that is its exact probability.
    """

    def __init__(self, agent: Agent, draws: Draws, num_draws: int = 1) -> None:
        self.agent, self.draws, self._num_draws = agent, draws, num_draws
        self.state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        table, key = FeatureTable(arms.copy()), self.draws.key(number)
        keys = [key] if self._num_draws == 1 else random.fold(key, np.arange(self._num_draws))
        plans = [finite_plan(self.agent, self.state, table, each) for each in keys]
        if len(plans) == 1:
            (plan,) = plans
            index, bonus, policy = (each[0, 0].copy() for each in (plan.q, plan.bonus, plan.policy))
            return Offer(arms, index, bonus, policy, self.agent.chances(plan, key), (table, plans))
        index, bonus, policy = (
            np.mean([getattr(plan, name)[0, 0] for plan in plans], axis=0)
            for name in ("q", "bonus", "policy")
        )
        return Offer(arms, index, bonus, policy, policy, (table, plans))

    def choice(self, offer: Offer, arm: int) -> Choice:
        assert offer.planned is not None
        table, plans = offer.planned
        plan = max(plans, key=lambda each: each.policy[0, 0, arm])  # one that would have taken the arm
        plan = plan._replace(policy=offer.policy.copy()[None, None])  # by which it was drawn, with any floor
        return Choice(arm, offer.scores.item(arm), offer.bonus.item(arm), table.values[arm], (table, plan))

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        assert choice.planned is not None
        table, plan = choice.planned
        assert plan is not None
        self.state = self.agent.update(self.state, table, plan, episode_of(choice, reward, weight))


def sample_of(features: np.ndarray, reward: float, weight: float, share: float | None) -> Sample:
    """A sample of one step: the mean of so many rewards, each of which has a share."""
    part = None if share is None else np.array([share])
    return Sample(features[None], np.array([reward]), ONLY_STATE, np.array([weight]), part)
