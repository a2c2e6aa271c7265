"""A bandit over agents: time is cut into blocks, and in each a fresh copy of one of several agents plays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftwise.base.agent import Agent, Wrapper
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import index_part, is_part, member, number, numeric_values, part
from driftwise.base.random import choose_index, draw_uniform, fold
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan
from driftwise.base.validation import ArgumentError, require_range
from driftwise.parts import Exp3

_DRAW = 1  # where an arm is drawn, below the key of an episode's plan; the agent's own draws are at the key


class ArmDraw(NamedTuple):
    """The arm drawn for the case that a block begins with the episode, and who planned the episode."""

    arm: Array
    probabilities: Array  # [I] with which it was drawn
    planner: Array  # the arm that planned
    inner: Any  # that arm's own


class BlockState(NamedTuple):
    """The state of the playing agent, and of the chooser."""

    base: Any  # of the agent that plays this block
    arm: Array  # which it is, or was in the block that has just ended
    probabilities: Array  # [I] with which it was drawn
    log_weights: Array  # [I]
    gained: Array  # in this block so far by episodes that its arm has planned, as a sum over their steps
    counted: Array  # how many these are
    tick: Array  # episodes played; the environment's clock does not stop between blocks


@part
class BanditOverAgents(Wrapper):
    """A bandit over agents: one plays each block of episodes, as new, and `chooser` learns which gain most.

    The agents, its arms, are stacked in `base`: numbers of the base are tuples over them. An arm's gain is
    the mean reward of a step in its block, with `low` and `high` mapped to 0 and 1. After `num_episodes`
    (unless it is 0) a block ends, however short.

    Where rewards come late, the agent that plays learns from all that come, but only episodes that its arm
    has planned count as its gain; if there are none in a block, the chooser learns nothing from it.
    """

    base: Agent = member(Agent, stacked=True)
    chooser: Exp3 = member(Exp3)
    block_length: Numeric = number(at_least=1, integer=True)
    num_episodes: Numeric = number(at_least=0, integer=True, default=0)
    low: Numeric = number(default=0.0)
    high: Numeric = number(default=1.0)

    def __post_init__(self) -> None:
        if not is_part(self.base):
            raise ArgumentError("base", "be an agent of driftwise.algorithms", self.base)
        for value in numeric_values(self.base):
            if value.grid[-1:] != (self.chooser.num_arms,):
                expected = f"have one number for each of the {self.chooser.num_arms} arms"
                raise ArgumentError("base", expected, value.value, f"{value.name} {value.value!r}")
        require_range(self.low, self.high)

    def init(self, features: FeatureTable) -> BlockState:
        xp, like = namespace(features.values), features.values
        log_weights = self.chooser.init(like)
        probabilities, none = self.chooser.probabilities(log_weights), xp.asarray(0, dtype=xp.int64)
        base, arm = index_part(self.base, np.asarray(0)).init(features), xp.asarray(0, dtype=xp.int32)
        gained = xp.asarray(0, dtype=like.dtype)
        return BlockState(base, arm, probabilities, log_weights, gained, counted=none, tick=none)

    def plan(self, state: BlockState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.log_weights)
        probabilities = self.chooser.probabilities(state.log_weights)
        chance = draw_uniform(fold(key, _DRAW), 1, state.log_weights.dtype)[0]
        drawn = choose_index(xp.cumulative_sum(probabilities), chance)
        playing = self._in_block(state, drawn, probabilities, features)
        plan = index_part(self.base, playing.arm).plan(playing.base, features, key)
        return plan._replace(drawn=ArmDraw(drawn, probabilities, playing.arm, plan.drawn))

    def update(self, state: BlockState, features: FeatureTable, plan: Plan, episode: Episode) -> BlockState:
        xp = namespace(state.log_weights)
        draw: ArmDraw = plan.drawn
        playing = self._in_block(state, draw.arm, draw.probabilities, features)
        counts = draw.planner == playing.arm
        gained = playing.gained + xp.where(counts, xp.sum(episode.rewards), xp.zeros_like(state.gained))
        counted = playing.counted + counts
        steps = xp.clip(counted, 1, None) * self.spec.horizon
        gain = (gained / steps - self.low) / (self.high - self.low)
        learns = self._between_blocks(state.tick + 1) & (counted > 0)
        learnt = self.chooser.update(state.log_weights, playing.arm, gain, playing.probabilities)
        agent = index_part(self.base, playing.arm)
        return playing._replace(
            base=agent.update(playing.base, features, plan._replace(drawn=draw.inner), episode),
            log_weights=xp.where(learns, learnt, state.log_weights),
            gained=gained,
            counted=counted,
            tick=state.tick + 1,
        )

    def _in_block(
        self, state: BlockState, arm: Array, probabilities: Array, features: FeatureTable
    ) -> BlockState:
        """The state in the block of the coming episode; if one begins, that of a drawn arm."""
        xp = namespace(state.gained)
        new = state._replace(
            base=index_part(self.base, arm).init(features),
            arm=arm,
            probabilities=probabilities,
            gained=xp.zeros_like(state.gained),
            counted=xp.zeros_like(state.counted),
        )
        return where_tree(self._between_blocks(state.tick), new, state)

    def _between_blocks(self, tick: Array) -> Array:
        return (tick % self.block_length == 0) | (tick == self.num_episodes)

    def diagnostics(self, state: BlockState) -> dict[str, Array]:
        """The arm that played, and the probabilities with which it was drawn."""
        xp, arms = namespace(state.probabilities), range(self.chooser.num_arms)
        plays = xp.astype(xp.arange(len(arms)) == state.arm, state.probabilities.dtype)
        named = {f"probability.{i}": state.probabilities[i] for i in arms}
        return named | {f"played.{i}": plays[i] for i in arms}

    def moments(self, state: BlockState) -> Moments | None:
        return index_part(self.base, state.arm).moments(state.base)
