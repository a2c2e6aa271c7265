"""UCRL2 and its variants that forget: optimism about the gain in problems without episodes."""

import itertools
import math
from typing import Annotated, Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.base import Agent, ArgumentError, Continuing, Forgetting, Variation, member, number
from driftwise.base.arrays import namespace, where_tree
from driftwise.base.part import count, part
from driftwise.base.schema import add_defaults
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec
from driftwise.base.validation import require_choice, require_instance, require_number, require_numeric
from driftwise.parts import CountRadius, NoForgetting, Phases, RestartAt, SlidingWindow
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.extended_value_iteration import extended_value_iteration
from driftwise.parts.regression import empty_counts, visited, visits
from driftwise.theory.tuning import growing_phases


class Epoch(NamedTuple):
    q: Array  # [S, A]
    bonus: Array  # [S, A] what is added to the mean rewards
    policy: Array  # [S, A], of zeros and ones
    values: Array  # [S] relative values in the best plausible MDP
    gain: Array  # of which the gain is at most this
    known: Array  # [S, A] samples at its start
    visits: Array  # [S, A] steps since


class GainState(NamedTuple):
    moments: Moments  # gram [1, S, A, 1, 1], cross [1, S, A, 1, 1+S]
    epoch: Epoch
    age: Array  # steps since everything was last forgotten
    began: Array  # 1 if an epoch began with the last step, else 0
    span: Array  # of the relative values that the last step acted on


@part
class OptimisticGain(Agent):
    r"""The agent of `ucrl2`, with the samples that are not forgotten and rewards `min(1, r̂ + radius)`.

    An epoch is also over when everything was forgotten and, if there is a `period`, after every so many
    steps. Ties go to the first action. A plan's `values` are an upper bound of the best plausible gain.
    """

    needs = (Continuing,)
    spec: Spec = member(Spec)
    forgetting: Forgetting = member(Forgetting)
    reward_radius: CountRadius = member(CountRadius)
    transition_radius: CountRadius = member(CountRadius)
    period: Numeric = number(at_least=0, integer=True, default=0)
    max_iterations: int = count(default=1000)

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
        kernel = xp.where(unseen[..., None], xp.ones_like(kernel) / num_states, kernel)
        distance = xp.where(unseen, 2 * xp.ones_like(mean), self.transition_radius.at(counts, *times))
        tolerance = 1 / xp.sqrt(xp.astype(age + 1, counts.dtype))
        stop: dict[str, Any] = dict(tolerance=tolerance, max_iterations=self.max_iterations)
        best = extended_value_iteration(reward, kernel, distance, active=wanted, **stop)
        first = xp.argmax(greedy_policy(best.q), axis=-1)
        policy = xp.astype(first[:, None] == xp.arange(self.spec.num_actions), counts.dtype)
        return Epoch(best.q, reward - mean, policy, best.values, best.high, counts, xp.zeros_like(counts))

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
        began, span = xp.sum(epoch.visits) == 1, xp.max(epoch.values) - xp.min(epoch.values)
        following = where_tree(over, self._begun(moments, age, over), epoch)
        return GainState(moments, following, age, xp.astype(began, epoch.q.dtype), span)

    def diagnostics(self, state: GainState) -> dict[str, Array]:
        """Return whether an epoch began, and the span of the relative values it acted on."""
        return {"epochs": state.began, "span": state.span}


class Optimism(TypedDict, total=False):
    r"""Options of the radii and of value iteration.

    Args:
      scale: a factor of both radii, not of a widening; 1 is theory's, far smaller ones do better.
      max_iterations: of value iteration in an epoch, after which its policy is taken as it is.
    """

    delta: Annotated[Numeric, 0.05]
    scale: Annotated[Numeric, 1.0]
    max_iterations: Annotated[int, 1000]


@register("none", "optimism, L1 balls", bound="D S A^(1/2) T^(1/2) without drift")
def ucrl2(spec: Spec, **optimism: Unpack[Optimism]) -> OptimisticGain:
    r"""Act on the MDP of the highest gain among all that the samples allow, in epochs.

    In an epoch that starts in step t, with N(s,a) samples of a pair before it, rewards lie within
    $\sqrt{7\log(2SAt/\delta)/(2\max(1,N))}$ of their means and transitions within an L1 distance of
    $\sqrt{14S\log(2At/\delta)/\max(1,N)}$; extended value iteration stops at a span below $1/\sqrt t$. An
    epoch ends before a pair that was visited in it $\max(1,N)$ times.
    When to use: the problem has no episodes and does not drift; it is the baseline of this family.
    When not: the problem drifts. Samples of the old problem stay in the means for ever.
    Reference: Jaksch, Ortner & Auer 2010, Figure 1 (the algorithm) and Figure 2 (the inner maximum).
    Deviations from the paper: a pair without samples may pay 1 and lead anywhere; value iteration has a cap.
    """
    return _with_ucrl2_radii(spec, NoForgetting(), **optimism)


def _with_ucrl2_radii(spec: Spec, forgetting: Forgetting, **optimism: Unpack[Optimism]) -> OptimisticGain:
    size, (delta, scale, most) = spec.num_states, _checked(**optimism)
    rewards = CountRadius(3.5 * np.log(2 * size * spec.num_actions / delta), 3.5, scale)
    transitions = CountRadius(14 * size * np.log(2 * spec.num_actions / delta), 14 * size, scale)
    return OptimisticGain(spec, forgetting, rewards, transitions, max_iterations=most)


def _checked(**optimism: Unpack[Optimism]) -> tuple[np.ndarray, Numeric, int]:
    """δ, whose logarithm is taken, the scale and the cap."""
    options = add_defaults(Optimism, optimism)
    delta = np.asarray(require_numeric("delta", options["delta"], above=0, at_most=1))
    return delta, options["scale"], options["max_iterations"]


def tune_sw_ucrl(
    spec: Spec, *, num_episodes: int, changes: tuple[int, ...], diameter: float, delta: float = 0.05
) -> dict[str, Any]:
    """The window for ℓ changes, `W = (16.53 T D S √(A log(T/δ)) / ℓ)^(2/3)` [likely].

    `changes` are `environment.changes(num_episodes)`, D is `environment.diameter(num_episodes)`.
    """
    if not isinstance(changes, (tuple, list)):
        raise ArgumentError("changes", "be a list of steps", changes)
    diameter = require_number("diameter", diameter, above=0)
    delta = require_number("delta", delta, above=0, at_most=1)
    spread = diameter * spec.num_states * math.sqrt(spec.num_actions * math.log(num_episodes / delta))
    best = (16.53 * num_episodes * spread / max(1, len(changes))) ** (2 / 3)
    return dict(length=min(math.ceil(best), num_episodes))


@tuned_by(tune_sw_ucrl, "length")
@register("sliding window", "optimism, L1 balls", bound="ℓ^(1/3) T^(2/3) D^(2/3) S^(2/3) A^(1/3), ℓ changes")
def sw_ucrl(spec: Spec, *, length: Numeric, **optimism: Unpack[Optimism]) -> OptimisticGain:
    r"""UCRL2 whose samples are those of the last W steps before the epoch.

    When to use: the problem has no episodes, and you know roughly how many steps it stays the same.
    When not: rewards or transitions move in every step; `swucrl2_cw` has a bound for that.
    Reference: Gajane, Ortner & Auer 2018, Algorithm 1 [likely: the radii, which are those of UCRL2].
    Deviations from the paper: those of `ucrl2`.
    """
    return _with_ucrl2_radii(spec, SlidingWindow(length), **optimism)


def tune_swucrl2_cw(spec: Spec, *, num_episodes: int, variations: Variation) -> dict[str, Any]:
    """The window and the widening for the variation `environment.variation(num_episodes)`.

    `W = 3 S^(2/3) A^(1/2) T^(1/2) / (B_r + B_p + 1)^(1/2)` and `η = √((B_p + 1) W / T)`.
    """
    budgets = require_instance("variations", variations, Variation)
    size = 3 * spec.num_states ** (2 / 3) * math.sqrt(spec.num_actions * num_episodes)
    best = size / math.sqrt(budgets.total + 1)
    widening = math.sqrt((budgets.transition_budget + 1) * best / num_episodes)
    return dict(length=min(math.ceil(best), num_episodes), widening=widening)


@tuned_by(tune_swucrl2_cw, "length", "widening")
@register(
    "sliding window", "optimism, wide L1 balls", bound="D (B_r + B_p + 1)^(1/4) S^(2/3) A^(1/2) T^(3/4)"
)
def swucrl2_cw(
    spec: Spec, *, length: Numeric, widening: Numeric, num_episodes: int, **optimism: Unpack[Optimism]
) -> OptimisticGain:
    r"""UCRL2 on the last W steps, with L1 balls widened by η so that no state seems out of reach.

    With N(s,a) samples in the window, rewards lie within $2\sqrt{2\log(SAT/\delta)/\max(1,N)}$ of their means
    and transitions within an L1 distance of $2\sqrt{2S\log(SAT/\delta)/\max(1,N)} + \eta$. An epoch ends as
    in UCRL2, and after every W steps. The optimistic diameter is at most $2/\eta$.
    Args:
      widening: $\eta \ge 0$.
      num_episodes: $T$, the number of steps.
    When to use: the problem has no episodes, and its transitions move slowly.
    When not: it is the rewards alone that move; widening then only makes the agent explore more.
    Reference: Cheung, Simchi-Levi & Zhu 2020, Algorithm 1 and Theorem 1.
    Deviations from the paper: those of `ucrl2`; epochs end when W, 2W, … steps were played.
    """
    num_episodes = require_number("num_episodes", num_episodes, at_least=1, integer=True)
    delta, scale, most = _checked(**optimism)
    logarithm = np.log(spec.num_states * spec.num_actions * num_episodes / delta)
    rewards = CountRadius(8 * logarithm, scale=scale)
    transitions = CountRadius(8 * spec.num_states * logarithm, scale=scale, widening=widening)
    return OptimisticGain(spec, SlidingWindow(length), rewards, transitions, length, most)


def tune_variation_ucrl(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    variations: Variation,
    tuning: Literal["ours", "paper"] = "ours",
    diameter: float | None = None,
) -> dict[str, Any]:
    """Phases of `⌈i²/V²⌉` steps for a variation V, each widened by its share of `variations`.

    V is `variation`, their `total`, or for `tuning="paper"` `V_r + D V_p` with the `diameter` D.
    """
    moves = require_instance("variations", variations, Variation)
    if not len(moves.reward) == len(moves.transition) == num_episodes - 1:
        expected = f"have {num_episodes - 1} moves, one less than num_episodes"
        got = f"{len(moves.reward)} of rewards and {len(moves.transition)} of transitions"
        raise ArgumentError("variations", expected, variations, got)
    if require_choice("tuning", tuning, ("ours", "paper")) == "paper":
        if diameter is None:
            raise ArgumentError("diameter", "be given for tuning='paper'", diameter)
        bound = require_number("diameter", diameter, above=0)
        variation = float(moves.reward_budget + bound * moves.transition_budget)
    restarts = growing_phases(num_episodes=num_episodes, variation=variation)
    phases = [*itertools.pairwise((0, *restarts, num_episodes))]
    numbers: dict[str, Any] = dict(restarts=restarts)
    for kind in ("reward", "transition"):
        sums = tuple(float(getattr(moves, kind)[start : end - 1].sum()) for start, end in phases)
        numbers[f"{kind}_widening"] = Phases(restarts, sums)
    return numbers


@tuned_by(tune_variation_ucrl, "restarts", "reward_widening", "transition_widening")
@register(
    "restarts at growing intervals",
    "optimism, wide L1 balls",
    bound="D S A^(1/2) (V_r + V_p)^(1/3) T^(2/3), ours; V_r + D V_p in the paper",
)
def variation_ucrl(
    spec: Spec,
    *,
    restarts: tuple[int, ...] = (),
    reward_widening: Numeric | Phases = 0.0,
    transition_widening: Numeric | Phases = 0.0,
    **optimism: Unpack[Optimism],
) -> OptimisticGain:
    r"""UCRL2 that restarts at given steps, with radii widened by the variation since.

    In step t of a phase, with N(s,a) samples in the phase, rewards lie within $V_r +
    \sqrt{8\log(8SAt^3/\delta_\tau)/\max(1,N)}$ of their means and transitions within an L1 distance of $V_p +
    \sqrt{8S\log(8SAt^3/\delta_\tau)/\max(1,N)}$, with $\delta_\tau = \delta/(2\tau^2)$ for a start in $\tau$.
    Args:
      restarts: steps, from 0, before which everything is forgotten.
      reward_widening: $V_r \ge 0$, the variation of rewards in a phase, or `Phases(restarts, values)`.
      transition_widening: $V_p \ge 0$, that of transitions.

    The paper's phases have $\lceil i^2/(V_r + DV_p)^2\rceil$ steps, $i = 1, 2, \dots$, for regret of at most
    $74DS(V_r + DV_p)^{1/3}T^{2/3}\sqrt{A\log(16S^2AT^5/\delta)}$. Those of `tuned` are ours, for $V = V_r +
    V_p$, with regret of the order $DS\sqrt A\,V^{1/3}T^{2/3}$, up to $D^{1/3}$ times less.
    When to use: the problem has no episodes, and you know how much it varies in all.
    When not: the variation is unknown. Phases and radii are made from it.
    Reference: Ortner, Gajane & Auer 2019, Algorithms 1 and 2 and Theorem 3. Its regret is $v^*_T(s_1) -
    \sum_t r_t$, against the best policy for all T steps; regret is against the gain of each step here.
    Deviations from the paper: those of `ucrl2`; the phases of `tuned`; moves from one phase to the next are
    no part of a phase's variation.
    """
    num_states, (delta, scale, most) = spec.num_states, _checked(**optimism)
    logarithm = np.log(16 * num_states * spec.num_actions / delta)
    rewards, transitions = ("reward_widening", reward_widening), ("transition_widening", transition_widening)
    radii = []
    for (name, widening), size in ((rewards, 1), (transitions, num_states)):
        if not isinstance(widening, Phases):
            widening = require_numeric(name, widening, at_least=0)
        elif widening.starts != tuple(restarts):
            raise ArgumentError(name, f"have phases that start at the restarts {restarts}", widening.starts)
        radii.append(CountRadius(8 * size * logarithm, 24 * size, scale, widening, 16 * size))
    return OptimisticGain(spec, RestartAt(restarts), *radii, max_iterations=most)
