"""The fast form of least squares: upper confidence bounds, and Thompson sampling by many draws."""

import math
from functools import partial
from typing import Any

import numpy as np

from driftwise.base.arrays import invert_or_nan, map_tree, solve_rows_or_nan
from driftwise.base.random import draw_normal
from driftwise.base.types import Moments, Radius, Sample
from driftwise.online.deciders.anchors import MIN_ANCHORED_DIM, AnchoredInverse, RecentSamples, factorise
from driftwise.online.deciders.definition import Choice, Decider, Offer, RoundDraws, bandit_sample
from driftwise.online.deciders.memories import upper_bounds
from driftwise.online.limits import first_state, not_finite
from driftwise.parts import ExponentialWeights, LeastSquares, NoForgetting, SlidingWindow, Thompson, Ucb
from driftwise.parts.exploration import radius_at
from driftwise.parts.forgetting import PeriodicRestart, RestartAt

# Other forgettings may change the gram in ways that an anchor cannot follow.
_ANCHORED = ExponentialWeights | NoForgetting | PeriodicRestart | RestartAt | SlidingWindow
_NUMBERS = {"ridge": float, "tick": int, "weight": float, "weight_sq": float, "epoch": int}  # of moments


class LeastSquaresDecider(Decider):
    """`LeastSquares` for one state and one step, with `Ucb`, or with `Thompson` and `num_draws`.

    It has the same formulas without the axes of steps and states. Sums are updated in place where the
    forgetting only shrinks; in many dimensions bounds take the inverse from an anchor. Many draws have the
    distribution of those of `PlannedDecider`: an arm's probability is the share of draws that it wins.
    """

    def __init__(self, agent: LeastSquares, draws: RoundDraws, num_draws: int = 1) -> None:
        exploration = agent.exploration
        assert isinstance(exploration, Thompson | Ucb)
        self.agent, self.draws, self._num_draws = agent, draws, num_draws
        self._samples = isinstance(exploration, Thompson)
        self._radius: Any = exploration.scale if isinstance(exploration, Thompson) else exploration.radius
        self._radius_at = self._radius.at if isinstance(self._radius, Radius) else None
        state, dim = first_state(agent), agent.spec.dim
        shrinks = isinstance(agent.forgetting, ExponentialWeights | NoForgetting)
        self._in_place = shrinks and not self._samples
        self._rate = agent.forgetting.rate if isinstance(agent.forgetting, ExponentialWeights) else 1.0
        self._large = dim >= MIN_ANCHORED_DIM
        self._follows = self._large and not self._samples and isinstance(agent.forgetting, _ANCHORED)
        num = 1 if state.gram_sq is None else 2
        self._rates = np.array([self._rate, self._rate * self._rate])[:num, None, None]
        self._refills = (1 - self._rates) * agent.ridge * np.ones(dim)  # of diagonals
        sample = np.empty((1 if self._large else num, dim + 1))
        self._column, self._features, self._reward = sample.reshape(-1, 1), sample[:, :-1], sample[:, -1]
        if not self._large:  # then whole matrices are faster
            self._rates = np.tile(self._rates, (dim + 1, dim))
            self._refills = self._refills * np.eye(dim + 1, dim)
        self.state = state

    @property
    def state(self) -> Moments:
        arrays = {name: np.asarray(getattr(self._state, name), dtype=kind) for name, kind in _NUMBERS.items()}
        return self._state._replace(**arrays)

    @state.setter
    def state(self, state: Moments) -> None:
        self._write(state)
        self._anchored = self._new_anchors() if self._follows else None

    def _new_anchors(self) -> AnchoredInverse:
        """Return the inverse of the gram as it is now."""
        recent = RecentSamples(self.agent.spec.dim)
        return AnchoredInverse(lambda: partial(factorise, [self._gram.copy()]), recent, self.agent.ridge)

    def _write(self, state: Moments) -> None:
        """Copy the state into Python's numbers and one array: Λ with b below it, and any Λ̃ behind."""
        num, dim = len(self._rates), len(state.gram[0])
        self._sums = sums = np.zeros((num, dim + 1, dim))
        grams, self._cross, gram_sq = sums[:, :dim], sums[0, dim], None
        self._gram, self._gram_sq = grams[0], None
        grams[:1], self._cross[:] = state.gram, state.cross[0, :, 0]
        if state.gram_sq is not None:
            gram_sq, self._gram_sq = grams[1:], grams[1]
            gram_sq[:] = state.gram_sq
        numbers = {name: kind(getattr(state, name)) for name, kind in _NUMBERS.items()}
        cross = self._cross[None, :, None]
        self._state = state._replace(gram=grams[:1], gram_sq=gram_sq, cross=cross, **numbers)
        self._diagonals, self._products = sums, sums.reshape(-1, dim)
        if self._large:
            self._diagonals, self._products = sums.reshape(num, 1, -1)[:, :, :: dim + 1], sums

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        if self._samples:  # probabilities are the shares of draws that arms win
            dim, root_of = self.agent.spec.dim, self._gram if self._gram_sq is None else self._gram_sq
            try:
                size, root = radius_at(self._radius, self.state), np.linalg.cholesky(root_of)
            except (ArithmeticError, ValueError) as error:
                raise not_finite(self.agent) from error
            drawn = draw_normal(self.draws.key(number), self._num_draws * dim, np.float64).reshape(-1, dim)
            mapped = arms @ invert_or_nan(self._gram)
            bonus = (size * drawn) @ (mapped @ root).T  # a zᵀ Λ̃^(1/2)ᵀ Λ⁻¹ φ: [n, N]
            return Offer.of_shares(arms, mapped @ self._cross + bonus, bonus, self.agent)
        try:
            radius = self._radius if self._radius_at is None else self._radius_at(self._state)
        except (ArithmeticError, ValueError):  # Python's numbers have no "not a number"
            raise not_finite(self.agent) from None
        anchored = self._anchored
        mapped = solve_rows_or_nan(self._gram, arms) if anchored is None else anchored.anchor().map(arms)
        squares = np.vecdot(mapped, arms if self._gram_sq is None else mapped.dot(self._gram_sq))
        return Offer.of_best(arms, *upper_bounds(mapped.dot(self._cross), squares, radius), self.agent)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        state, features, share, caution = self._state, choice.features, None, self.agent.caution
        if caution is not None:  # by no anchor: sums are the same bits after a restart, anchors are not
            squared = (solve_rows_or_nan(self._gram, features[None]) @ features).item()
            share = caution.alpha / max(math.sqrt(max(squared, 0.0)), caution.alpha)  # min{1, α/‖φ‖}
        if not self._in_place:
            self._absorb(bandit_sample(features, reward, weight, share))
            return
        counted = weight if share is None else weight * share
        if counted != 1:  # a sample that counts n times is one that is √n times as large
            root = math.sqrt(counted)
            features, reward = root * features, root * reward
        rate, anchored = self._rate, self._anchored
        if rate != 1:
            self._sums *= self._rates  # Λ ← ηΛ + φφᵀ + (1−η)λI, Λ̃ with η², and b ← ηb + rφ
            self._diagonals += self._refills
        self._features[:] = features
        self._reward.fill(reward)
        self._products += self._column.dot(features[None])
        if anchored is not None:
            if rate != 1:
                anchored.shrink(rate)
            anchored.add(features, 1.0)
            anchored.settle()
        gram, gram_sq, cross, ridge, tick, weight_sum, weight_sq_sum, epoch, memory, _ = state
        counts = tick + 1, rate * weight_sum + weight, rate * rate * weight_sq_sum + weight
        self._state = Moments(gram, gram_sq, cross, ridge, *counts, epoch, memory)

    def _absorb(self, sample: Sample) -> None:
        """Learn a sample by the definition of the forgetting."""
        anchored, forgetting, state = self._anchored, self.agent.forgetting, self._state
        changes = [(np.sqrt(sample.weight) * sample.features[0], 1.0)]  # features that count once, and signs
        if anchored is not None and isinstance(forgetting, SlidingWindow) and state.tick >= forgetting.length:
            slot = (state.tick - forgetting.length) % forgetting.num_slots
            leaving: Sample = map_tree(lambda ring: ring[slot], state.memory.samples)
            changes.append((np.sqrt(leaving.weight) * leaving.features[0], -1.0))
        self._write(forgetting.update(self.state, sample))
        if anchored is not None and self._state.epoch != state.epoch:
            self._anchored = self._new_anchors()
        elif anchored is not None:
            for features, sign in changes:
                anchored.add(features, sign)
            anchored.settle()
