"""Optimism about the gain: the agent behind UCRL2 and its variants that forget."""

from __future__ import annotations

from typing import NamedTuple

from driftwise.base.agent import Agent
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.knowledge import Continuing
from driftwise.base.part import count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Forgetting, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.parts import CountRadius
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS, extended_value_iteration
from driftwise.parts.policies import greedy_policy
from driftwise.parts.regression import empty_counts, visited, visits


class Epoch(NamedTuple):
    """A stretch of time with one policy."""

    q: Array  # [S, A]
    bonus: Array  # [S, A] what is added to the mean rewards
    policy: Array  # [S, A], of zeros and ones
    values: Array  # [S] relative values in the best plausible MDP
    gain: Array  # of which the gain is at most this
    known: Array  # [S, A] samples at its start
    visits: Array  # [S, A] steps since


class GainState(NamedTuple):
    """Counts, the epoch of the coming step, and a look at that of the last one."""

    moments: Moments  # gram [1, S, A, 1, 1], cross [1, S, A, 1, 1+S]
    epoch: Epoch
    age: Array  # steps since everything was last forgotten
    began: Array  # 1 if an epoch began with the last step, else 0
    span: Array  # of the relative values that the last step acted on


@part
class OptimisticGain(Agent):
    r"""Act on the best of all MDPs that the samples allow, until some pair was seen as often as before.

    The agent of `ucrl2`, with the samples that are not forgotten and rewards `min(1, r̂ + radius)`. An epoch
    is also over when everything was forgotten and, if there is a `period`, after every so many steps.

    A pair without samples may pay 1 and lead anywhere, as the published radii have it. Ties go to the first
    action. A plan's `values` are an upper bound of the gain in the best of those MDPs, the same for all
    states.
    """

    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    reward_radius: CountRadius = member(CountRadius)
    transition_radius: CountRadius = member(CountRadius)
    period: Numeric = number(at_least=0, integer=True, default=0)
    max_iterations: int = count(default=MAX_ITERATIONS)

    @property
    def needs(self) -> tuple[type, ...]:
        return (Continuing,)

    def __post_init__(self) -> None:
        if self.spec.horizon != 1:
            raise ArgumentError("spec", "have horizon 1, that of problems without episodes", self.spec)

    def init(self, features: FeatureTable) -> GainState:
        xp, dtype = namespace(features.values), features.values.dtype
        moments = empty_counts(self.spec, self.forgetting, features)
        age, nothing = xp.zeros_like(moments.tick), xp.zeros((), dtype=dtype)
        return GainState(moments, self._begun(moments, age, xp.asarray(True)), age, nothing, nothing)

    def plan(self, state: GainState, features: FeatureTable, key: Key) -> Plan:
        xp, epoch = namespace(state.epoch.q), state.epoch
        weights = xp.zeros((1, self.spec.dim), dtype=epoch.q.dtype)
        values = xp.zeros_like(epoch.values) + epoch.gain
        return Plan(weights, epoch.bonus[None], epoch.q[None], epoch.policy[None], values[None])

    def _begun(self, moments: Moments, age: Array, wanted: Array) -> Epoch:
        """The epoch that starts after so many samples; of no meaning unless it is `wanted`."""
        counts, cross = moments.gram[0, :, :, 0, 0], moments.cross[0, :, :, 0, :]
        xp, num_states = namespace(counts), self.spec.num_states
        at_least_one = xp.maximum(counts, xp.ones_like(counts))
        mean, kernel = cross[..., 0] / at_least_one, cross[..., 1:] / at_least_one[..., None]
        unseen, times = counts == 0, (age, moments.tick)
        optimistic = xp.clip(mean + self.reward_radius.at(counts, *times), None, 1)
        reward = xp.where(unseen, xp.ones_like(mean), optimistic)
        best = extended_value_iteration(
            reward,
            xp.where(unseen[..., None], xp.ones_like(kernel) / num_states, kernel),
            xp.where(unseen, 2 * xp.ones_like(mean), self.transition_radius.at(counts, *times)),
            tolerance=1 / xp.sqrt(xp.astype(age + 1, counts.dtype)),
            active=wanted,
            max_iterations=self.max_iterations,
        )
        first = xp.argmax(greedy_policy(best.q), axis=-1)
        policy = xp.astype(first[:, None] == xp.arange(self.spec.num_actions), counts.dtype)
        none = xp.zeros_like(counts)
        return Epoch(best.q, reward - mean, policy, best.values, best.high, counts, none)

    def update(self, state: GainState, features: FeatureTable, plan: Plan, episode: Episode) -> GainState:
        xp, epoch = namespace(state.epoch.q), state.epoch
        moments = self.forgetting.update(state.moments, visits(self.spec, episode))
        epoch = epoch._replace(visits=epoch.visits + visited(self.spec, episode)[0])
        forgotten = xp.all(moments.gram == 0)
        age = xp.where(forgotten, xp.zeros_like(state.age), state.age + 1)
        here = episode.successors[0]
        doubled = xp.any(epoch.visits[here] >= xp.maximum(epoch.known[here], xp.ones_like(epoch.known[here])))
        period = xp.asarray(self.period)
        due = (period > 0) & (age % xp.where(period > 0, period, 1) == 0)
        over = forgotten | due | doubled
        return GainState(
            moments,
            where_tree(over, self._begun(moments, age, over), epoch),
            age,
            began=xp.astype(xp.sum(epoch.visits) == 1, epoch.q.dtype),
            span=xp.max(epoch.values) - xp.min(epoch.values),
        )

    def diagnostics(self, state: GainState) -> dict[str, Array]:
        """Whether an epoch began, and the span of the relative values it acted on."""
        return {"epochs": state.began, "span": state.span}
