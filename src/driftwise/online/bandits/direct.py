"""The fast decider of plain upper confidence bounds on least squares."""

from __future__ import annotations

import math

import numpy as np

from driftwise.base.arrays import map_tree, mapped_or_nan
from driftwise.base.types import FeatureTable, Moments, Radius, Sample
from driftwise.online.bandits.anchored import LARGE, Anchored, Fresh, Written, room
from driftwise.online.bandits.deciders import Choice, Draws, Offer, best_arms, sample_of
from driftwise.online.bandits.recent import Recent
from driftwise.online.limits import first_state, not_finite
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import (
    ExponentialWeights,
    NoForgetting,
    PeriodicRestart,
    RestartAt,
    SlidingWindow,
)
from driftwise.parts.least_squares import LeastSquares

# Of others nobody knows what they do to the gram.
FOLLOWED = ExponentialWeights | NoForgetting | PeriodicRestart | RestartAt | SlidingWindow
NUMBERS = {"ridge": float, "tick": int, "weight": float, "weight_sq": float, "epoch": int}  # of moments


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
        self._inverse = Anchored(gram, Recent(room(dim), dim), agent.ridge) if followed else Fresh(gram)
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
            return
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


def _enlarged(sample: Sample) -> np.ndarray:
    """Features `[d]` that counted once say as much as the sample."""
    return np.sqrt(sample.weight) * sample.features[0]
