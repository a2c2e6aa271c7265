"""Optimistic value iteration on counts: the agent behind UCBVI, whatever it forgets."""

from __future__ import annotations

from typing import Literal, NamedTuple

from driftwise.algorithms.tabular.acting import highest, require_all_actions
from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, scan
from driftwise.base.part import choice, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Forgetting, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.parts.counts import empty_counts, visits
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import pooled
from driftwise.parts.regression import matvec

LEAST = 1e-20  # visits: with fewer every bonus fills the range, and no quotient may overflow


class CountingState(NamedTuple):
    """Counts, and an upper bound on Q."""

    moments: Moments  # gram [H, S, A, 1, 1], cross [H, S, A, 1, 1+S]
    bound: Array | None  # [H, S, A] the last Q, if no later one may be above it


class Counts(NamedTuple):
    """Estimates for each step, state and action."""

    count: Array  # [H, S, A] number of visits N = Σω
    rewards: Array  # [H, S, A] their mean r̂
    kernel: Array  # [H, S, A, S] the shares p̂ of successors
    gap: Array  # [H, S] how far off the squared value of a successor may be


@part
class CountingValueIteration(Agent):
    """Backward induction on empirical means, with a bonus for what was seldom visited.

    For `h = H … 1`: `Q_h = min(r̂_h + p̂_h V_{h+1} + c b_h, H)` where there were visits, else `H`;
    `V_h = max_a Q_h`. With `N = Σω` visits and `L` the `log_term`, the bonus is `"hoeffding"`'s
    `b = 7HL/√N`, or `"bernstein"`'s `b = √(8L Var_p̂(V)/N) + 14HL/(3N) + √(8 p̂G/N)`, where
    `G(y) = min(100²H³S²AL²/N'_{h+1}(y), H²)` for the `N'` visits of a state at the next step (0 after the
    last), and where learnt rewards add `√(8L r̂(1−r̂)/N)`.

    Under weights a mean deviates like one of `(Σω)²/Σω²` samples, which is never less than `N`, as weights
    are at most one. The bonus takes `N`, since the other number stays as it is while a pair is not visited:
    what was learnt long ago would never be doubted.

    `clip="tight"` has `H−h+1` in the place of `H`. `rewards="known"` takes the episode's rewards as known,
    and `steps="shared"` pools the visits of all steps, for models that do not depend on h. `monotone` keeps Q
    from rising, `Q_t ≤ Q_{t−1}`: for worlds that stand still.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    bonus: Literal["hoeffding", "bernstein"] = choice("hoeffding", "bernstein", default="hoeffding")
    clip: Literal["paper", "tight"] = choice("paper", "tight", default="paper")
    rewards: Literal["learnt", "known"] = choice("learnt", "known", default="learnt")
    steps: Literal["apart", "shared"] = choice("apart", "shared", default="apart")
    monotone: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.monotone, bool):
            raise ArgumentError("monotone", "be True or False", self.monotone)
        if self.monotone and not isinstance(self.forgetting, NoForgetting):
            expected = f"be False where something is forgotten, by {self.forgetting}"
            raise ArgumentError("monotone", expected, self.monotone)

    @property
    def needs(self) -> tuple[str, ...]:
        asked = {"rewards": self.rewards == "known", "shared_steps": self.steps == "shared"}
        return tuple(name for name, needed in asked.items() if needed)

    def init(self, features: FeatureTable) -> CountingState:
        require_all_actions(features)
        moments = empty_counts(self.spec, self.forgetting, features)
        return CountingState(moments, self._ceilings(moments.gram) if self.monotone else None)

    def plan(self, state: CountingState, features: FeatureTable, key: Key) -> Plan:
        counts = self._counts(state.moments, features)
        xp, dtype = namespace(counts.count), counts.count.dtype

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            ceiling, count, rewards, kernel, gap, *bound = x
            known = count > 0
            estimate = xp.where(known, rewards + matvec(kernel, value), 0.0)
            bonus = self._bonus(
                Counts(xp.where(known, xp.clip(count, LEAST, None), 1.0), rewards, kernel, gap), value
            )
            q = xp.where(known, xp.minimum(estimate + self.scale * bonus, ceiling), ceiling)
            for last in bound:
                q = xp.minimum(q, last)
            value = xp.max(q, axis=-1)
            return value, (q - estimate, q, greedy_policy(q), value)

        xs = (self._ceilings(counts.count), *counts)
        if state.bound is not None:
            xs = (*xs, state.bound)
        start = xp.zeros(self.spec.num_states, dtype=dtype)
        _, (bonus, q, policy, values) = scan(step, start, xs, reverse=True)
        return Plan(xp.zeros((self.spec.horizon, 0), dtype=dtype), bonus, q, policy, values)

    def update(
        self, state: CountingState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> CountingState:
        moments = self.forgetting.update(state.moments, visits(self.spec, episode))
        return CountingState(moments, None if state.bound is None else plan.q)

    def _ceilings(self, like: Array) -> Array:
        return highest(self.spec, like, tight=self.clip == "tight")

    def _counts(self, moments: Moments, features: FeatureTable) -> Counts:
        xp, size = namespace(moments.gram), self.spec
        pairs = (size.horizon, size.num_states, size.num_actions)
        arrived = xp.sum(moments.gram[..., 0, 0], axis=-1)  # [H, S]
        if self.steps == "shared":
            moments = pooled(moments)
        count, cross = moments.gram[..., 0, 0], moments.cross[..., 0, :]
        means = cross / xp.where(count > 0, count, 1.0)[..., None]
        rewards = means[..., 0] if self.rewards == "learnt" else xp.reshape(features.rewards, pairs)
        return Counts(
            count=xp.broadcast_to(count, pairs),
            rewards=xp.broadcast_to(rewards, pairs),
            kernel=xp.broadcast_to(means[..., 1:], (*pairs, size.num_states)),
            gap=self._gap(arrived),
        )

    def _gap(self, arrived: Array) -> Array:
        """`G` for the successors of each step; values after the last are known to be zero."""
        xp, size = namespace(arrived), self.spec
        spread = 100**2 * size.horizon**3 * size.num_states**2 * size.num_actions * self.log_term**2
        most = float(size.horizon**2)
        bounded = xp.minimum(spread / xp.where(arrived > 0, xp.clip(arrived, LEAST, None), 1.0), most)
        gap = xp.where(arrived > 0, bounded, most)
        return xp.concat([gap[1:], xp.zeros_like(gap[:1])])

    def _bonus(self, counts: Counts, value: Array) -> Array:
        """The bonus of each pair of one step, before the scale: `[S, A]`."""
        xp, (count, rewards, kernel, gap) = namespace(value), counts
        horizon, log = self.spec.horizon, self.log_term
        if self.bonus == "hoeffding":
            return 7 * horizon * log / xp.sqrt(count)
        mean = matvec(kernel, value)
        variance = xp.sum(kernel * (value - mean[..., None]) ** 2, axis=-1)  # never below zero
        bonus = xp.sqrt(8 * log * variance / count) + 14 * horizon * log / (3 * count)
        bonus = bonus + xp.sqrt(8 * matvec(kernel, gap) / count)
        if self.rewards == "learnt":
            bonus = bonus + xp.sqrt(8 * log * xp.maximum(rewards * (1 - rewards), 0.0) / count)
        return bonus
