"""Value iteration for states that cannot be counted: over the newest episodes, which are remembered."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent, Wrapper
from driftwise.base.arrays import spd_inverse, write
from driftwise.base.part import count, member, part, points
from driftwise.base.random import choose
from driftwise.base.types import Episode, FeatureTable, Key, Moments, Plan, Sample
from driftwise.base.validation import ArgumentError, require_number
from driftwise.online.episodes.truncation import slots
from driftwise.parts.exploration import Thompson, TruncatedThompson
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.least_squares import LeastSquares, doubted
from driftwise.parts.regression import empty_moments, linear


class Held(NamedTuple):
    """Episodes that are remembered, as views of their ring."""

    weights: np.ndarray  # [n]
    features: np.ndarray  # [H, n, d]
    rewards: np.ndarray  # [H, n]
    ahead: np.ndarray  # [H, n, A, d]


class MemoryState(NamedTuple):
    """The newest L episodes, in a ring."""

    clock: Moments  # a regression of 1 on the slots: its sums are the weights ω of their episodes
    features: np.ndarray  # [H, L, d]
    rewards: np.ndarray  # [H, L]
    ahead: np.ndarray  # [H, L, A, d] of all actions in the state that followed

    @property
    def weights(self) -> np.ndarray:
        """`ω` of each slot: `[L]`."""
        return self.clock.cross[0, 1:]

    @property
    def held(self) -> Held:
        """What the slots hold that were written to, which are the first ones."""
        num = min(int(self.clock.tick), len(self.weights))
        return Held(self.weights[:num], self.features[:, :num], self.rewards[:, :num], self.ahead[:, :num])


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
        forgetting = self.base.forgetting
        if isinstance(forgetting, SlidingWindow) and self.memory <= np.max(forgetting.length):
            least = int(np.max(forgetting.length)) + 1  # the newest is in before the oldest is out
            raise ArgumentError("memory", f"be at least {least} for {forgetting}", self.memory)

    def init(self, features: FeatureTable) -> MemoryState:
        lead, dim, sample = (self.spec.horizon, self.memory), self.spec.dim, _tick(0)
        return MemoryState(
            clock=self.base.forgetting.init(empty_moments(sample, self.memory, 0.0, gram_sq=False), sample),
            features=np.zeros((*lead, dim)),
            rewards=np.zeros(lead),
            ahead=np.zeros((*lead, self.spec.num_actions, dim)),
        )

    def plan(self, state: MemoryState, features: FeatureTable, key: Key) -> Any:
        moments, weights = self.moments(state), np.zeros((self.spec.horizon, self.spec.dim))
        inverse, exploration, shift = spd_inverse(moments.gram), self.base.exploration, None
        if isinstance(exploration, (Thompson, TruncatedThompson)):  # linear in φ, drawn for all steps at once
            shift = exploration.perturb(inverse, moments, FeatureTable(np.eye(self.spec.dim)), key)
        plan = MemoryPlan(self.base, weights, inverse, moments, shift, key)
        held = state.held
        weighted = held.features * held.weights[:, None]
        values = np.zeros(len(held.weights))
        for h in reversed(range(self.spec.horizon)):
            weights[h] = inverse[h] @ (weighted[h].T @ (held.rewards[h] + values))
            if h > 0:
                values = plan.values_at(h, held.ahead[h - 1])
        return plan

    def act(self, plan: Any, h: Any, state: Any, uniform: Any) -> Any:
        index, _ = plan.index_at(h, state)
        return choose(np.cumsum(plan.base.exploration.policy(index)), uniform)

    def update(self, state: MemoryState, features: FeatureTable, plan: Any, episode: Episode) -> MemoryState:
        slot = int(state.clock.tick % self.memory)
        clock = state.clock._replace(cross=write(state.clock.cross.copy(), (0, 1 + slot), 0.0))
        return MemoryState(
            clock=self.base.forgetting.update(clock, _tick(slot)),
            features=write(state.features, (slice(None), slot), episode.features),
            rewards=write(state.rewards, (slice(None), slot), episode.rewards),
            ahead=write(state.ahead, (slice(None), slot), episode.successors),
        )

    def moments(self, state: MemoryState) -> Moments:
        """`Λ` and `Λ̃` of every step, as sums over the episodes that are remembered."""
        held, ridge = state.held, self.base.ridge * np.eye(self.spec.dim)
        weights = held.weights
        weighted = held.features * weights[:, None]
        columns = np.swapaxes(weighted, 1, 2)
        return state.clock._replace(
            gram=columns @ held.features + ridge,
            gram_sq=columns @ weighted + ridge if self.base.exploration.uses_gram_sq else None,
            cross=np.zeros((self.spec.horizon, self.spec.dim, 0)),
            ridge=np.asarray(self.base.ridge),
            weight=weights.sum(),
            weight_sq=weights @ weights,
            memory=(),
        )


def remembering(agent: Agent, *, memory: int | None, tolerance: float) -> Agent:
    """An agent with `RememberedLeastSquares` in the place of the `LeastSquares` in it.

    Without `memory` it is the number of episodes whose weights are at least `tolerance`, for all of them.
    """
    tolerance = require_number("tolerance", tolerance, above=0, at_most=1)
    if agent.needs:
        expected = "learn from what it earns alone where states cannot be counted"
        raise ArgumentError("algorithm", expected, agent, f"one that needs {' and '.join(agent.needs)}")
    if isinstance(agent, MixtureOfMemories):
        expected = "have one memory where states cannot be counted, such as opt_wlsvi's with a rate"
        found = "a mixture, whose values need a table of states"
        raise ArgumentError("algorithm", expected, agent, found)
    if isinstance(agent, Wrapper):
        base: Any = remembering(agent.base, memory=memory, tolerance=tolerance)
        return dataclasses.replace(agent, base=base)  # pyright: ignore[reportArgumentType]
    if not isinstance(agent, LeastSquares):
        raise ArgumentError("algorithm", "be one of least squares for continuous states", agent)
    if memory is None:
        memory = max(slots(each.forgetting, tolerance) for each in points(agent))
    return RememberedLeastSquares(agent, memory)


def _tick(slot: int) -> Sample:
    one = np.ones(())
    return Sample(np.ones(1), one, np.asarray(slot, dtype=np.int32), one)
