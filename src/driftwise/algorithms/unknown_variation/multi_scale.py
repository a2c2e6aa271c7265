"""MASTER: instances of one agent on many time scales, and tests that tell when the world has changed."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.base.agent import Agent, Wrapper
from driftwise.base.arrays import map_tree, namespace, where_tree, write
from driftwise.base.part import count, member, number, part
from driftwise.base.random import fold, uniform
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan
from driftwise.base.validation import ArgumentError, require_range

SCHEDULE = 1  # where instances are scheduled, below the key of an episode's plan


class Schedule(NamedTuple):
    """The instances of a block, at most one of each order at a time. An order-m instance has 2ᵐ rounds."""

    end: Array  # [M] the round of the block after its last one
    unused: Array  # [M] whether it has not acted yet, so that its state is still another's
    gained_before: Array  # [M] in the block, before it began


class MasterState(NamedTuple):
    """States of the instances, their schedule, and sums of the block; a round is an episode."""

    bases: Any  # a state for each order, stacked: leaves [M, ...]
    schedule: Schedule
    order: Array  # n: the block has 2ⁿ rounds
    age: Array  # rounds of the block that are over
    gained: Array  # in them, Σ R
    excess: Array  # Σ (g̃ − R)
    lowest: Array  # U = min g̃
    restarted: Array  # whether the last round ended in a restart


class Draw(NamedTuple):
    """Draws for the schedule of a round."""

    chances: Array  # [M] uniform
    inner: Any  # the acting instance's own


@part
class Master(Wrapper):
    r"""Multi-scale instances of `base`, and a restart of all when one of two tests fails.

    A block of order $n$ has $2^n$ rounds. In its round $\tau = 0, 1, \dots$ an instance of every order $m
    \le n$ with $2^m \mid \tau$ is scheduled for $2^m$ rounds with probability $\rho(2^n)/\rho(2^m) =
    2^{-(n-m)/2}$. The shortest instance that covers a round acts, and alone learns. With $R$ the mean
    reward of the episode's steps and $\tilde g$ the optimistic value of the acting instance, both with
    `low` and `high` mapped to 0 and 1, and $\hat\rho(t) = c\,b/\sqrt t$, everything begins anew at order
    `first_order` if

    1. an order-$m$ instance ends, and $R$ was on average at least $U + 9\hat\rho(2^m)$ while it was
       scheduled, where $U$ is the lowest $\tilde g$ of the block, or
    2. $\tilde g - R$ was on average at least $3\hat\rho(t)$ in the $t$ rounds of the block.

    Else a block of order $n + 1$ follows. $b$ is `width`, $c$ is `test_scale`; there are `num_orders` orders
    $M$, and blocks of the largest follow one another.

    A reward that comes late belongs to the round in which it comes: the instance that acts there learns from
    it, and it is held against the $\tilde g$ of the instance that has planned it.
    """

    base: Agent = member(Agent)
    num_orders: int = count()
    width: Numeric = number(above=0)
    test_scale: Numeric = number(at_least=0, default=1.0)
    first_order: Numeric = number(at_least=0, integer=True, default=0)
    low: Numeric = number(default=0.0)
    high: Numeric = number(default=1.0)

    def __post_init__(self) -> None:
        require_range(self.low, self.high)
        if not self.base.optimistic:
            raise ArgumentError("base", "be an optimistic agent, whose values the tests rest on", self.base)

    def init(self, features: FeatureTable) -> MasterState:
        xp = namespace(features.values)
        none = xp.zeros((), dtype=features.values.dtype)
        fresh = self.base.init(features)
        return MasterState(
            bases=map_tree(lambda leaf: xp.stack([leaf] * self.num_orders), fresh),
            schedule=self._nothing_scheduled(none),
            order=self._first(none),
            age=xp.asarray(0, dtype=xp.int64),
            gained=none,
            excess=none,
            lowest=none + 1,
            restarted=none > 0,
        )

    def plan(self, state: MasterState, features: FeatureTable, key: Key) -> Plan:
        chances = uniform(fold(key, SCHEDULE), self.num_orders, features.values.dtype)
        *_, acting = self._acting(state, chances, features)
        plan = self.base.plan(acting, features, key)
        return plan._replace(drawn=Draw(chances, plan.drawn))

    def update(self, state: MasterState, features: FeatureTable, plan: Plan, episode: Episode) -> MasterState:
        draw: Draw = plan.drawn
        xp = namespace(state.gained)
        schedule, slot, acting = self._acting(state, draw.chances, features)
        learnt = self.base.update(acting, features, plan._replace(drawn=draw.inner), episode)
        reward = self._scaled(xp.sum(episode.rewards))
        optimistic = xp.clip(self._scaled(plan.value[episode.states[0]]), 0, 1)
        played = state._replace(
            bases=map_tree(lambda leaf, new: write(leaf, slot, new), state.bases, learnt),
            schedule=schedule._replace(unused=schedule.unused & (self._orders(xp) != slot)),
            age=state.age + 1,
            gained=state.gained + reward,
            excess=state.excess + optimistic - reward,
            lowest=xp.minimum(state.lowest, optimistic),
            restarted=xp.asarray(False),
        )
        restart = self._fails(played)
        over = restart | (played.age == 1 << state.order)
        longest = xp.asarray(self.num_orders - 1, dtype=state.order.dtype)
        following = xp.where(restart, self._first(reward), xp.minimum(state.order + 1, longest))
        new = played._replace(
            schedule=self._nothing_scheduled(reward),
            order=following,
            age=xp.zeros_like(state.age),
            gained=xp.zeros_like(reward),
            excess=xp.zeros_like(reward),
            lowest=xp.ones_like(reward),
            restarted=restart,
        )
        small = where_tree(over, new._replace(bases=()), played._replace(bases=()))
        return small._replace(bases=played.bases)

    def diagnostics(self, state: MasterState) -> dict[str, Array]:
        """Whether a test failed, and it began anew."""
        failed = namespace(state.gained).astype(state.restarted, state.gained.dtype)
        return {"alarms": failed, "restarts": failed}

    def moments(self, state: MasterState) -> Moments | None:
        slot = namespace(state.gained).argmax(state.schedule.end > state.age)  # the shortest that goes on
        return self.base.moments(map_tree(lambda leaf: leaf[slot], state.bases))

    def scheduled(self, state: MasterState, chances: Array) -> Schedule:
        """The instances that are there in the coming round: those of `state` and those that begin."""
        xp = namespace(chances)
        orders, lengths = self._orders(xp), self._lengths(xp)
        likelihood = xp.sqrt(2.0 ** xp.astype(orders - state.order, chances.dtype))  # ρ(2ⁿ)/ρ(2ᵐ)
        begins = (orders <= state.order) & (state.age % lengths == 0) & (chances < likelihood)
        kept = state.schedule
        return Schedule(
            end=xp.where(begins, state.age + lengths, kept.end),
            unused=begins | kept.unused,
            gained_before=xp.where(begins, state.gained, kept.gained_before),
        )

    def _acting(
        self, state: MasterState, chances: Array, features: FeatureTable
    ) -> tuple[Schedule, Array, Any]:
        """The schedule of the round, the shortest instance that covers it, and that instance's state."""
        schedule = self.scheduled(state, chances)
        slot = namespace(chances).argmax(schedule.end > state.age)
        kept = map_tree(lambda leaf: leaf[slot], state.bases)
        return schedule, slot, where_tree(schedule.unused[slot], self.base.init(features), kept)

    def _fails(self, state: MasterState) -> Array:
        """Whether a test fails after the round by which `state` has grown older."""
        xp, dtype = namespace(state.gained), state.gained.dtype
        lengths = xp.astype(self._lengths(xp), dtype)
        mean = (state.gained - state.schedule.gained_before) / lengths
        too_good = mean >= state.lowest + 9 * self._width(lengths)
        rounds = xp.astype(state.age, dtype)
        too_bad = state.excess / rounds >= 3 * self._width(rounds)
        return xp.any((state.schedule.end == state.age) & too_good) | too_bad

    def _width(self, rounds: Array) -> Array:
        return self.test_scale * self.width / namespace(rounds).sqrt(rounds)

    def _scaled(self, total: Array) -> Array:
        return (total / self.spec.horizon - self.low) / (self.high - self.low)

    def _nothing_scheduled(self, like: Array) -> Schedule:
        xp = namespace(like)
        none = xp.zeros(self.num_orders, dtype=like.dtype)
        return Schedule(xp.zeros(self.num_orders, dtype=xp.int64), none > 0, none)

    def _first(self, like: Array) -> Array:
        xp = namespace(like)
        first, last = (xp.asarray(order, dtype=xp.int64) for order in (self.first_order, self.num_orders - 1))
        return xp.minimum(first, last)

    def _orders(self, xp: Any) -> Array:
        return xp.arange(self.num_orders, dtype=xp.int64)

    def _lengths(self, xp: Any) -> Array:
        return xp.asarray(1, dtype=xp.int64) << self._orders(xp)
