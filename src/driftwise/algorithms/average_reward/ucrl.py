"""UCRL2, and its variants that forget: SW-UCRL, SWUCRL2-CW and variation-aware UCRL."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Literal, TypedDict, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.average_reward.optimistic_gain import OptimisticGain
from driftwise.base.schema import add_defaults
from driftwise.base.types import Forgetting, Numeric, Spec, Variation
from driftwise.base.validation import (
    ArgumentError,
    require_choice,
    require_count,
    require_instance,
    require_number,
    require_numeric,
)
from driftwise.parts import CountRadius, NoForgetting, Phases, RestartAt, SlidingWindow
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS
from driftwise.theory.tuning import growing_phases


class Optimism(TypedDict, total=False):
    r"""The chance that the radii fail, their scale, and a cap of value iteration.

    Args:
      delta: $\delta \in (0, 1]$, the probability that the bound fails.
      scale: a factor of both radii, not of a widening; 1 is theory's, far smaller ones do better.
      max_iterations: of value iteration in an epoch, after which its policy is taken as it is.
    """

    delta: Annotated[Numeric, 0.05]
    scale: Annotated[Numeric, 1.0]
    max_iterations: Annotated[int, MAX_ITERATIONS]


@register("none", "optimism over L1 balls", bound="D S A^(1/2) T^(1/2) without drift")
def ucrl2(spec: Spec, **optimism: Unpack[Optimism]) -> OptimisticGain:
    r"""Act on the MDP of the highest gain among all that the samples allow, in epochs.

    In an epoch that starts in step t, with N(s,a) samples of a pair before it, rewards lie within
    $\sqrt{7\log(2SAt/\delta)/(2\max(1,N))}$ of their means and transitions within an L1 distance of
    $\sqrt{14S\log(2At/\delta)/\max(1,N)}$. Extended value iteration stops at a span below $1/\sqrt t$. The
    epoch ends before a pair that was visited in it $\max(1,N)$ times.

    When to use: the problem has no episodes and does not drift; it is the baseline of this family.
    When not: the problem drifts. Samples of the old problem stay in the means for ever.
    Reference: Jaksch, Ortner & Auer 2010, Figure 1 (the algorithm) and Figure 2 (the inner maximum).
    Deviations from the paper: a pair without samples may pay 1 and lead anywhere, which the radii say
    themselves unless the scale is small; value iteration has a cap.
    """
    return _with_ucrl2_radii(spec, NoForgetting(), **optimism)


def _with_ucrl2_radii(spec: Spec, forgetting: Forgetting, **optimism: Unpack[Optimism]) -> OptimisticGain:
    sizes, (delta, scale, most) = (spec.num_states, spec.num_actions), _checked(**optimism)
    return OptimisticGain(
        spec,
        forgetting,
        CountRadius(3.5 * np.log(2 * sizes[0] * sizes[1] / delta), 3.5, scale),
        CountRadius(14 * sizes[0] * np.log(2 * sizes[1] / delta), 14 * sizes[0], scale),
        max_iterations=most,
    )


def _checked(**optimism: Unpack[Optimism]) -> tuple[np.ndarray, Numeric, int]:
    """δ, whose logarithm is taken, the scale and the cap."""
    options = add_defaults(Optimism, optimism)
    delta = np.asarray(require_numeric("delta", options["delta"], above=0, at_most=1))
    return delta, options["scale"], options["max_iterations"]


def tune_sw_ucrl(
    spec: Spec, *, num_episodes: int, changes: tuple[int, ...], diameter: float, delta: float = 0.05
) -> dict[str, Any]:
    """The window for ℓ changes, `W = (16.53 T D S √(A log(T/δ)) / ℓ)^(2/3)` [likely].

    They are `environment.changes(num_episodes)`, and D is `environment.diameter(num_episodes)`.
    """
    if not isinstance(changes, (tuple, list)):
        raise ArgumentError("changes", "be a list of steps", changes)
    diameter = require_number("diameter", diameter, above=0)
    delta = require_number("delta", delta, above=0, at_most=1)
    spread = diameter * spec.num_states * math.sqrt(spec.num_actions * math.log(num_episodes / delta))
    best = (16.53 * num_episodes * spread / max(1, len(changes))) ** (2 / 3)
    return dict(length=min(math.ceil(best), num_episodes))


@tuned_by(tune_sw_ucrl, "length")
@register(
    "sliding window", "optimism over L1 balls", bound="ℓ^(1/3) T^(2/3) D^(2/3) S^(2/3) A^(1/3), ℓ changes"
)
def sw_ucrl(spec: Spec, *, length: Numeric, **optimism: Unpack[Optimism]) -> OptimisticGain:
    r"""UCRL2 whose samples are those of the last W steps before the epoch.

    Args:
      length: $W$, steps in the window.
    When to use: the problem has no episodes, and you know roughly how many steps it stays the same.
    When not: rewards or transitions move in every step; `swucrl2_cw` has a bound for that.
    Reference: Gajane, Ortner & Auer 2018, Algorithm 1 [likely: the radii, which are those of UCRL2].
    Deviations from the paper: those of `ucrl2`. A tuned window is never longer than the run.
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
    "sliding window",
    "optimism over widened L1 balls",
    bound="D (B_r + B_p + 1)^(1/4) S^(2/3) A^(1/2) T^(3/4)",
)
def swucrl2_cw(
    spec: Spec, *, length: Numeric, widening: Numeric, num_episodes: int, **optimism: Unpack[Optimism]
) -> OptimisticGain:
    r"""UCRL2 on the last W steps, with L1 balls widened by η so that no state seems out of reach.

    With N(s,a) samples in the window, rewards lie within $2\sqrt{2\log(SAT/\delta)/\max(1,N)}$ of their means
    and transitions within an L1 distance of $2\sqrt{2S\log(SAT/\delta)/\max(1,N)} + \eta$. An epoch ends as
    in UCRL2, and after every W steps. Each ball lets half of η go anywhere, so the optimistic diameter is at
    most $2/\eta$ whatever mixture of MDPs the window holds.

    Args:
      length: $W$, steps in the window.
      widening: $\eta \ge 0$; with 0 the balls are those of the samples alone.
      num_episodes: $T$, the number of steps.
    When to use: the problem has no episodes and its transitions move slowly, so that a window mixes
    several of them.
    When not: it is the rewards alone that move; widening then only makes the agent explore more.
    Reference: Cheung, Simchi-Levi & Zhu 2020, Algorithm 1 and Theorem 1.
    Deviations from the paper: those of `ucrl2`; epochs end when W, 2W, … steps were played, where the printed
    loop could not go on. A tuned window is never longer than the run.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    delta, scale, most = _checked(**optimism)
    logarithm = np.log(spec.num_states * spec.num_actions * num_episodes / delta)
    return OptimisticGain(
        spec,
        SlidingWindow(length),
        CountRadius(8 * logarithm, scale=scale),
        CountRadius(8 * spec.num_states * logarithm, scale=scale, widening=widening),
        period=length,
        max_iterations=most,
    )


def tune_variation_ucrl(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    variations: Variation,
    tuning: Literal["ours", "paper"] = "ours",
    diameter: float | None = None,
) -> dict[str, Any]:
    """Phases of `⌈i²/V²⌉` steps for a variation V, each widened by its own share of `variations`.

    They are `environment.variation(num_episodes)`. `tuning="ours"`: V is their `total` `V_r + V_p`, given as
    `variation`, less for longer phases. `"paper"`: V is `V_r + D V_p` with the `diameter` D,
    `environment.diameter(num_episodes)`; it comes from `variations`, and `variation` is not used.
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
    reward, transition = (
        Phases(restarts, tuple(float(moves_of_kind[start : end - 1].sum()) for start, end in phases))
        for moves_of_kind in (moves.reward, moves.transition)
    )
    return dict(restarts=restarts, reward_widening=reward, transition_widening=transition)


@tuned_by(tune_variation_ucrl, "restarts", "reward_widening", "transition_widening")
@register(
    "restarts at growing intervals",
    "optimism over widened L1 balls",
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

    In step t of a phase, with N(s,a) samples in the phase, rewards lie within
    $V_r + \sqrt{8\log(8SAt^3/\delta_\tau)/\max(1,N)}$ of their means and transitions within an L1 distance of
    $V_p + \sqrt{8S\log(8SAt^3/\delta_\tau)/\max(1,N)}$, with $\delta_\tau = \delta/(2\tau^2)$ for a phase
    that starts in step $\tau$ of the run.

    Args:
      restarts: steps, from 0, before which everything is forgotten.
      reward_widening: $V_r \ge 0$, the variation of rewards in a phase, or `Phases(restarts, values)` with
        one for each.
      transition_widening: $V_p \ge 0$, that of transitions.

    The paper's phases have $\lceil i^2/(V_r + DV_p)^2\rceil$ steps, $i = 1, 2, \dots$, for regret of at most
    $74DS(V_r + DV_p)^{1/3}T^{2/3}\sqrt{A\log(16S^2AT^5/\delta)}$. Those of `tuned` are ours, for
    $V = V_r + V_p$, unless told otherwise: a phase of θ steps loses $DS\sqrt{A\theta}$, and $\theta D$ times
    its own variation at most; both sum to the order $DS\sqrt A\,V^{1/3}T^{2/3}$, up to $D^{1/3}$ times less.

    When to use: the problem has no episodes, and you know how much it varies in all.
    When not: the variation is unknown. Phases and radii are made from it.
    Reference: Ortner, Gajane & Auer 2019, Algorithms 1 and 2 and Theorem 3. Its regret is $v^*_T(s_1) -
    \sum_t r_t$, against the best policy for all T steps; regret is against the gain of each step here.
    Deviations from the paper: those of `ucrl2`; the phases of `tuned`; moves from one phase to the next are
    no part of a phase's variation, since no estimate mixes samples from both sides.
    """
    num_states, (delta, scale, most) = spec.num_states, _checked(**optimism)
    logarithm = np.log(16 * num_states * spec.num_actions / delta)
    radii = []
    for name, widening, size in (
        ("reward_widening", reward_widening, 1),
        ("transition_widening", transition_widening, num_states),
    ):
        if not isinstance(widening, Phases):
            widening = require_numeric(name, widening, at_least=0)
        elif widening.starts != tuple(restarts):
            raise ArgumentError(name, f"have phases that start at the restarts {restarts}", widening.starts)
        radii.append(CountRadius(8 * size * logarithm, 24 * size, scale, widening, 16 * size))
    return OptimisticGain(spec, RestartAt(restarts), *radii, max_iterations=most)
