"""An agent that begins anew when a detector says that the past is over."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from driftwise.base.agent import Agent, Wrapper
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import choice, member, part
from driftwise.base.random import fold, uniform
from driftwise.base.types import Array, Episode, FeatureTable, Key, Plan
from driftwise.base.validation import ArgumentError
from driftwise.parts.detectors import Detector

CHANCE = 1  # where a detector's luck is drawn, below the key of an episode's plan


class Draw(NamedTuple):
    """A draw for the detector, and the epoch in which it was made."""

    chance: Array
    epoch: Array
    inner: Any  # the base's own


class RestartingState(NamedTuple):
    """States of the base and of the detector."""

    base: Any
    detector: Any
    epoch: Array  # how often it has begun anew
    alarm: Array  # 1 if the last episode was one, else 0


@part
class Restarting(Wrapper):
    r"""`base`, which forgets everything whenever `detector` raises an alarm; so does the detector.

    `watch="rewards"` shows it the mean reward of an episode's steps. `watch="residuals"` shows it the mean
    over the steps of what prediction errors $e_h = r_h + V_{h+1}(s_{h+1}) - \hat Q_h(s_h, a_h)$ are in excess
    of the bonus $b_h$, $\operatorname{sign}(e_h)\max(0, |e_h| - |b_h|)$, where $\hat Q$ is the index without
    its bonus: in a bandit $e$ is the reward less its prediction. An agent that knows how little it knows is
    thus not blamed for it: neither learning nor the new rewards of a better policy often raise an alarm.
    An episode that was planned before the last alarm still teaches the base, but does not count for the
    detector: predictions of an agent that is no more would look like another change.
    Learners of the gain predict no rewards, but relative values: for them it is `"rewards"` only.
    """

    base: Agent = member(Agent)
    detector: Detector = member(Detector)
    watch: Literal["rewards", "residuals"] = choice("rewards", "residuals", default="residuals")

    def __post_init__(self) -> None:
        if self.watch == "residuals" and "continuing" in self.needs:
            raise ArgumentError(
                "watch", "be 'rewards' around a base for problems without episodes", self.watch
            )

    def init(self, features: FeatureTable) -> RestartingState:
        xp = namespace(features.values)
        nothing = xp.zeros((), dtype=features.values.dtype)
        return RestartingState(
            base=self.base.init(features),
            detector=self.detector.init(nothing),
            epoch=xp.asarray(0, dtype=xp.int64),
            alarm=nothing,
        )

    def plan(self, state: RestartingState, features: FeatureTable, key: Key) -> Plan:
        plan = self.base.plan(state.base, features, key)
        chance = uniform(fold(key, CHANCE), 1, features.values.dtype)[0]
        return plan._replace(drawn=Draw(chance, state.epoch, plan.drawn))

    def update(
        self, state: RestartingState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> RestartingState:
        draw: Draw = plan.drawn
        xp, counts = namespace(episode.rewards), draw.epoch == state.epoch
        observed = self.observed(plan, episode)
        seen, changed = self.detector.detect(state.detector, observed, draw.chance)
        detector, alarm = where_tree(counts, seen, state.detector), changed & counts
        base = self.base.update(state.base, features, plan._replace(drawn=draw.inner), episode)
        return RestartingState(
            base=where_tree(alarm, self.base.init(features), base),
            detector=where_tree(alarm, self.detector.init(observed), detector),
            epoch=state.epoch + alarm,
            alarm=xp.where(alarm, xp.ones_like(state.alarm), xp.zeros_like(state.alarm)),
        )

    def observed(self, plan: Plan, episode: Episode) -> Array:
        """The number that the detector observes of an episode."""
        xp = namespace(episode.rewards)
        if self.watch == "rewards":
            return xp.mean(episode.rewards)
        at = (xp.arange(self.spec.horizon), episode.states, episode.actions)
        bonus = plan.bonus[at]
        error = episode.rewards + plan.values_ahead(episode.successors) - (plan.q[at] - bonus)
        excess = xp.abs(error) - xp.abs(bonus)
        return xp.mean(xp.sign(error) * xp.maximum(excess, xp.zeros_like(excess)))

    def diagnostics(self, state: RestartingState) -> dict[str, Array]:
        """Whether it began anew, by the names of the detector's events."""
        return dict.fromkeys(self.detector.events, state.alarm)
