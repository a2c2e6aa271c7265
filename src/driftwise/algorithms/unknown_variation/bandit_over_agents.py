"""Bandits over agents: EXP3 chooses which of several agents plays each block of episodes, as new."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register
from driftwise.algorithms.any_forgetting import Clip
from driftwise.algorithms.bandits.lin_ucb import sw_lin_ucb
from driftwise.algorithms.linear_mdps.lsvi_ucb import RadiusRun, lsvi_ucb_restart, opt_wlsvi
from driftwise.base import Agent, Wrapper, expand_grid, is_part, member, number, stack_parts
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import get_grids, index_part, numeric_values, part
from driftwise.base.random import choose_index, draw_uniform, fold
from driftwise.base.schema import add_defaults
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import ArgumentError, require_count, require_number, require_range
from driftwise.parts import Exp3, exp3, exp3_p
from driftwise.parts.experts import Form
from driftwise.theory import tuning
from driftwise.theory.bandit_tuning import bob_block_length, bob_windows

_DRAW = 1  # where an arm is drawn, below the key of an episode's plan; the agent's own draws are at the key


class ArmDraw(NamedTuple):
    """The arm drawn for the case that a block begins with the episode, and who planned the episode."""

    arm: Array
    probabilities: Array  # [I] with which it was drawn
    planner: Array  # the arm that planned
    inner: Any  # that arm's own


class BlockState(NamedTuple):
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
    the mean reward of a step in its block, with `low` and `high` mapped to 0 and 1, of the episodes that the
    arm has planned. After `num_episodes` (unless it is 0) a block ends, however short.
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
        log_weights, none = self.chooser.init(like), xp.asarray(0, dtype=xp.int64)
        base, arm = index_part(self.base, np.asarray(0)).init(features), xp.asarray(0, dtype=xp.int32)
        gained, chances = xp.asarray(0, dtype=like.dtype), self.chooser.probabilities(log_weights)
        return BlockState(base, arm, chances, log_weights, gained, counted=none, tick=none)

    def plan(self, state: BlockState, features: FeatureTable, key: Key) -> Plan:
        xp = namespace(state.log_weights)
        probabilities = self.chooser.probabilities(state.log_weights)
        chance = draw_uniform(fold(key, _DRAW), 1, state.log_weights.dtype)[0]
        drawn = choose_index(xp.cumulative_sum(probabilities), chance)
        playing = self._in_block(state, drawn, probabilities, features)
        plan = index_part(self.base, playing.arm).plan(playing.base, features, key)
        return plan._replace(drawn=ArmDraw(drawn, probabilities, playing.arm, plan.drawn))

    def update(self, state: BlockState, features: FeatureTable, plan: Plan, episode: Episode) -> BlockState:
        xp, draw = namespace(state.log_weights), plan.drawn
        playing = self._in_block(state, draw.arm, draw.probabilities, features)
        counts = draw.planner == playing.arm
        gained = playing.gained + xp.where(counts, xp.sum(episode.rewards), xp.zeros_like(state.gained))
        counted = playing.counted + counts
        steps = xp.clip(counted, 1, None) * self.spec.horizon
        gain = (gained / steps - self.low) / (self.high - self.low)
        learns = self._between_blocks(state.tick + 1) & (counted > 0)
        learnt = self.chooser.update(state.log_weights, playing.arm, gain, playing.probabilities)
        agent, plan = index_part(self.base, playing.arm), plan._replace(drawn=draw.inner)
        base = agent.update(playing.base, features, plan, episode)
        playing = playing._replace(base=base, log_weights=xp.where(learns, learnt, state.log_weights))
        return playing._replace(gained=gained, counted=counted, tick=state.tick + 1)

    def _in_block(self, state: BlockState, arm: Array, chances: Array, features: FeatureTable) -> BlockState:
        """The state in the block of the coming episode; if one begins, that of an arm drawn by `chances`."""
        zero, base = namespace(state.gained).zeros_like, index_part(self.base, arm).init(features)
        new = state._replace(base=base, arm=arm, probabilities=chances)
        new = new._replace(gained=zero(state.gained), counted=zero(state.counted))
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


BlockLength = int | Literal["corrected", "paper"]
_RATE = "d^(5/4) H^2 max(Δ, 1)^(1/4) K^(3/4)"  # at which the regret of both bandits over LSVI grows


@register(
    "the base's, chosen by EXP3.P",
    "the base's",
    "Touati & Vincent 2020; Cheung, Simchi-Levi & Zhu 2019",
    "the base's best, plus that of EXP3.P",
    takes_arms=True,
)
def borl(
    base: Agent | Sequence[Agent],
    *,
    num_episodes: int,
    block_length: BlockLength = "corrected",
    delta: float = 0.05,
    form: Form = "auer",
    low: Numeric = 0.0,
    high: Numeric = 1.0,
) -> BanditOverAgents:
    r"""Bandit over reinforcement learning: EXP3.P draws an agent for each block of $M$ episodes.
    Args:
      base: an agent with a grid in its numbers, or at least two agents that are alike but for theirs.
      block_length: $M$; `"corrected"` is $\lceil\sqrt{dK}\rceil$, `"paper"` is $\lceil\sqrt K\rceil$.
      delta: $\delta$ of EXP3.P.
      form: the parameters of EXP3.P, see `driftwise.parts.experts.exp3_p`.
    When to use: any agent's numbers should be chosen while it runs, with a bound.
    When not: the run is short. Every block restarts, and trying costs whole blocks.
    Reference: Touati & Vincent 2020, Section 5.1.
    Deviations from the paper: the length of blocks, as $\sqrt K$ does not give the bound that it claims; a
    block's gain is divided by its length and the horizon.
    """
    arms: Any = expand_grid(base) if is_part(base) else base
    are_agents = isinstance(arms, Sequence) and all(is_part(arm) and isinstance(arm, Agent) for arm in arms)
    if not (are_agents and arms):
        raise ArgumentError("base", "be an agent with a grid in its numbers, or a list of agents", base)
    if len(arms) == 1:
        raise ArgumentError("base", "have at least two agents to choose from", base, "one")
    length = _block_length(block_length, arms[0].spec.dim, num_episodes)
    return _over_blocks(arms, length, num_episodes, partial(exp3_p, delta=delta, form=form), low, high)


def _shorter(given: int | None, usual: int, num_episodes: int) -> int:
    """The length of a block that was given, or the usual one, at most that of the run."""
    return min(require_count("block_length", usual if given is None else given), num_episodes)


def _block_length(given: BlockLength, dim: int, num_episodes: int) -> int:
    if not isinstance(given, str):
        return given
    if given not in ("corrected", "paper"):
        raise ArgumentError("block_length", 'be episodes, "corrected" or "paper"', given)
    return tuning.borl_block_length(dim=dim, num_episodes=num_episodes, tuning=given)


@register(
    "exponential weights, rate chosen by EXP3.P",
    "UCB, sandwich or single norm",
    bound=f"{_RATE} + d^(1/4) H K^(3/4)",
    problem="linear MDP",
)
def opt_wlsvi_borl(
    spec: Spec,
    *,
    block_length: BlockLength = "corrected",
    form: Form = "auer",
    norm: Literal["sandwich", "single"] = "sandwich",
    clip: Clip = "paper",
    **run: Unpack[RadiusRun],
) -> BanditOverAgents:
    r"""OPT-WLSVI for an unknown variation: `borl` over the rates
    $\log(1/\eta_i) = 2^i/\sqrt{dK}$, $i = 0, \dots, \lfloor\log_2\sqrt K\rfloor$.

    The slowest rate is that for $\Delta = 1$. EXP3.P adds $HM\sqrt{K/M}$ to the bound.
    Args:
      block_length, form: as of `borl`.
      delta: $\delta$ of the radius and of EXP3.P.
    When to use: you want a bound for OPT-WLSVI without knowing the variation.
    When not: you want low regret in a run of usual length; see `adaptive_opt_wlsvi`.
    Reference: Touati & Vincent 2020, Section 5.1.
    Deviations from the paper: those of `borl`; arms are counted from 0: the grid is for variations 1 to K.
    """
    options, num_episodes = add_defaults(RadiusRun, run), run["num_episodes"]
    rates = tuning.borl_rates(dim=spec.dim, num_episodes=num_episodes)
    known: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon, **options)
    radii = [tuning.opt_wlsvi_radius(**known, rate=rate) for rate in rates]
    arms = expand_grid(opt_wlsvi(spec, rate=rates, radius=radii, norm=norm, clip=clip))
    length = _block_length(block_length, spec.dim, num_episodes)
    return _over_blocks(arms, length, num_episodes, partial(exp3_p, delta=options["delta"], form=form))


@register(
    "periodic restart, period chosen by EXP3.P",
    "UCB",
    bound=f"{_RATE} + d^(1/4) H^(3/2) K^(3/4)",
    problem="linear MDP",
)
def ada_lsvi_ucb_restart(
    spec: Spec, *, block_length: int | None = None, clip: Clip = "paper", **run: Unpack[RadiusRun]
) -> BanditOverAgents:
    r"""LSVI-UCB-Restart for an unknown variation: in each block of $M$ episodes EXP3.P draws a period
    $\lfloor M^{l/J}\rfloor$, $l = 0, \dots, J = \lfloor\ln M\rfloor$.
    Args:
      block_length: $M$; without it $\lceil 5\sqrt{TdH}\rceil$ with $T = KH$, at most $K$.
    When to use: you want a bound for restarts without knowing the variation.
    When not: you want low regret in a run of usual length; every block restarts.
    Reference: Zhou, Chen, Varshney & Jagmohan 2020, Algorithm 2.
    Deviations from the paper: those of `lsvi_ucb_restart`; equal periods count once; EXP3.P's bonus has
    $\ln(J/\delta)$ (Bubeck & Cesa-Bianchi 2012), where the paper likely has $\ln J$.
    """
    options, num_episodes = add_defaults(RadiusRun, run), require_count("num_episodes", run["num_episodes"])
    sizes: dict[str, Any] = dict(dim=spec.dim, horizon=spec.horizon)
    usual = tuning.ada_restart_block_length(**sizes, num_episodes=num_episodes)
    length = _shorter(block_length, usual, num_episodes)
    radius, periods = tuning.lsvi_ucb_radius(**sizes, **options), tuning.ada_restart_periods(length)
    base = lsvi_ucb_restart(spec, period=periods, radius=radius, clip=clip)
    chooser = partial(exp3_p, delta=options["delta"], form="bubeck")
    return _over_blocks(expand_grid(base), length, num_episodes, chooser)


@register(
    "sliding window, length chosen by EXP3",
    "UCB",
    bound="d^(7/8) max(Δ, 1)^(1/4) K^(3/4) + d^(1/2) K^(3/4)",
    problem="linear bandit",
)
def bob(
    spec: Spec,
    *,
    num_episodes: int,
    noise_scale: float,
    norm_bound: float = 1.0,
    delta: float = 0.05,
    radius_scale: float = 1.0,
    ridge: float = 1.0,
    block_length: int | None = None,
) -> BanditOverAgents:
    r"""Bandit over bandits: in each block of $M$ rounds EXP3 draws a window for a fresh SW-UCB.

    Windows are $\lfloor M^{j/J}\rfloor$, $j = 0, \dots, J = \lceil\ln M\rceil$, and the mean reward $\bar r$
    of a block gains $\frac12 + \bar r/(2q)$ with $q = S + 2\sigma\sqrt{\ln(K/\sqrt M)/M}$. EXP3 adds
    $M\sqrt{K/M}$ to the bound.
    Args:
      noise_scale, norm_bound, delta, radius_scale, ridge: as of `sw_lin_ucb`, each a single number.
      block_length: $M$; without it $\lfloor d\sqrt K\rfloor$, at most $K$.
    When to use: you want a bound for a sliding window without knowing the variation.
    When not: you want low regret in a run of usual length; see `adaptive_lin_ucb`.
    Reference: Cheung, Simchi-Levi & Zhu 2019, Algorithm 2.
    Deviations from the paper: rewards are at most $S$ in size instead of one; equal windows count once; the
    radius is `sw_lin_ucb`'s.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    norm_bound = require_number("norm_bound", norm_bound, above=0)
    known: Any = dict(noise_scale=noise_scale, delta=delta, radius_scale=radius_scale, ridge=ridge)
    known = {name: require_number(name, value) for name, value in known.items()} | {"norm_bound": norm_bound}
    usual = bob_block_length(dim=spec.dim, num_episodes=num_episodes)
    length = _shorter(block_length, usual, num_episodes)
    base = sw_lin_ucb(spec, length=bob_windows(length), num_episodes=num_episodes, **known)
    noise = 2 * noise_scale * math.sqrt(max(0.0, math.log(num_episodes / math.sqrt(length))) / length)
    largest = norm_bound + noise
    return _over_blocks(expand_grid(base), length, num_episodes, exp3, -largest, largest)


def _over_blocks(
    arms: Sequence[Agent], length: int, num_episodes: int, make_chooser: Any, low: Any = 0.0, high: Any = 1.0
) -> BanditOverAgents:
    """Return a bandit over arms, of which there may be one; none may hold a grid itself."""
    num_episodes = require_count("num_episodes", num_episodes)
    for arm in arms:
        for name, values in get_grids(arm).items():
            raise ArgumentError("base", f"have a single {name} in each of its agents", values)
    length = _shorter(length, length, num_episodes)
    chooser = make_chooser(len(arms), num_rounds=-(-num_episodes // length))
    return BanditOverAgents(stack_parts(arms), chooser, length, num_episodes, low, high)
