"""A bandit over agents: time is cut into blocks, and in each a fresh copy of one of several agents plays."""

from __future__ import annotations

from typing import Any, NamedTuple

from driftwise.algorithms.unknown_variation.fresh import shown_to_init
from driftwise.algorithms.unknown_variation.rewards import require_range, to_unit
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import is_part, member, number, part, require_alike, select
from driftwise.base.random import choose, fold, uniform
from driftwise.base.types import Agent, Array, Episode, FeatureTable, Key, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError
from driftwise.parts.exp3 import Exp3

DRAW = 1  # where an arm is drawn, below the key of an episode's plan; the agent's own draws are at the key


class Block(NamedTuple):
    """What a plan says for the case that a block begins with its episode, and by whom it was made."""

    arm: Array  # which agent would play it
    probabilities: Array  # [I] with which it was drawn
    shown: FeatureTable  # to that agent, to begin with
    planner: Array  # the arm that planned this episode
    inner: Any  # the `extra` of its plan


class BlockState(NamedTuple):
    """What is known between two episodes."""

    base: Any  # of the agent that plays this block
    arm: Array  # which it is, or was in the block that has just ended
    probabilities: Array  # [I] with which it was drawn
    log_weights: Array  # [I]
    gained: Array  # in this block so far by episodes that its arm has planned, as a sum over their steps
    counted: Array  # how many these are
    tick: Array  # episodes played; the environment's clock does not stop between blocks


@part
class BanditOverAgents:
    """In each block of episodes one of `arms` plays, as new; `chooser` learns which of them gain most.

    An arm's gain is the mean reward of a step in its block, with `low` and `high` mapped to 0 and 1. `arms`
    are alike but for their numbers. After `num_episodes` (unless it is 0) a block ends, however short.

    Where rewards come late, the agent that plays learns from all that come, but only episodes that its arm
    has planned count as its gain; if there are none in a block, the chooser learns nothing from it.
    """

    arms: tuple[Agent, ...]
    chooser: Exp3 = member(Exp3)
    block_length: Numeric = number(at_least=1, integer=True)
    num_episodes: Numeric = number(at_least=0, integer=True, default=0)
    low: Numeric = number(default=0.0)
    high: Numeric = number(default=1.0)

    def __post_init__(self) -> None:
        if not isinstance(self.arms, (tuple, list)) or not self.arms:
            raise ArgumentError("arms", "be at least one agent", self.arms)
        object.__setattr__(self, "arms", tuple(self.arms))
        for arm in self.arms:
            if not (isinstance(arm, Agent) and is_part(arm)):
                raise ArgumentError("arms", "be agents of driftwise.algorithms", arm)
        require_alike(self.arms)
        if self.chooser.num_arms != len(self.arms):
            raise ArgumentError("chooser", f"have {len(self.arms)} arms", self.chooser.num_arms)
        require_range(self.low, self.high)

    @property
    def spec(self) -> Spec:
        return self.arms[0].spec

    @property
    def needs(self) -> tuple[str, ...]:
        return getattr(self.arms[0], "needs", ())

    def init(self, features: FeatureTable) -> BlockState:
        xp, like = namespace(features.values), features.values
        log_weights = self.chooser.init(like)
        return BlockState(
            base=self.arms[0].init(features),
            arm=xp.asarray(0, dtype=xp.int32),
            probabilities=self.chooser.probabilities(log_weights),
            log_weights=log_weights,
            gained=xp.asarray(0, dtype=like.dtype),
            counted=xp.asarray(0, dtype=xp.int64),
            tick=xp.asarray(0, dtype=xp.int64),
        )

    def plan(self, state: BlockState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.log_weights)
        probabilities = self.chooser.probabilities(state.log_weights)
        chance = uniform(fold(key, DRAW), 1, state.log_weights.dtype)[0]
        drawn = choose(xp.cumulative_sum(probabilities), chance)
        block = Block(drawn, probabilities, shown_to_init(features), drawn, None)
        playing = self._in_block(state, block)
        plan = select(self.arms, playing.arm).plan(playing.base, features, key)
        return plan._replace(extra=block._replace(planner=playing.arm, inner=plan.extra))

    def act(self, plan: Plan, h: Any, state: Array, uniform: Array) -> Array:
        return self.arms[0].act(plan, h, state, uniform)

    def update(self, state: BlockState, plan: Plan, episode: Episode) -> BlockState:
        xp = namespace(state.log_weights)
        block: Block = plan.extra
        playing = self._in_block(state, block)
        counts = block.planner == playing.arm
        gained = playing.gained + xp.where(counts, xp.sum(episode.rewards), xp.zeros_like(state.gained))
        counted = playing.counted + counts
        steps = xp.clip(counted, 1, None) * self.spec.horizon
        gain = to_unit(gained / steps, self.low, self.high)
        learns = self._between_blocks(state.tick + 1) & (counted > 0)
        learnt = self.chooser.update(state.log_weights, playing.arm, gain, playing.probabilities)
        agent = select(self.arms, playing.arm)
        return playing._replace(
            base=agent.update(playing.base, plan._replace(extra=block.inner), episode),
            log_weights=xp.where(learns, learnt, state.log_weights),
            gained=gained,
            counted=counted,
            tick=state.tick + 1,
        )

    def _in_block(self, state: BlockState, block: Block) -> BlockState:
        """The state in the block of the coming episode: `block`, if one begins."""
        xp = namespace(state.gained)
        new = state._replace(
            base=select(self.arms, block.arm).init(block.shown),
            arm=block.arm,
            probabilities=block.probabilities,
            gained=xp.zeros_like(state.gained),
            counted=xp.zeros_like(state.counted),
        )
        return where_tree(self._between_blocks(state.tick), new, state)

    def _between_blocks(self, tick: Array) -> Array:
        return (tick % self.block_length == 0) | (tick == self.num_episodes)

    def diagnostics(self, state: BlockState) -> dict[str, Array]:
        """The arm that played, and the probabilities with which it was drawn."""
        xp, arms = namespace(state.probabilities), range(len(self.arms))
        plays = xp.astype(xp.arange(len(self.arms)) == state.arm, state.probabilities.dtype)
        return {
            **{f"probability.{i}": state.probabilities[i] for i in arms},
            **{f"played.{i}": plays[i] for i in arms},
        }
