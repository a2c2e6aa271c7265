"""A bandit over agents: time is cut into blocks, and in each a fresh copy of one of several agents plays."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.arrays import namespace, where_tree
from driftwise.meta.exp3 import Exp3
from driftwise.parts import is_part, member, number, part, select
from driftwise.random import choose, fold, uniform
from driftwise.types import Agent, Array, Episode, FeatureTable, Key, Numeric, Plan, Spec

DRAW = (
    1  # the address of an arm below the key of an episode's plan; the agent's own draws are at the key itself
)


class BlockState(NamedTuple):
    """What is known between two episodes."""

    base: Any  # of the agent that plays this block
    arm: Array  # which it is
    log_weights: Array  # [I]
    gained: Array  # in this block so far, as a sum over its steps
    tick: Array  # episodes played; the environment's clock does not stop between blocks


@part
class BanditOverAgents:
    """In each block of episodes one of `arms` plays, as new; `chooser` learns which of them gain most.

    An arm's gain is the mean reward of a step in its block, with `low` and `high` mapped to 0 and 1. `arms`
    are alike but for their numbers.
    """

    arms: tuple[Agent, ...]
    chooser: Exp3 = member(Exp3)
    block_length: Numeric = number(at_least=1, integer=True)
    low: Numeric = number(default=0.0)
    high: Numeric = number(default=1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.arms, (tuple, list)) or not self.arms:
            raise ValueError(f"arms must be at least one agent, got {self.arms!r}")
        object.__setattr__(self, "arms", tuple(self.arms))
        for arm in self.arms:
            if not (isinstance(arm, Agent) and is_part(arm)):
                raise ValueError(f"arms must be agents of driftwise.algorithms, got {arm!r}")
        select(self.arms, 0)  # which says so if they are not alike
        if self.chooser.num_arms != len(self.arms):
            raise ValueError(f"chooser must have {len(self.arms)} arms, got {self.chooser.num_arms}")

    @property
    def spec(self) -> Spec:
        return self.arms[0].spec

    @property
    def needs(self) -> tuple[str, ...]:
        return getattr(self.arms[0], "needs", ())

    def init(self, features: FeatureTable) -> BlockState:
        xp, like = namespace(features.values), features.values
        none = xp.asarray(0, dtype=xp.int32)
        return BlockState(
            base=self.arms[0].init(features),
            arm=none,
            log_weights=self.chooser.init(like),
            gained=xp.asarray(0, dtype=like.dtype),
            tick=xp.asarray(0, dtype=xp.int64),
        )

    def plan(self, state: BlockState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.log_weights)
        begins = state.tick % self.block_length == 0
        probabilities = self.chooser.probabilities(state.log_weights)
        chance = uniform(fold(key, DRAW), 1, state.log_weights.dtype)[0]
        arm = xp.where(begins, choose(xp.cumulative_sum(probabilities), chance), state.arm)
        agent = select(self.arms, arm)
        base = where_tree(begins, agent.init(features), state.base)
        plan = agent.plan(base, features, key)
        return plan._replace(extra=(arm, base, plan.extra))

    def act(self, plan: Plan, h: Any, state: Array, uniform: Array) -> Array:
        return self.arms[0].act(plan, h, state, uniform)

    def update(self, state: BlockState, plan: Plan, episode: Episode) -> BlockState:
        xp = namespace(state.log_weights)
        arm, base, extra = plan.extra
        age = state.tick % self.block_length
        gained = xp.where(age == 0, xp.zeros_like(state.gained), state.gained) + xp.sum(episode.rewards)
        mean = gained / ((age + 1) * self.spec.horizon)
        learnt = self.chooser.update(state.log_weights, arm, (mean - self.low) / (self.high - self.low))
        ends = age + 1 == self.block_length
        return BlockState(
            base=select(self.arms, arm).update(base, plan._replace(extra=extra), episode),
            arm=arm,
            log_weights=xp.where(ends, learnt, state.log_weights),
            gained=xp.astype(gained, state.gained.dtype),
            tick=state.tick + 1,
        )
