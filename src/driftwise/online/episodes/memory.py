"""Value iteration for states that cannot be counted: over the newest episodes, which are remembered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.base.agent import Wrapper
from driftwise.base.arrays import spd_inverse, write
from driftwise.base.part import count, member, part
from driftwise.base.random import choose
from driftwise.base.types import Episode, FeatureTable, Key, Moments, Plan, Sample, Spec, WeightFunction
from driftwise.base.validation import ArgumentError, require_kind
from driftwise.parts.exploration import Thompson, TruncatedThompson
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.least_squares import LeastSquares, doubted
from driftwise.parts.regression import empty_moments, linear


class Ring(NamedTuple):
    """Episodes that are remembered, each in a slot."""

    features: np.ndarray  # [H, L, d]
    rewards: np.ndarray  # [H, L]
    ahead: np.ndarray  # [H, L, A, d] of all actions in the state that followed

    @classmethod
    def empty(cls, spec: Spec, num_slots: int) -> Ring:
        """A ring that holds nothing yet."""
        lead = spec.horizon, num_slots
        ahead = np.zeros((*lead, spec.num_actions, spec.dim))
        return cls(np.zeros((*lead, spec.dim)), np.zeros(lead), ahead)

    def held(self, num_episodes: int) -> Ring:
        """The slots that were written to after so many episodes, which are the first ones: views."""
        return Ring(*(each[:, :num_episodes] for each in self))

    def written(self, slot: int, episode: Episode) -> Ring:
        """The ring with an episode in a slot, in place."""
        seen = episode.features, episode.rewards, episode.successors
        return Ring(*(write(old, (slice(None), slot), new) for old, new in zip(self, seen, strict=True)))


class Weighing(NamedTuple):
    """The weights that a memory gives to slots, and the sums with these weights."""

    clock: Moments  # a regression of 1 on the slots: its sums are the weights ω of their episodes
    sums: Moments  # of the regression of every step: Λ and Λ̃

    @property
    def weights(self) -> np.ndarray:
        """`ω` of each slot: `[L]`."""
        return self.clock.cross[..., 0, 1:]


class MemoryState(NamedTuple):
    """The newest L episodes, and how much each of them counts."""

    weighing: Weighing
    ring: Ring


class MemoryPlan(NamedTuple):
    """A plan that can be asked about any state; its tables are filled in for those that were met.

    Each step has one of them, with the number 0. The successors of its episodes are features `[H, A, d]`.
    """

    base: Any  # the `LeastSquares` that it is a plan of
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
    targets: Any = None  # [H, n] `r + V_{h+1}(s')` of the episodes that were remembered

    value = Plan.value
    residuals = Plan.residuals

    def values_ahead(self, successors: np.ndarray) -> np.ndarray:
        """`V_{h+1}` at the state that followed step h, 0 after the last: `[H]`."""
        return np.append(self.values[1:, 0], 0.0)

    def index_at(self, h: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Index and bonus in step h of actions with features `[N, d]`."""
        exploration, table, here = self.base.exploration, FeatureTable(rows), slice(h, h + 1)
        gram_sq = None if self.moments.gram_sq is None else self.moments.gram_sq[here]
        step = self.moments._replace(gram=self.moments.gram[here], gram_sq=gram_sq)
        if self.shift is None:
            bonus = exploration.perturb(self.inverse[here], step, table, self.key)[0]
        else:
            bonus = linear(table, self.shift[h])
        q = linear(table, self.weights[h]) + bonus
        doubt = exploration.doubt(self.inverse[here], step, table)
        return (q, bonus) if doubt is None else doubted(q, bonus, doubt[0], len(self.weights) - h)

    def values_at(self, h: int, rows: np.ndarray) -> np.ndarray:
        """Values in step h of states whose actions have features `[L, A, d]`: `[L]`."""
        index, _ = self.index_at(h, rows.reshape(-1, rows.shape[-1]))
        return self.base.clipped(index.reshape(rows.shape[:-1]).max(axis=-1), self.base.ceilings[h])

    def action(self, h: int, rows: np.ndarray, uniform: float) -> int:
        """The action in step h of a state whose actions have features `[A, d]`."""
        index, _ = self.index_at(h, rows)
        return choose(np.cumsum(self.base.exploration.policy(index)), uniform)

    def visited(self, actions: np.ndarray) -> MemoryPlan:
        """The plan with its tables for the states of each step: features `[H, A, d]`."""
        found = [self.index_at(h, rows) for h, rows in enumerate(actions)]
        q, bonus = (np.stack(each)[:, None] for each in zip(*found, strict=True))
        values = self.base.clipped(q.max(axis=-1), self.base.ceilings[:, None])
        return self._replace(bonus=bonus, q=q, policy=self.base.exploration.policy(q), values=values)


@part
class RememberedLeastSquares(Wrapper):
    """`base` over the newest `memory` episodes, for states that are known by their features alone.

    For `h = H … 1`, over the episodes τ that are remembered, with the weights ω of the base's forgetting:
    `w_h = Λ_h⁻¹ Σ_τ ω φ_τ (r_τ + V_{h+1}(s'_τ))`, `V_{h+1}(s') = clip(max_a Q_{h+1}(s', a))`. An episode that
    leaves the memory has weight 0 from then on, in all sums; `truncation_error` bounds the change.
    A plan costs `O(H · memory · A · d²)`.
    """

    base: LeastSquares = member(LeastSquares)
    memory: int = count()

    def __post_init__(self) -> None:
        forgetting = require_kind("base.forgetting", self.base.forgetting, WeightFunction)
        if isinstance(forgetting, SlidingWindow) and self.memory <= np.max(forgetting.length):
            least = int(np.max(forgetting.length)) + 1  # the newest is in before the oldest is out
            raise ArgumentError("memory", f"be at least {least} for {forgetting}", self.memory)

    def init(self, features: FeatureTable) -> MemoryState:
        return MemoryState(self.unweighed(), Ring.empty(self.spec, self.memory))

    def plan(self, state: MemoryState, features: FeatureTable, key: Key) -> Any:
        moments, weights = self.moments(state), np.zeros((self.spec.horizon, self.spec.dim))
        inverse, exploration, shift = spd_inverse(moments.gram), self.base.exploration, None
        if isinstance(exploration, (Thompson, TruncatedThompson)):  # linear in φ, drawn for all steps at once
            shift = exploration.perturb(inverse, moments, FeatureTable(np.eye(self.spec.dim)), key)
        held = state.ring.held(int(moments.tick))
        omega, targets = state.weighing.weights[: held.rewards.shape[1]], held.rewards.copy()
        plan = MemoryPlan(self.base, weights, inverse, moments, shift, key, targets=targets)
        for h in reversed(range(self.spec.horizon)):
            weights[h] = inverse[h] @ ((omega * targets[h]) @ held.features[h])
            if h > 0:
                targets[h - 1] += plan.values_at(h, held.ahead[h - 1])
        return plan

    def act(self, plan: Any, h: Any, state: Any, uniform: Any) -> Any:
        return plan.action(h, state, uniform)

    def update(self, state: MemoryState, features: FeatureTable, plan: Any, episode: Episode) -> MemoryState:
        slot = int(state.weighing.sums.tick) % self.memory
        weighing = self.weighed(state.weighing, slot, state.ring.features[:, slot], episode)
        return MemoryState(weighing, state.ring.written(slot, episode))

    def moments(self, state: MemoryState) -> Moments:
        """`Λ` and `Λ̃` of every step, sums over the episodes that are remembered."""
        return state.weighing.sums._replace(memory=())

    def unweighed(self) -> Weighing:
        """The weights before the first episode."""
        spec, forgetting, tick = self.spec, self.base.forgetting, _tick(0)
        nothing = np.zeros(spec.horizon)
        sample = Sample(np.zeros((spec.horizon, spec.dim)), nothing, nothing, nothing)
        uses = self.base.exploration.uses_gram_sq
        return Weighing(
            forgetting.init(empty_moments(tick, self.memory, 0.0, gram_sq=False), tick),
            forgetting.init(empty_moments(sample, 0, self.base.ridge, gram_sq=uses), sample),
        )

    def weighed(self, weighing: Weighing, slot: int, leaving: np.ndarray, episode: Episode) -> Weighing:
        """The weights after an episode has taken the slot of one with features `[H, d]`, which leaves.

        Norms of at most 1 leave rounding no room to grow: after n episodes `Λ` is off by `√n·L·1e-16` or so.
        """
        (clock, sums), weight = weighing, weighing.weights[slot]
        clock = clock._replace(cross=write(clock.cross.copy(), (0, 1 + slot), 0.0))
        if weight > 0:
            outer = leaving[:, :, None] * leaving[:, None]
            gram_sq = None if sums.gram_sq is None else sums.gram_sq - weight * weight * outer
            sums = sums._replace(gram=sums.gram - weight * outer, gram_sq=gram_sq)
        once = np.ones(len(leaving))
        sample = Sample(episode.features, episode.rewards, np.zeros_like(once), once)
        made = Weighing(*map(self.base.forgetting.update, (clock, sums), (_tick(slot), sample)))
        omega = made.weights
        return made._replace(sums=made.sums._replace(weight=omega.sum(), weight_sq=omega @ omega))


def _tick(slot: int) -> Sample:
    one = np.ones(())
    return Sample(np.ones(1), one, np.asarray(slot, dtype=np.int32), one)
