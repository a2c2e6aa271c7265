"""Value iteration for states that cannot be counted: the newest episodes are kept, and values are of them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import spd_inverse, write
from driftwise.base.part import choice, member, number, part
from driftwise.base.random import choose
from driftwise.base.types import FeatureTable, Forgetting, Key, Moments, Plan, Sample, Spec
from driftwise.base.validation import ArgumentError, require_count
from driftwise.parts.exploration import Exploration, Thompson, TruncatedThompson
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.regression import empty_moments, linear


class VisitedEpisode(NamedTuple):
    """A trajectory by features. A step has one state, the one that was met, and its number is 0."""

    states: np.ndarray  # [H]
    actions: np.ndarray  # [H]
    features: np.ndarray  # [H, d]
    rewards: np.ndarray  # [H]
    successors: np.ndarray  # [H]
    ahead: np.ndarray  # [H, A, d] of all actions in the state that followed


class MemoryState(NamedTuple):
    """The newest L episodes, in a ring."""

    clock: Moments  # a regression of 1 on the slots: its sums are the weights ω of what they hold
    features: np.ndarray  # [H, L, d]
    rewards: np.ndarray  # [H, L]
    ahead: np.ndarray  # [H, L, A, d]


class MemoryPlan(NamedTuple):
    """A plan that can be asked about any state; its tables are filled in for those that were met."""

    maker: Any  # the `RememberedLeastSquares` that made it
    weights: np.ndarray  # [H, d]
    inverse: np.ndarray  # [H, d, d]
    moments: Moments
    shift: np.ndarray | None  # [H, d] a draw that is added to the weights
    key: Key
    bonus: Any = None  # [H, 1, A]
    q: Any = None
    policy: Any = None
    values: Any = None  # [H, 1]
    drawn: Any = None

    value = Plan.value
    values_ahead = Plan.values_ahead

    def index_at(self, h: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What actions with features `[N, d]` are chosen by in step h, and what of it is exploration."""
        exploration, table, here = self.maker.exploration, FeatureTable(rows), slice(h, h + 1)
        gram_sq = None if self.moments.gram_sq is None else self.moments.gram_sq[here]
        step = self.moments._replace(gram=self.moments.gram[here], gram_sq=gram_sq)
        if self.shift is None:
            bonus = exploration.perturb(self.inverse[here], step, table, self.key)[0]
        else:
            bonus = linear(table, self.shift[h])
        q = linear(table, self.weights[h]) + bonus
        doubt = exploration.doubt(self.inverse[here], step, table)
        if doubt is not None:
            share = doubt[0]
            doubted = share * (len(self.weights) - h) + (1 - share) * q
            q, bonus = doubted, bonus + (doubted - q)
        return q, bonus

    def visited(self, actions: np.ndarray) -> MemoryPlan:
        """With the tables for the states of each step: features `[H, A, d]`."""
        found = [self.index_at(h, rows) for h, rows in enumerate(actions)]
        q, bonus = (np.stack(each)[:, None] for each in zip(*found, strict=True))
        values = np.stack([self.maker.clipped(h, each.max(axis=-1)) for h, each in enumerate(q)])
        return self._replace(bonus=bonus, q=q, policy=self.maker.exploration.policy(q), values=values)


@part
class RememberedLeastSquares(Agent):
    """`LeastSquares` over the newest `memory` episodes, for states that are known by their features alone.

    For `h = H … 1`, over the episodes τ that are remembered, with the weights ω of `forgetting`:
    `w_h = Λ_h⁻¹ Σ_τ ω φ_τ (r_τ + V_{h+1}(s'_τ))`, `V_{h+1}(s') = clip(max_a Q_{h+1}(s', a))`. What leaves the
    memory has weight 0 from then on, in all sums; `truncation_error` says what that changes.
    A plan costs `O(H · memory · A · d²)`.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    exploration: Exploration = member(Exploration)
    memory: int
    ridge: Any = number(above=0, default=1.0)
    clip: Literal["paper", "tight", "range", "none"] = choice(
        "paper", "tight", "range", "none", default="paper"
    )

    def __post_init__(self) -> None:
        memory = require_count("memory", self.memory)
        if isinstance(self.forgetting, SlidingWindow) and memory <= np.max(self.forgetting.length):
            least = int(np.max(self.forgetting.length)) + 1  # the newest is in before the oldest is out
            raise ArgumentError("memory", f"be at least {least} for {self.forgetting}", memory)

    def init(self, features: FeatureTable) -> MemoryState:
        horizon, num_actions, dim = self.spec.horizon, self.spec.num_actions, self.spec.dim
        sample = _tick(0)
        return MemoryState(
            clock=self.forgetting.init(empty_moments(sample, self.memory, 0.0, gram_sq=False), sample),
            features=np.zeros((horizon, self.memory, dim)),
            rewards=np.zeros((horizon, self.memory)),
            ahead=np.zeros((horizon, self.memory, num_actions, dim)),
        )

    def plan(self, state: MemoryState, features: FeatureTable, key: Key) -> Any:
        moments, weights = self.moments(state), np.zeros((self.spec.horizon, self.spec.dim))
        inverse = spd_inverse(moments.gram)
        shift = None
        if isinstance(
            self.exploration, (Thompson, TruncatedThompson)
        ):  # linear in φ, drawn for all steps at once
            shift = self.exploration.perturb(inverse, moments, FeatureTable(np.eye(self.spec.dim)), key)
        plan = MemoryPlan(self, weights, inverse, moments, shift, key)
        weighted = state.features * _weights(state)[:, None]
        values = np.zeros(self.memory)
        for h in reversed(range(self.spec.horizon)):
            weights[h] = inverse[h] @ (weighted[h].T @ (state.rewards[h] + values))
            if h > 0:
                index, _ = plan.index_at(h, state.ahead[h - 1].reshape(-1, self.spec.dim))
                values = self.clipped(h, index.reshape(self.memory, -1).max(axis=-1))
        return plan

    def act(self, plan: Any, h: Any, state: Any, uniform: Any) -> Any:
        index, _ = plan.index_at(h, state)
        return choose(np.cumsum(plan.maker.exploration.policy(index)), uniform)

    def update(self, state: MemoryState, features: FeatureTable, plan: Any, episode: Any) -> MemoryState:
        slot = int(state.clock.tick % self.memory)
        clock = state.clock._replace(cross=write(state.clock.cross.copy(), (0, 1 + slot), 0.0))
        return MemoryState(
            clock=self.forgetting.update(clock, _tick(slot)),
            features=write(state.features, (slice(None), slot), episode.features),
            rewards=write(state.rewards, (slice(None), slot), episode.rewards),
            ahead=write(state.ahead, (slice(None), slot), episode.ahead),
        )

    def moments(self, state: MemoryState) -> Moments:
        """`Λ` and `Λ̃` of every step, as sums over what is remembered."""
        ridge = self.ridge * np.eye(self.spec.dim)
        weights = _weights(state)
        weighted = state.features * weights[:, None]
        gram = np.swapaxes(weighted, 1, 2) @ state.features + ridge
        gram_sq = np.swapaxes(weighted, 1, 2) @ weighted + ridge if self.exploration.uses_gram_sq else None
        nothing = np.zeros((self.spec.horizon, self.spec.dim, 0))
        return state.clock._replace(
            gram=gram,
            gram_sq=gram_sq,
            cross=nothing,
            ridge=np.asarray(self.ridge),
            weight=weights.sum(),
            weight_sq=weights @ weights,
            memory=(),
        )

    def clipped(self, h: int, values: np.ndarray) -> np.ndarray:
        """Values of step h, cut as `clip` says."""
        if self.clip == "none":
            return values
        ceiling = self.spec.horizon - h if self.clip == "tight" else self.spec.horizon
        return np.clip(values, -np.inf if self.clip == "paper" else 0.0, ceiling)


def _tick(slot: int) -> Sample:
    one = np.ones(())
    return Sample(np.ones(1), one, np.asarray(slot, dtype=np.int32), one)


def _weights(state: MemoryState) -> np.ndarray:
    return state.clock.cross[0, 1:]
