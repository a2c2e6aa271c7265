"""The protocol of deciders and its definition, which leads an agent through single events by its plans."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.random import ACTING, PLANNING
from driftwise.base.types import Array, Episode, FeatureTable, Key, Plan, Sample, WaitingDecisions
from driftwise.online.limits import finite_plan, first_state, not_finite
from driftwise.parts.exploration import greedy_policy, tie_tolerance

Pair = tuple[np.ndarray, np.ndarray]  # a tuple with names takes longer to be made
_ONLY_STATE = np.zeros(1, dtype=np.int32)  # of a bandit, once
_TIE = tie_tolerance(np.dtype(np.float64))


class Choice(NamedTuple):
    """A chosen arm, with all that is learnt from when its reward comes."""

    arm: int
    value: float  # the index by which the arm was chosen
    bonus: float  # the part of it that is exploration
    features: np.ndarray  # [d] of the arm
    planned: tuple[FeatureTable, Plan] | None  # arguments of `update`, where a decider needs them


class Offer(NamedTuple):
    """The arms of a round with their indices and probabilities."""

    arms: np.ndarray  # [N, d]
    scores: np.ndarray  # [N] the indices
    bonus: np.ndarray  # [N] the part of the index that is exploration
    policy: np.ndarray  # [N] probabilities that the arm is drawn with
    chances: np.ndarray  # [N] the same before the agent's own draws, where these can be summed over
    planned: tuple[FeatureTable, Sequence[Plan]] | None = None  # what the arm's plan is chosen from
    sure: int | None = None  # the arm that is drawn, where nothing is left to chance

    @classmethod
    def of_best(cls, arms: Array, index: Array, bonus: Array, agent: Agent, unit: float = 1.0) -> Self:
        """Return the offer of an arm of the highest index, ties at random; rounding ties in this unit."""
        arm = int(index.argmax())  # with `item` faster than `max`; NaN is the largest of all
        best = index.item(arm)
        if not math.isfinite(best):
            raise not_finite(agent)
        least = best - _TIE * max(abs(best), unit)
        index[arm] = -math.inf  # the next best is found sooner than all that are tied
        second, index[arm] = index.item(index.argmax()), best
        if second >= least:
            tied = index >= least
            policy = tied / np.count_nonzero(tied)
            return cls(arms, index, bonus, policy, policy)
        policy = np.zeros(len(index))
        policy[arm] = 1.0
        return cls(arms, index, bonus, policy, policy, None, arm)

    @classmethod
    def of_shares(
        cls,
        arms: np.ndarray,
        index: np.ndarray,
        bonus: np.ndarray,
        agent: Agent,
        unit: float = 1.0,
        origin: float = 0.0,
    ) -> Self:
        """Return the offer whose probabilities are shares of draws that arms win, from indices `[n, N]`.

        Rounding ties in this unit; the origin is added to the indices afterwards.
        """
        if not np.isfinite(index).all():
            raise not_finite(agent)
        index, bonus, shares = (array.mean(axis=0) for array in (index, bonus, greedy_policy(index / unit)))
        return cls(arms, index + origin, bonus, shares, shares)

    def with_floor(self, epsilon: float) -> Self:
        """Return the offer in which any arm is drawn instead with probability ε."""
        floor = epsilon / len(self.arms)
        policy, chances = ((1 - epsilon) * shares + floor for shares in (self.policy, self.chances))
        return self._replace(policy=policy, chances=chances, sure=None)

    def choice(self, arm: int) -> Choice:
        """Return the choice of an arm."""
        arms, scores, bonus, policy, _, planned, _ = self
        if planned is not None:
            table, plans = planned
            plan = max(plans, key=lambda plan: plan.policy[0, 0, arm])  # one that would have taken the arm
            planned = table, plan._replace(policy=policy.copy()[None, None])  # as drawn, with any floor
        return Choice(arm, scores.item(arm), bonus.item(arm), arms[arm].copy(), planned)


class RoundDraws:
    """Random numbers of run 0 of a simulation with the same seed, by rounds."""

    def __init__(self, seed: int) -> None:
        run = random.fold(random.key(seed), 0)
        self._planning, self._acting = random.fold(run, PLANNING), random.fold(run, ACTING)

    def key(self, number: int) -> Key:
        """Return the key of a round's plan."""
        return random.fold(self._planning, number)

    def uniform(self, number: Any) -> Any:
        """Return the uniform number that draws the action of a round, or one for each of many rounds."""
        return random.draw_uniform(random.fold(self._acting, number), 1, np.float64)[..., 0]

    def arm(self, policy: np.ndarray, number: int) -> int:
        """Draw the arm of a round from a policy."""
        return int(random.choose_index(np.cumulative_sum(policy), self.uniform(number)))


class Decider(Protocol):
    """An agent with its state. `offer` and `learn` are called by `run_silently`: NumPy warns of nothing."""

    agent: Any
    draws: RoundDraws
    state: Any

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        """Return the indices and probabilities of the arms `[num_arms, d]` in a round; time is in seconds.

        Agents with `counts_waiting` may be given sums of those that wait, as in `WaitingDecisions`.
        """
        ...

    def expect(self, choice: Choice) -> None:
        """Prepare for a choice that waits, after which offers only read; nothing to do by default."""
        return

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        """Learn a choice's mean of `weight` rewards, 1 except for agents with `takes_counts`."""

    def learn_many(self, choices: Sequence[Choice], rewards: Sequence[float], times: Sequence[float]) -> None:
        """Learn rewards that came together, the oldest first; here one after another."""
        for choice, reward, time in zip(choices, rewards, times, strict=True):
            self.learn(choice, reward, time)


class PlannedDecider(Decider):
    """The definition, for any agent: `plan`, `act`, `update`, with the mean policy of `num_draws` plans."""

    def __init__(self, agent: Agent, draws: RoundDraws, num_draws: int = 1) -> None:
        self.agent, self.draws, self._num_draws = agent, draws, num_draws
        self.state = first_state(agent)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        table, key = FeatureTable(arms.copy()), self.draws.key(number)
        seen = table if waiting is None else table.with_extras(WaitingDecisions(waiting))
        keys = [key] if self._num_draws == 1 else random.fold(key, np.arange(self._num_draws))
        plans = [finite_plan(self.agent, self.state, seen, plan_key) for plan_key in keys]
        if len(plans) == 1:
            plan = plans[0]
            index, bonus, policy = (array[0, 0].copy() for array in (plan.q, plan.bonus, plan.policy))
            chances = self.agent.action_probabilities(plan, key)
            return Offer(arms, index, bonus, policy, chances, (table, plans))
        names = "q", "bonus", "policy"
        index, bonus, policy = (np.mean([getattr(plan, n)[0, 0] for plan in plans], axis=0) for n in names)
        return Offer(arms, index, bonus, policy, policy, (table, plans))

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        assert choice.planned is not None
        table, plan = choice.planned
        taken, counts = np.array([choice.arm], dtype=np.int32), None if weight == 1 else np.array([weight])
        features, rewards = choice.features[None], np.array([reward])
        episode = Episode(_ONLY_STATE, taken, features, rewards, _ONLY_STATE, counts)
        self.state = self.agent.update(self.state, table, plan, episode)


def bandit_sample(features: np.ndarray, reward: float, weight: float, share: float | None) -> Sample:
    """Return a sample of one step: the mean of `weight` rewards, which all count with a share."""
    shares = None if share is None else np.array([share])
    return Sample(features[None], np.array([reward]), _ONLY_STATE, np.array([weight]), shares)
