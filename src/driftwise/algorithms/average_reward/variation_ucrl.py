"""Variation-aware UCRL: restarts at growing intervals, and radii that know how much the world moves."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from driftwise.algorithms.average_reward.optimistic_gain import OptimisticGain
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec, Variation
from driftwise.base.validation import ArgumentError, require_kind, require_numeric
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS
from driftwise.parts.forgetting import RestartAt
from driftwise.parts.radii import CountRadius, Phases
from driftwise.theory.tuning import growing_phases


def tuning(spec: Spec, *, num_episodes: int, variation: float, variations: Variation) -> dict[str, Any]:
    """Phases of `⌈i²/V²⌉` steps for a variation V, each widened by its own share of `variations`.

    They are `environment.variation(num_episodes)`, and V is their `total`, less for longer phases.
    """
    moves = require_kind("variations", variations, Variation)
    if not len(moves.reward) == len(moves.transition) == num_episodes - 1:
        expected = f"have {num_episodes - 1} moves, one less than num_episodes"
        got = f"{len(moves.reward)} of rewards and {len(moves.transition)} of transitions"
        raise ArgumentError("variations", expected, variations, got)
    restarts = growing_phases(num_episodes=num_episodes, variation=variation)
    phases = [*itertools.pairwise((0, *restarts, num_episodes))]
    reward, transition = (
        Phases(restarts, tuple(float(each[start : end - 1].sum()) for start, end in phases))
        for each in (moves.reward, moves.transition)
    )
    return dict(restarts=restarts, reward_widening=reward, transition_widening=transition)


@register(
    tuning=tuning,
    tunes=("restarts", "reward_widening", "transition_widening"),
    forgetting="restarts at growing intervals",
    exploration="optimism over widened L1 balls",
    bound="D S A^(1/2) V^(1/3) T^(2/3)",
    paper="Ortner, Gajane & Auer 2019",
)
def variation_ucrl(
    spec: Spec,
    *,
    restarts: tuple[int, ...] = (),
    reward_widening: Numeric | Phases = 0.0,
    transition_widening: Numeric | Phases = 0.0,
    delta: Numeric = 0.05,
    scale: Numeric = 1.0,
    max_iterations: int = MAX_ITERATIONS,
) -> OptimisticGain:
    r"""UCRL2 that starts afresh at given steps, with radii widened by the variation since.

    In step t of a phase, with N(s,a) samples in the phase, rewards lie within
    $V_r + \sqrt{8\log(8SAt^3/\delta_\tau)/\max(1,N)}$ of their means and transitions within an L1 distance of
    $V_p + \sqrt{8S\log(8SAt^3/\delta_\tau)/\max(1,N)}$, with $\delta_\tau = \delta/(2\tau^2)$ for a phase
    that starts in step $\tau$ of the run.

    Args:
      restarts: steps, from 0, before which everything is forgotten.
      reward_widening: $V_r \ge 0$, the variation of rewards in a phase, or `Phases(restarts, values)` with
        one for each.
      transition_widening: $V_p \ge 0$, that of transitions.
      delta: $\delta \in (0, 1]$, the probability that the bound fails.
      scale: what the roots are multiplied with, but not the widening; 1 is theory's.
      max_iterations: of value iteration in an epoch, after which the policy it has is taken.

    Reference: Ortner, Gajane & Auer, "Variational Regret Bounds for Reinforcement Learning", UAI 2019
    [likely: the constants of the radii and the lengths of the phases, which are from memory].

    Deviations from the paper: those of `ucrl2`; moves from one phase to the next are no part of a phase's
    variation, since no estimate mixes samples from both sides.
    """
    sizes = spec.num_states, spec.num_actions
    delta = np.asarray(require_numeric("delta", delta, above=0, at_most=1))
    logarithm = np.log(16 * sizes[0] * sizes[1] / delta)
    return OptimisticGain(
        spec,
        RestartAt(restarts),
        CountRadius(8 * logarithm, 24, scale, _widening("reward_widening", reward_widening, restarts), 16),
        CountRadius(
            8 * sizes[0] * logarithm,
            24 * sizes[0],
            scale,
            _widening("transition_widening", transition_widening, restarts),
            16 * sizes[0],
        ),
        max_iterations=max_iterations,
    )


def _widening(name: str, value: Numeric | Phases, restarts: tuple[int, ...]) -> Numeric | Phases:
    if not isinstance(value, Phases):
        return require_numeric(name, value, at_least=0)
    if value.starts != tuple(restarts):
        raise ArgumentError(name, f"have phases that start at the restarts {restarts}", value.starts)
    return value
