"""MASTER: instances of one agent on many time scales, and tests that tell when the problem has changed."""

import math
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register
from driftwise.algorithms.bandits.lin_ucb import lin_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb import lsvi_ucb
from driftwise.base import Agent, Wrapper, validation
from driftwise.base.arrays import map_tree, namespace, where_tree, write_at
from driftwise.base.part import count, member, number, part
from driftwise.base.random import draw_uniform, fold
from driftwise.base.schema import add_defaults
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError, require_count, require_number, require_range
from driftwise.theory.tuning import lsvi_ucb_radius

_SCHEDULE = 1  # where instances are scheduled, below the key of an episode's plan


class Schedule(NamedTuple):
    """The instances of a block, at most one of each order at a time. An order-m instance has 2ᵐ rounds."""

    end: Array  # [M] the round of the block after its last one
    unused: Array  # [M] whether it has not acted yet, so that its state is still another's
    gained_before: Array  # [M] in the block, before it began


class MasterState(NamedTuple):
    bases: Any  # a state for each order, stacked: leaves [M, ...]
    schedule: Schedule
    order: Array  # n: the block has 2ⁿ rounds
    age: Array  # rounds of the block that are over
    gained: Array  # in them, Σ R
    excess: Array  # Σ (g̃ − R)
    lowest: Array  # U = min g̃
    restarted: Array  # whether the last round ended in a restart


class ScheduleDraw(NamedTuple):
    chances: Array  # [M] uniform
    inner: Any  # the acting instance's own


@part
class Master(Wrapper):
    r"""Multi-scale instances of `base`, and a restart of all when one of two tests fails.

    A block of order $n$ has $2^n$ rounds. In its round $\tau = 0, 1, \dots$ an instance of every order $m \le
    n$ with $2^m \mid \tau$ is scheduled for $2^m$ rounds with probability $\rho(2^n)/\rho(2^m) =
    2^{-(n-m)/2}$. The shortest instance that covers a round acts, and alone learns. With $R$ the mean reward
    of the episode's steps and $\tilde g$ the optimistic value of the acting instance, both with `low` and
    `high` mapped to 0 and 1, and $\hat\rho(t) = c\,b/\sqrt t$, everything restarts at order `first_order` if

    1. an order-$m$ instance ends, and $R$ was on average at least $U + 9\hat\rho(2^m)$ while it was
       scheduled, where $U$ is the lowest $\tilde g$ of the block, or
    2. $\tilde g - R$ was on average at least $3\hat\rho(t)$ in the $t$ rounds of the block.

    Else a block of order $n + 1$ follows, at most `num_orders` − 1. $b$ is `width`, $c$ is `test_scale`.

    A late reward belongs to the round in which it comes: the instance that acts there learns from it, and it
    is compared with the $\tilde g$ of the instance that planned it.
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
        bases = map_tree(lambda leaf: xp.stack([leaf] * self.num_orders), self.base.init(features))
        return self._new_block(xp.zeros((), dtype=features.values.dtype))._replace(bases=bases)

    def plan(self, state: MasterState, features: FeatureTable, key: Key) -> Plan:
        chances = draw_uniform(fold(key, _SCHEDULE), self.num_orders, features.values.dtype)
        *_, acting = self._acting(state, chances, features)
        plan = self.base.plan(acting, features, key)
        return plan._replace(drawn=ScheduleDraw(chances, plan.drawn))

    def update(self, state: MasterState, features: FeatureTable, plan: Plan, episode: Episode) -> MasterState:
        draw: ScheduleDraw = plan.drawn
        xp = namespace(state.gained)
        schedule, slot, acting = self._acting(state, draw.chances, features)
        learnt = self.base.update(acting, features, plan._replace(drawn=draw.inner), episode)
        reward = self._scaled(xp.sum(episode.rewards))
        optimistic = xp.clip(self._scaled(plan.value[episode.states[0]]), 0, 1)
        orders = xp.arange(self.num_orders, dtype=xp.int64)
        schedule = schedule._replace(unused=schedule.unused & (orders != slot))
        gained, excess = state.gained + reward, state.excess + optimistic - reward
        lowest, none = xp.minimum(state.lowest, optimistic), xp.asarray(False)
        played = MasterState((), schedule, state.order, state.age + 1, gained, excess, lowest, none)
        lengths, rounds = (xp.astype(times, reward.dtype) for times in (1 << orders, played.age))
        mean = (played.gained - schedule.gained_before) / lengths
        too_good = mean >= played.lowest + 9 * self._width(lengths)
        too_bad = played.excess / rounds >= 3 * self._width(rounds)
        restart = xp.any((schedule.end == played.age) & too_good) | too_bad
        over = restart | (played.age == 1 << state.order)
        new = self._new_block(xp.zeros_like(reward))
        longest = xp.asarray(self.num_orders - 1, dtype=state.order.dtype)
        following = xp.where(restart, new.order, xp.minimum(state.order + 1, longest))
        after = where_tree(over, new._replace(order=following, restarted=restart), played)
        bases = map_tree(lambda leaf, new: write_at(leaf, slot, new), state.bases, learnt)
        return after._replace(bases=bases)

    def diagnostics(self, state: MasterState) -> dict[str, Array]:
        """Whether a test failed, and it restarted."""
        failed = namespace(state.gained).astype(state.restarted, state.gained.dtype)
        return {"alarms": failed, "restarts": failed}

    def moments(self, state: MasterState) -> Moments | None:
        slot = namespace(state.gained).argmax(state.schedule.end > state.age)  # the shortest that goes on
        return self.base.moments(map_tree(lambda leaf: leaf[slot], state.bases))

    def advance_schedule(self, state: MasterState, chances: Array) -> Schedule:
        """The instances that are there in the coming round: those of `state` and those that begin."""
        xp, kept = namespace(chances), state.schedule
        orders = xp.arange(self.num_orders, dtype=xp.int64)
        lengths = 1 << orders
        likelihood = xp.sqrt(2.0 ** xp.astype(orders - state.order, chances.dtype))  # ρ(2ⁿ)/ρ(2ᵐ)
        begins = (orders <= state.order) & (state.age % lengths == 0) & (chances < likelihood)
        end = xp.where(begins, state.age + lengths, kept.end)
        gained_before = xp.where(begins, state.gained, kept.gained_before)
        return Schedule(end, begins | kept.unused, gained_before)

    def _acting(
        self, state: MasterState, chances: Array, features: FeatureTable
    ) -> tuple[Schedule, Array, Any]:
        """The schedule of the round, the shortest instance that covers it, and that instance's state."""
        schedule = self.advance_schedule(state, chances)
        slot = namespace(chances).argmax(schedule.end > state.age)
        kept = map_tree(lambda leaf: leaf[slot], state.bases)
        return schedule, slot, where_tree(schedule.unused[slot], self.base.init(features), kept)

    def _width(self, rounds: Array) -> Array:
        return self.test_scale * self.width / namespace(rounds).sqrt(rounds)

    def _scaled(self, total: Array) -> Array:
        return (total / self.spec.horizon - self.low) / (self.high - self.low)

    def _new_block(self, zero: Array) -> MasterState:
        """A block of order `first_order` in which nothing was played, without states of instances."""
        xp = namespace(zero)
        none = xp.zeros(self.num_orders, dtype=zero.dtype)
        schedule = Schedule(xp.zeros(self.num_orders, dtype=xp.int64), none > 0, none)
        first, last = (xp.asarray(order, dtype=xp.int64) for order in (self.first_order, self.num_orders - 1))
        age = xp.asarray(0, dtype=xp.int64)
        return MasterState((), schedule, xp.minimum(first, last), age, zero, zero, zero + 1, zero > 0)


class TestOptions(TypedDict, total=False):
    r"""Options of the tests.

    Args:
      delta: $\delta$, the chance of a restart in a problem that does not vary.
      test_scale: a factor of $\hat\rho$ in both tests; with the paper's 1 they do not fail in usual runs.
      first_order: the order of the first block, of $2^n$ episodes; 0 in the paper.
    """

    delta: Annotated[float, 0.05]
    test_scale: Annotated[Numeric, 1.0]
    first_order: Annotated[Numeric, 0]
    low: Annotated[Numeric, 0.0]
    high: Annotated[Numeric, 1.0]


@register(
    "restart on a failed test", "the base's, on many scales", bound="Δ^(1/3) K^(2/3) for a base of K^(1/2)"
)
def master(base: Agent, *, num_episodes: int, regret_scale: Numeric, **tests: Unpack[TestOptions]) -> Master:
    r"""Multi-scale stochastic tests of an optimistic agent, and a restart when one of them fails.

    See `Master` for the schedule and the tests. There $\hat\rho(t) = b/\sqrt t$ with $b = 6\hat
    n\log(K/\delta)\,\rho$ and $\hat n = \log_2 K + 1$.
    Args:
      base: an agent whose value of the first state is optimistic.
      regret_scale: $\rho$: in a problem that does not vary, the base loses $\rho/\sqrt t$ an episode in the
        mean of $t$ episodes, where rewards of an episode lie between 0 and 1.
    When to use: you want the best known rate without knowing the variation, for any optimistic base.
    When not: the run is of usual length: its tests never fail (Gerogiannis, Huang & Veeravalli 2024).
    Reference: Wei & Luo 2021, Algorithms 1 to 3, for one set of arms and one first state.
    Deviations from the paper: `test_scale` and `first_order`.
    """
    num_episodes, options = require_count("num_episodes", num_episodes), add_defaults(TestOptions, tests)
    confidence = 6 * (math.log2(num_episodes) + 1) * _log(num_episodes, options.pop("delta"))
    width = confidence * np.asarray(validation.require_numeric("regret_scale", regret_scale, above=0))
    return Master(base, num_orders=num_episodes.bit_length(), width=width, **options)


@register("restart on a failed test", "UCB, on many scales", problem="linear bandit")
def master_lin_ucb(
    spec: Spec, *, num_episodes: int, radius_scale: float = 1.0, **tests: Unpack[TestOptions]
) -> Master:
    r"""MASTER over OFUL: the bonus is $2\beta\|x\|_{V^{-1}}$ with $\beta = 4\sqrt{d\log(K/\delta)}$, and
    $\rho = \beta\sqrt{d\log(K/\delta)}$. For arms that are the same in every round.
    When to use: you want the best known rate for fixed arms without knowing the variation.
    When not: the run is of usual length. With the published constants its tests never fail in it.
    Reference: Wei & Luo 2021, Table 1 and Section 3. Deviations from the paper: those of `master`.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    root = math.sqrt(spec.dim * _log(num_episodes, add_defaults(TestOptions, tests)["delta"]))
    beta = 4 * root * require_number("radius_scale", radius_scale, above=0)
    base = lin_ucb(spec, radius=2 * beta)
    return master(base, num_episodes=num_episodes, regret_scale=beta * root, **tests)


@register("restart on a failed test", "UCB, on many scales", problem="linear MDP")
def master_lsvi_ucb(
    spec: Spec,
    *,
    num_episodes: int,
    beta_scale: float = 1.0,
    clip: Literal["paper", "tight"] = "paper",
    mu_bound: float | None = None,
    **tests: Unpack[TestOptions],
) -> Master:
    r"""MASTER over `lsvi_ucb`: $\rho = \beta\sqrt{d\log(K/\delta)}$ in units of the largest return $H$.
    Args:
      delta: $\delta$ of the tests and of the radius.
    When to use: you want the best known rate from one first state without knowing the variation.
    When not: the run is of usual length. With the published constants its tests never fail in it.
    Reference: Wei & Luo 2021, Table 1 and Section 3. Deviations from the paper: those of `master`.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, delta=add_defaults(TestOptions, tests)["delta"])
    known = dict(beta_scale=require_number("beta_scale", beta_scale, above=0), mu_bound=mu_bound)
    beta = lsvi_ucb_radius(dim=spec.dim, horizon=spec.horizon, **known, **run)
    scale = beta * math.sqrt(spec.dim * _log(**run))
    base = lsvi_ucb(spec, radius=beta, clip=clip)
    return master(base, num_episodes=num_episodes, regret_scale=scale, **tests)


def _log(num_episodes: int, delta: float) -> float:
    """log(K/δ), which must not vanish: with δ = 1, bonuses and tests of one episode would have no width."""
    delta = require_number("delta", delta, above=0)
    if delta >= 1:
        raise ArgumentError("delta", "be a number in (0, 1)", delta)
    return math.log(num_episodes / delta)
