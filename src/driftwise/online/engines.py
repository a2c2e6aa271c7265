"""How an agent is led through single events: by its plans, or, where that is a matter of speed, directly."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import inverse_or_nan
from driftwise.base.random import ACTING, PLANNING
from driftwise.base.types import Episode, FeatureTable, Key, Moments, Plan, Radius, Sample
from driftwise.parts.exploration import Ucb, tie_tolerance
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import LeastSquares

NOTHING = np.zeros(1, dtype=np.int32)  # the one state of a bandit, once
ONCE = np.ones(1)
TIE = tie_tolerance(np.dtype(np.float64))


class Choice(NamedTuple):
    """A decision, with all that is learnt from when its reward comes."""

    arm: int
    value: float  # the arm's index
    bonus: float  # the part of it that is exploration
    features: np.ndarray  # [d] of the arm
    planned: tuple[FeatureTable, Plan] | None  # what `update` is given, if the agent learns by its plans


class Luck:
    """The random numbers of run 0 of a simulation with the same seed, by rounds."""

    def __init__(self, seed: int) -> None:
        run = random.fold(random.key(seed), 0)
        self._planning, self._acting = random.fold(run, PLANNING), random.fold(run, ACTING)

    def for_plan(self, number: int) -> Key:
        return random.LazyKey(self._planning, number)

    def for_action(self, number: int) -> Any:
        return random.uniform(random.fold(self._acting, number), 1, np.float64)[0]


class Engine(Protocol):
    """An agent with its state."""

    agent: Any
    state: Any

    def choose(self, arms: np.ndarray, number: int) -> Choice:
        """One of the arms `[num_arms, d]` in a round of that number, under `np.errstate(all="ignore")`."""
        ...

    def learn(self, choice: Choice, reward: float) -> None:
        """Take in the reward of a choice."""
        ...


def engine_of(agent: Agent, seed: int) -> Engine:
    """The faster one that leads this agent."""
    if isinstance(agent, LeastSquares) and isinstance(agent.exploration, Ucb):
        return Direct(agent, agent.exploration, Luck(seed))
    return Planned(agent, Luck(seed))


def looks_at_arms(agent: Agent) -> bool:
    """Whether it tells arms apart by their features, and not, say, by counting numbered actions."""
    three = FeatureTable(np.zeros((3, agent.spec.dim)))
    try:
        return agent.plan(agent.init(three), three, random.key(0)).q.shape == (1, 1, 3)
    except (AttributeError, IndexError, TypeError, ValueError):  # it expects another table
        return False


class Planned:
    """Any agent: `plan`, `act`, `update`."""

    def __init__(self, agent: Agent, luck: Luck) -> None:
        self.agent, self.luck = agent, luck
        self.state = agent.init(FeatureTable(np.zeros((1, agent.spec.dim))))

    def choose(self, arms: np.ndarray, number: int) -> Choice:
        try:
            table = FeatureTable(arms.copy())
            plan = self.agent.plan(self.state, table, self.luck.for_plan(number))
        except np.linalg.LinAlgError:
            raise not_finite(self.agent) from None
        if not np.isfinite(plan.q).all():
            raise not_finite(self.agent)
        arm = int(plan.policy[0, 0].argmax())
        if plan.policy[0, 0, arm] != 1:  # else nothing is left to chance
            arm = int(self.agent.act(plan, 0, 0, self.luck.for_action(number)))
        index, bonus = plan.q.item(0, 0, arm), plan.bonus.item(0, 0, arm)
        return Choice(arm, index, bonus, table.values[arm], (table, plan))

    def learn(self, choice: Choice, reward: float) -> None:
        taken = np.array([choice.arm], dtype=np.int32)
        episode = Episode(NOTHING, taken, choice.features[None], np.array([reward]), NOTHING)
        assert choice.planned is not None
        self.state = self.agent.update(self.state, *choice.planned, episode)


class Direct:
    """Least squares with upper confidence bounds: what `LeastSquares` does in one state and one step.

    The same formulas without the axes of steps and states, and in place if all that forgetting does is to
    shrink: three times as fast. Tests hold it equal to the simulator, as they do for `Planned`.
    """

    def __init__(self, agent: LeastSquares, exploration: Ucb, luck: Luck) -> None:
        self.agent, self.luck = agent, luck
        self._radius = exploration.radius
        self._radius_at = self._radius.at if isinstance(self._radius, Radius) else None
        self._shrinks = isinstance(agent.forgetting, ExponentialWeights | NoForgetting)
        rate = getattr(agent.forgetting, "rate", 1.0)
        rates = np.array([rate, rate * rate])[:, None, None]
        self._rate, self._rates = rate, np.tile(rates, (agent.spec.dim, agent.spec.dim))
        self._refills = (1 - rates) * agent.ridge * np.eye(agent.spec.dim)
        self.state = agent.init(FeatureTable(np.zeros((1, agent.spec.dim))))

    @property
    def state(self) -> Moments:
        state = self._state
        ridge, weight, weight_sq = map(np.asarray, (state.ridge, state.weight, state.weight_sq))
        tick, epoch = (np.asarray(each, dtype=np.int64) for each in (state.tick, state.epoch))
        return state._replace(ridge=ridge, tick=tick, weight=weight, weight_sq=weight_sq, epoch=epoch)

    @state.setter
    def state(self, state: Moments) -> None:
        """In arrays of its own, Λ and, if it is used, Λ̃ one after the other, and with Python's numbers."""
        num = 1 if state.gram_sq is None else 2
        self._grams = grams = np.concatenate([each for each in state[:num] if each is not None])
        self._gram, self._gram_sq = grams[0], grams[1] if num == 2 else None
        gram_sq, cross = grams[1:] if num == 2 else None, state.cross.copy()
        self._cross = cross[0, :, 0]
        self._state = Moments(
            gram=grams[:1],
            gram_sq=gram_sq,
            cross=cross,
            ridge=float(state.ridge),
            tick=int(state.tick),
            weight=float(state.weight),
            weight_sq=float(state.weight_sq),
            epoch=int(state.epoch),
            memory=state.memory,
        )
        self._rates, self._refills = self._rates[:num], self._refills[:num]

    def choose(self, arms: np.ndarray, number: int) -> Choice:
        radius = self._radius if self._radius_at is None else self._radius_at(self._state)
        mapped = arms.dot(inverse_or_nan(self._gram))
        if self._gram_sq is None:  # the norm of Λ⁻¹
            bonus = np.vecdot(mapped, arms)
        else:  # that of Λ⁻¹Λ̃Λ⁻¹
            bonus = np.vecdot(mapped.dot(self._gram_sq), mapped)
        bonus = np.sqrt(np.abs(bonus, out=bonus), out=bonus)  # it may round to a little less than 0
        bonus *= radius
        index = mapped.dot(self._cross)
        index += bonus
        arm = int(index.argmax())
        best = index.item(arm)
        if not math.isfinite(best):
            raise not_finite(self.agent)
        tied = index >= best - TIE * max(abs(best), 1.0)
        if np.count_nonzero(tied) > 1:
            arm = int(random.choose(np.cumulative_sum(tied.astype(float)), self.luck.for_action(number)))
        return Choice(arm, index.item(arm), bonus.item(arm), arms[arm].copy(), None)

    def learn(self, choice: Choice, reward: float) -> None:
        state, features = self._state, choice.features
        if not self._shrinks:
            sample = Sample(features[None], np.array([reward]), NOTHING, ONCE)
            self.state = self.agent.forgetting.update(self.state, sample)
            return
        grams, rate = self._grams, self._rate
        if rate != 1:
            grams *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, and Λ̃ with η²
            grams += self._refills
            self._cross *= rate
        grams += features[:, None] * features
        self._cross += reward * features
        gram, gram_sq, cross, ridge, tick, weight, weight_sq, epoch, memory = state
        counted = tick + 1, rate * weight + 1, rate * rate * weight_sq + 1
        self._state = Moments(gram, gram_sq, cross, ridge, *counted, epoch, memory)


def not_finite(agent: Agent) -> FloatingPointError:
    """The error of a decision that no number supports."""
    return FloatingPointError(
        "agent: its index is not finite; the ridge may be too small, or the radius too large, "
        f"for such features and rewards: {agent!r}"
    )
