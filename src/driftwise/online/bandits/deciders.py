"""Deciders: an agent and its state, led through single events.

`Planned` leads any agent by its plans; `Direct` leads plain upper confidence bounds, and is faster; so do, in
files of their own, `Mixed` for mixtures of memories and `Sampled` for Thompson sampling by many draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree, mapped_or_nan
from driftwise.base.random import ACTING, PLANNING
from driftwise.base.types import Episode, FeatureTable, Key, Moments, Plan, Radius, Sample
from driftwise.online.bandits.anchored import LARGE, Anchored, Fresh, Written
from driftwise.online.limits import finite_plan, first_state, not_finite
from driftwise.parts.exploration import Ucb, tie_tolerance
from driftwise.parts.forgetting import (
    ExponentialWeights,
    NoForgetting,
    PeriodicRestart,
    RestartAt,
    SlidingWindow,
)
from driftwise.parts.least_squares import LeastSquares

ONLY_STATE = np.zeros(1, dtype=np.int32)  # of a bandit, once
TIE = tie_tolerance(np.dtype(np.float64))
# Of others nobody knows what they do to the gram.
FOLLOWED = ExponentialWeights | NoForgetting | PeriodicRestart | RestartAt | SlidingWindow
NUMBERS = {"ridge": float, "tick": int, "weight": float, "weight_sq": float, "epoch": int}  # of moments


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


class Direct:
    """Least squares with upper confidence bounds: `LeastSquares` for one state and one step.

    It has the same formulas without the axes of steps and states, and works in place if all that forgetting
    does is to shrink: three times as fast. Of many dimensions it has the inverse from an anchor. Tests hold
    it equal to the simulator, as they do for `Planned`.
    """

    def __init__(self, agent: LeastSquares, exploration: Ucb, draws: Draws) -> None:
        self.agent, self.draws = agent, draws
        state = first_state(agent, FeatureTable(np.zeros((1, agent.spec.dim))))
        self._radius = exploration.radius
        self._radius_at = self._radius.at if isinstance(self._radius, Radius) else None
        self._shrinks = isinstance(agent.forgetting, ExponentialWeights | NoForgetting)
        rate = agent.forgetting.rate if isinstance(agent.forgetting, ExponentialWeights) else 1.0
        dim = agent.spec.dim
        self._large = dim >= LARGE
        followed = self._large and isinstance(agent.forgetting, FOLLOWED)
        gram = Written(self._now)
        self._inverse = Anchored(gram, dim, agent.ridge) if followed else Fresh(gram)
        num = 1 if state.gram_sq is None else 2
        self._rate, self._rates = rate, np.array([rate, rate * rate])[:num, None, None]
        self._refills = (1 - self._rates) * agent.ridge * np.ones(dim)  # of diagonals
        sample = np.empty((1 if self._large else num, dim + 1))
        self._column, self._features, self._reward = sample.reshape(-1, 1), sample[:, :-1], sample[:, -1]
        if not self._large:  # then whole matrices are faster
            self._rates = np.tile(self._rates, (dim + 1, dim))
            self._refills = self._refills * np.eye(dim + 1, dim)
        self.state = state

    @property
    def state(self) -> Moments:
        arrays = {name: np.asarray(getattr(self._state, name), dtype=kind) for name, kind in NUMBERS.items()}
        return self._state._replace(**arrays)

    @state.setter
    def state(self, state: Moments) -> None:
        self._take(state)
        self._inverse.reset()

    def _take(self, state: Moments) -> None:
        """The state, in Python's numbers and one array of its own: Λ with b below it, and any Λ̃ behind."""
        num, dim = len(self._rates), len(state.gram[0])
        self._sums = sums = np.zeros((num, dim + 1, dim))
        grams, self._cross, gram_sq = sums[:, :dim], sums[0, dim], None
        self._gram, self._gram_sq = grams[0], None
        grams[:1], self._cross[:] = state.gram, state.cross[0, :, 0]
        if state.gram_sq is not None:
            gram_sq, self._gram_sq = grams[1:], grams[1]
            gram_sq[:] = state.gram_sq
        numbers = {name: kind(getattr(state, name)) for name, kind in NUMBERS.items()}
        cross = self._cross[None, :, None]
        self._state = state._replace(gram=grams[:1], gram_sq=gram_sq, cross=cross, **numbers)
        self._refilled, self._learnt = sums, sums.reshape(-1, dim)
        if self._large:
            self._refilled, self._learnt = sums.reshape(num, 1, -1)[:, :, :: dim + 1], sums

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        try:
            radius = self._radius if self._radius_at is None else self._radius_at(self._state)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        mapped = self._inverse.map(arms)
        if self._gram_sq is None:  # the norm of Λ⁻¹
            bonus = np.vecdot(mapped, arms)
        else:  # that of Λ⁻¹Λ̃Λ⁻¹
            bonus = np.vecdot(mapped.dot(self._gram_sq), mapped)
        bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)  # it may round to a little less than 0
        bonus *= radius
        index = mapped.dot(self._cross)
        index += bonus
        policy, sure = best_arms(index, self.agent)
        return Offer(arms, index, bonus, policy, policy, None, sure)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return offer.taken(arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        state, features, caution = self._state, choice.features, self.agent.caution
        share = None if caution is None else self._share(features, caution.alpha)
        if not self._shrinks:
            self._absorb(sample_of(features, reward, weight, share))
            return
        counted = weight if share is None else weight * share
        if counted != 1:  # a sample that counts n times is one that is √n times as large
            root = math.sqrt(counted)
            features, reward = root * features, root * reward
        rate = self._rate
        if rate != 1:
            self._sums *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
            self._refilled += self._refills
            self._inverse.shrunk(rate)
        self._features[:] = features
        self._reward.fill(reward)
        self._learnt += self._column.dot(features[None])
        self._inverse.added(features, 1.0)
        self._inverse.settle()
        gram, gram_sq, cross, ridge, tick, held, held_sq, epoch, memory, _ = state
        counts = tick + 1, rate * held + weight, rate * rate * held_sq + weight
        self._state = Moments(gram, gram_sq, cross, ridge, *counts, epoch, memory)

    def _absorb(self, sample: Sample) -> None:
        """Take in a sample where forgetting does more than to shrink."""
        leaving, epoch = self._leaving(), self._state.epoch
        self._take(self.agent.forgetting.update(self.state, sample))
        if self._state.epoch != epoch:
            self._inverse.reset()
        self._inverse.added(_enlarged(sample), 1.0)
        if leaving is not None:
            self._inverse.added(_enlarged(leaving), -1.0)
        self._inverse.settle()

    def _now(self) -> np.ndarray:
        return self._gram

    def _share(self, features: np.ndarray, alpha: float) -> float:
        """`w = min{1, α/‖φ‖}` in the norm of `Λ⁻¹`, before the sample is in it.

        From no anchor: sums are bit for bit the same after a restart, anchors are not.
        """
        squared = (mapped_or_nan(self._gram, features[None]) @ features).item()
        return alpha / max(math.sqrt(max(squared, 0.0)), alpha)

    def _leaving(self) -> Sample | None:
        """The sample that the next one puts out of a window."""
        window, memory = self.agent.forgetting, self._state.memory
        if not isinstance(window, SlidingWindow) or self._state.tick < window.length:
            return None
        slot = (self._state.tick - window.length) % window.num_slots
        return map_tree(lambda ring: ring[slot].copy(), memory.samples)


def sample_of(features: np.ndarray, reward: float, weight: float, share: float | None) -> Sample:
    """A sample of one step: the mean of so many rewards, each of which has a share."""
    part = None if share is None else np.array([share])
    return Sample(features[None], np.array([reward]), ONLY_STATE, np.array([weight]), part)


def _enlarged(sample: Sample) -> np.ndarray:
    """Features `[d]` that counted once say as much as the sample."""
    return np.sqrt(sample.weight) * sample.features[0]
