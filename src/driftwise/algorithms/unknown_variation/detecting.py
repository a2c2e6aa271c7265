"""Agents that restart when a test finds a change, and play now and then what the test asks for."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.algorithms.algorithm import register
from driftwise.algorithms.bandits.bandit_agent import require_bandit
from driftwise.base import Agent, Array, Episode, FeatureTable, Key, Numeric, Plan, Wrapper
from driftwise.base.arrays import compute_after, expand_like, map_stacked, map_tree, namespace, where_tree
from driftwise.base.part import choice, member, number, part
from driftwise.base.random import draw_uniform, fold
from driftwise.base.validation import ArgumentError, require_count, require_numeric
from driftwise.parts import ChangeTest, EllipsoidTest, LinkTest, MeansTest, link_from_name
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.link_regression import least_ridge
from driftwise.parts.links import LinkName

_FORCE = 2  # where it is drawn whether an episode is forced, below the key of its plan


class ForcedPlayDraw(NamedTuple):
    """Whether an episode was played by force, at which place, and in which epoch it was planned."""

    forced: Array
    place: Array
    epoch: Array
    chances: Array  # [H, S, A] the policy before the draw
    inner: Any  # the base's own


class DetectingState(NamedTuple):
    base: Any
    since: Any  # states of bases that began with each window, leaves `[W, ...]`; None where nothing is kept
    test: Any
    epoch: Array  # how often it has restarted
    alarm: Array  # 1 if the last episode was one, else 0


@part
class DetectAndRestart(Wrapper):
    r"""`base`, which forgets everything whenever `test` finds a change, and plays now and then for the test.

    In epoch $k$ an episode is played by force with probability $\min\{1, \alpha\sqrt k\}$, where $\alpha$ =
    `forcing`: for one of the places of the test, drawn evenly, the pair that is worth most to the test is
    taken in every state. A base that is `off_policy` learns from it, too. An episode that was planned before
    the last alarm still teaches the base, but does not count for the test. `keep="window"` restarts with a
    copy of the base that began with the shortest window in which the change shows.
    """

    base: Agent = member(Agent)
    test: ChangeTest = member(ChangeTest)
    forcing: Numeric = number(at_least=0, at_most=1)
    keep: Literal["nothing", "window"] = choice("nothing", "window", default="nothing")

    def __post_init__(self) -> None:
        if self.keep == "window" and not self.test.num_windows:
            raise ArgumentError("keep", "be 'nothing' for a test without windows", self.keep)
        low, high = self.reward_range
        if not low < high:
            expected = f"be for rewards that its base knows, which are in {self.base.reward_range}"
            raise ArgumentError("test", expected, self.test, f"one for rewards in {self.test.reward_range}")

    @property
    def reward_range(self) -> tuple[float, float]:
        (low, high), (least, largest) = self.base.reward_range, self.test.reward_range
        return max(low, least), min(high, largest)

    def init(self, features: FeatureTable) -> DetectingState:
        xp, like = namespace(features.values), features.values
        none, alarm = xp.asarray(0, dtype=xp.int64), xp.zeros((), dtype=like.dtype)
        fresh, test = self.base.init(features), self.test.init(self.spec, like)
        since = map_tree(self._in_every_window, fresh) if self.keep == "window" else None
        return DetectingState(fresh, since, test, none, alarm)

    def _in_every_window(self, leaf: Array) -> Array:
        return namespace(leaf).stack([leaf] * self.test.num_windows)

    def plan(self, state: DetectingState, features: FeatureTable, key: Key) -> Plan:
        xp, plan = namespace(state.alarm), self.base.plan(state.base, features, key)
        priority = self.test.priority(state.test, features)
        if features.present is not None:
            priority = xp.where(features.present, priority, -xp.inf)
        by_force = greedy_policy(priority.reshape(len(priority), *plan.policy.shape))
        share, num_places = self.forced_share(state), len(priority)
        chance = draw_uniform(fold(key, _FORCE), 1, share.dtype)[0]
        forced = chance < share
        place = xp.astype(xp.floor(num_places * chance / xp.where(forced, share, 1.0)), xp.int64)
        place = xp.minimum(place, xp.asarray(num_places - 1))
        chances = share * xp.mean(by_force, axis=0) + (1 - share) * plan.policy
        policy = xp.where(forced, by_force[place], plan.policy)
        drawn = ForcedPlayDraw(forced, place, state.epoch, chances, plan.drawn)
        return plan._replace(policy=policy, drawn=drawn)

    def forced_share(self, state: DetectingState) -> Array:
        """Return the probability that the next episode is played by force."""
        xp, dtype = namespace(state.alarm), state.alarm.dtype
        return xp.clip(self.forcing * xp.sqrt(xp.astype(state.epoch + 1, dtype)), None, 1)

    def action_probabilities(self, plan: Plan, key: Key) -> Array:
        return plan.drawn.chances[0, 0]

    def update(
        self, state: DetectingState, features: FeatureTable, plan: Plan, episode: Episode
    ) -> DetectingState:
        draw: ForcedPlayDraw = plan.drawn
        xp, counts = namespace(episode.rewards), draw.epoch == state.epoch
        seen, finding = self.test.observe(state.test, features, episode, draw.forced, draw.place)
        test, alarm = where_tree(counts, seen, state.test), finding.alarm & counts
        raised = xp.where(alarm, xp.ones_like(state.alarm), 0 * state.alarm)
        # On CPUs the base may factorise matrices, as the test does: one after the other.
        later = episode._replace(features=compute_after(episode.features, raised))

        def learnt(base: Any) -> Any:
            kept = base if self.base.off_policy else map_tree(lambda leaf: xp.asarray(leaf, copy=True), base)
            taught = self.base.update(base, features, plan._replace(drawn=draw.inner), later)
            return taught if self.base.off_policy else where_tree(draw.forced, kept, taught)

        base, start, since = learnt(state.base), self.base.init(features), state.since
        if since is not None:
            since = map_stacked(lambda _, base: learnt(base), None, since, episode.rewards)
            shortest = xp.argmax(finding.windows)
            over = alarm | (finding.ended & counts)
            fresh = map_tree(self._in_every_window, start)
            start = map_tree(lambda leaf: leaf[shortest], since)
            since = map_tree(lambda new, leaf: xp.where(expand_like(over, leaf), new, leaf), fresh, since)
        base, test = where_tree(alarm, start, base), where_tree(alarm, test.restart(), test)
        return DetectingState(base, since, test, state.epoch + alarm, raised)

    def diagnostics(self, state: DetectingState) -> dict[str, Array]:
        """Whether it restarted."""
        return {"alarms": state.alarm, "restarts": state.alarm}


def _forcing(dim: int, num_episodes: int, forcing: Numeric | None) -> Numeric:
    """Return `forcing` as given, or `√(d log K/K)`."""
    num = require_count("num_episodes", num_episodes)
    return min(1.0, math.sqrt(dim * math.log(num) / num)) if forcing is None else forcing


_PAPER = "ours, after Gerogiannis, Huang, Bose & Veeravalli 2025"


@register("restart on an alarm", "the base's, and forced plays", _PAPER, "none")
def detect_and_restart(
    base: Agent,
    *,
    num_episodes: int,
    noise_scale: Numeric | None = None,
    norm_bound: Numeric | None = None,
    delta: Numeric = 0.05,
    ridge: Numeric | None = None,
    forcing: Numeric | None = None,
    keep: Literal["nothing", "window"] = "nothing",
    num_functions: int | None = None,
    link: LinkName = "identity",
) -> DetectAndRestart:
    r"""An agent that restarts when what it sees now and what it saw before cannot have one parameter.

    Windows of every length $2^j$ are compared with what came before them by `EllipsoidTest` or `LinkTest`.
    Pairs of which least is known are played with probability $\alpha\sqrt k$ after $k-1$ alarms.
    Args:
      base: any agent, made for problems that do not change.
      noise_scale: $\sigma$ of rewards; without it 1/2, as for rewards in [0, 1]. Left out behind a link.
      norm_bound: $S \ge \|\theta\|$; without it 1 for a bandit, 5 behind a link, and $\sqrt d$ for an MDP.
      delta: $\delta$, the chance of a false alarm in the whole run.
      ridge: $\lambda > 0$ of the test; without it $(\sigma/S)^2$, or behind a link what theory asks for.
      forcing: $\alpha$; without it $\sqrt{d\log K/K}$. 0 looks only where the base does.
      keep: `"window"` restarts with what was learnt in the shortest window in which the change shows.
      num_functions: of next states that an MDP's transitions are tested by; without it 4.
      link: $\mu$ of a bandit with the means $\mu(x^\top\theta)$: `"logistic"` for clicks, `"log"` for counts.
        Changes are then found late, see `driftwise.parts.change_tests.LinkTest`. Online, rewards outside the
        link's range are refused.

    Forced exploration, a test and a restart around any base are the idea of Gerogiannis, Huang, Bose &
    Veeravalli 2025 (DAL) and Gerogiannis, Huang & Veeravalli 2026 (DARLING, for MDPs), of which we know the
    abstracts. Everything else here is ours, and no bound on the regret is known.
    When to use: the problem jumps, and false alarms must be rare with a promise.
    When not: it drifts slowly. Alarms come late, and forced plays are paid all the time.
    """
    spec, levels = base.spec, require_count("num_episodes", num_episodes).bit_length()
    share = _forcing(spec.dim, num_episodes, forcing)
    if link != "identity":
        require_bandit(spec)
        mean, bound = link_from_name(link), 5.0 if norm_bound is None else norm_bound
        for name, value in (("noise_scale", noise_scale), ("num_functions", num_functions)):
            if value is not None:
                raise ArgumentError(name, f"be left out behind the link {link!r}", value)
        least = least_ridge(mean, spec.dim, require_numeric("norm_bound", bound, above=0))
        test = LinkTest(levels, mean, bound, delta, least if ridge is None else ridge)
        return DetectAndRestart(base, test, share, keep)
    noise_scale = 0.5 if noise_scale is None else noise_scale
    num_functions = 4 if num_functions is None else num_functions
    if norm_bound is None:
        norm_bound = 1.0 if spec.horizon == 1 else math.sqrt(spec.dim)
    if ridge is None:
        noise = np.asarray(require_numeric("noise_scale", noise_scale, above=0))
        ridge = (noise / np.asarray(require_numeric("norm_bound", norm_bound, above=0))) ** 2
    test = EllipsoidTest(levels, noise_scale, norm_bound, delta, ridge, num_functions)
    return DetectAndRestart(base, test, share, keep)


@register(
    "restart on an alarm", "the base's, and a covering set by force", _PAPER, "none", problem="linear bandit"
)
def covering_restart(
    base: Agent,
    *,
    num_episodes: int,
    noise_scale: Numeric = 0.5,
    delta: Numeric = 0.05,
    forcing: Numeric | None = None,
    window: int = 256,
) -> DetectAndRestart:
    r"""A bandit that restarts when the mean reward of an arm has changed, of a few that it plays by force.

    The few are $d$ arms of which all others are combinations $\sum_ic_ia_i$ with $|c_i| \le 2$: a change that
    moves some arm by $\epsilon$ moves one of them by $\epsilon/(2d)$. Each has a likelihood-ratio test of its
    forced plays alone, `driftwise.parts.change_tests.MeansTest`.
    Args:
      base: any agent of a bandit, made for problems that do not change.
      delta: $\delta$, the chance of a false alarm, ever.
      forcing: $\alpha$; without it $\sqrt{d\log K/K}$. In epoch $k$ rounds are forced with $\alpha\sqrt k$.
      window: the newest forced plays of an arm among which a split is looked for.
    When to use: arms are the same in every round, the problem jumps, and false alarms must be rare.
    When not: the drift is slow, or arms change from round to round.
    Reference: Gerogiannis, Huang, Bose & Veeravalli 2025 (DAL), with a bound for changes that are far apart.
    We know its abstract: covering set, schedule and test are ours.
    """
    require_bandit(base.spec)
    share = _forcing(base.spec.dim, num_episodes, forcing)
    return DetectAndRestart(base, MeansTest(noise_scale, delta, window), share)
