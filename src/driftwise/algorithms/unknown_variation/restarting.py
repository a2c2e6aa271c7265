"""Agents that restart: when a detector raises an alarm, or by chance."""

from typing import Any, Literal, NamedTuple

from driftwise.algorithms.algorithm import register
from driftwise.base import Agent, ArgumentError, Continuing, Wrapper
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import choice, member, part
from driftwise.base.random import draw_uniform, fold
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan
from driftwise.parts import Detector, Glr, RandomRestart

_CHANCE = 1  # where a detector's luck is drawn, below the key of an episode's plan


class DetectorDraw(NamedTuple):
    """A draw for the detector, and the epoch in which it was made."""

    chance: Array
    epoch: Array
    inner: Any  # the base's own


class RestartingState(NamedTuple):
    base: Any
    detector: Any
    epoch: Array  # how often it has restarted
    alarm: Array  # 1 if the last episode was one, else 0


@part
class Restarting(Wrapper):
    r"""`base`, which forgets everything whenever `detector` raises an alarm; so does the detector.

    `watch="rewards"` shows it the mean reward of an episode's steps. `watch="residuals"` shows it the mean
    over the steps of what prediction errors $e_h = r_h + V_{h+1}(s_{h+1}) - \hat Q_h(s_h, a_h)$ are in excess
    of the bonus $b_h$, $\operatorname{sign}(e_h)\max(0, |e_h| - |b_h|)$, where $\hat Q$ is the index without
    its bonus: learning raises few alarms then. An episode that was planned before the last alarm still
    teaches the base, but does not count for the detector. Learners of the gain take `"rewards"` only.
    """

    base: Agent = member(Agent)
    detector: Detector = member(Detector)
    watch: Literal["rewards", "residuals"] = choice("rewards", "residuals", default="residuals")

    def __post_init__(self) -> None:
        if self.watch == "residuals" and Continuing in self.needs:
            expected = "be 'rewards' around a base for problems without episodes"
            raise ArgumentError("watch", expected, self.watch)

    def init(self, features: FeatureTable) -> RestartingState:
        xp, dtype = namespace(features.values), features.values.dtype
        alarm, epoch = xp.zeros((), dtype=dtype), xp.asarray(0, dtype=xp.int64)
        return RestartingState(self.base.init(features), self.detector.init(alarm), epoch, alarm)

    def plan(self, state: RestartingState, features: FeatureTable, key: Key) -> Plan:
        plan = self.base.plan(state.base, features, key)
        chance = draw_uniform(fold(key, _CHANCE), 1, features.values.dtype)[0]
        return plan._replace(drawn=DetectorDraw(chance, state.epoch, plan.drawn))

    def update(
        self, state: RestartingState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> RestartingState:
        draw: DetectorDraw = plan.drawn
        xp, counts = namespace(episode.rewards), draw.epoch == state.epoch
        observed = self.observation(plan, episode)
        seen, changed = self.detector.detect(state.detector, observed, draw.chance)
        detector, alarm = where_tree(counts, seen, state.detector), changed & counts
        base = self.base.update(state.base, features, plan._replace(drawn=draw.inner), episode)
        base = where_tree(alarm, self.base.init(features), base)
        detector = where_tree(alarm, self.detector.init(observed), detector)
        raised = xp.where(alarm, xp.ones_like(state.alarm), xp.zeros_like(state.alarm))
        return RestartingState(base, detector, state.epoch + alarm, raised)

    def observation(self, plan: Plan, episode: Episode) -> Array:
        """The number that the detector observes of an episode."""
        xp = namespace(episode.rewards)
        if self.watch == "rewards":
            return xp.mean(episode.rewards)
        error, bonus = plan.residuals(episode)
        return xp.mean(xp.sign(error) * xp.maximum(xp.abs(error) - xp.abs(bonus), 0))

    def diagnostics(self, state: RestartingState) -> dict[str, Array]:
        """Whether it restarted, by the names of the detector's events."""
        return dict.fromkeys(self.detector.events, state.alarm)


@register(
    "restart on an alarm",
    "the base's",
    "Besson et al. 2022; Liu, Lee & Shroff 2018",
    "none for linear problems",
)
def change_detection(
    base: Agent, *, detector: Detector | None = None, watch: Literal["rewards", "residuals"] = "residuals"
) -> Restarting:
    r"""An agent that restarts whenever a detector finds that its rewards have changed, or its errors.
    Args:
      detector: `Glr` or `Cusum` of `driftwise.parts.detectors`; without it `Glr()`.
      watch: `"rewards"` or `"residuals"`, as in `Restarting`.
    When to use: the problem jumps, and rewards or errors show it where the agent looks.
    When not: it drifts slowly, or something improves where the agent does not look.
    Reference: Besson, Kaufmann, Maillard & Seznec 2022 and Liu, Lee & Shroff 2018 for bandits of few arms.
    Deviations from the papers: one detector for all arms; no forced exploration.
    """
    return Restarting(base, Glr() if detector is None else detector, watch)


@register("restart by chance", "the base's", "baseline", "none")
def random_restart(base: Agent, *, probability: Numeric) -> Restarting:
    """An agent that restarts with the same probability after every episode: the honest baseline of MASTER.
    Args:
      probability: of a restart, in every episode.
    When to use: you want to know whether a detector does better than chance.
    When not: you want to profit from restarts. Those of chance fall anywhere.
    """
    return Restarting(base, RandomRestart(probability), "rewards")  # it looks at nothing
