"""UCRL2: optimism about the gain, with everything that was ever seen."""

from __future__ import annotations

import numpy as np

from driftwise.algorithms.average_reward.optimistic_gain import OptimisticGain
from driftwise.algorithms.registry import register
from driftwise.base.types import Forgetting, Numeric, Spec
from driftwise.base.validation import require_numeric
from driftwise.parts.extended_value_iteration import MAX_ITERATIONS
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.radii import CountRadius


@register(
    forgetting="none",
    exploration="optimism over L1 balls",
    bound="D S A^(1/2) T^(1/2) without drift",
    paper="Jaksch, Ortner & Auer 2010",
)
def ucrl2(
    spec: Spec, *, delta: Numeric = 0.05, scale: Numeric = 1.0, max_iterations: int = MAX_ITERATIONS
) -> OptimisticGain:
    r"""Act on the MDP of the highest gain among all that the samples allow, in epochs.

    In an epoch that starts in step t, with N(s,a) samples of a pair before it, rewards lie within
    $\sqrt{7\log(2SAt/\delta)/(2\max(1,N))}$ of their means and transitions within an L1 distance of
    $\sqrt{14S\log(2At/\delta)/\max(1,N)}$. Extended value iteration stops at a span below $1/\sqrt t$. The
    epoch ends before a pair that was visited in it $\max(1,N)$ times.

    Args:
      delta: $\delta \in (0, 1]$, the probability that the bound fails.
      scale: what both radii are multiplied with; 1 is theory's, far smaller ones do better in practice.
      max_iterations: of value iteration in an epoch, after which the policy it has is taken.

    Reference: Jaksch, Ortner & Auer, "Near-optimal Regret Bounds for Reinforcement Learning", JMLR 2010,
    Figure 1 (the algorithm) and Figure 2 (the inner maximum).

    Deviations from the paper: a pair without samples may pay 1 and lead anywhere, which the radii say
    themselves unless the scale is small; value iteration has a cap.
    """
    return with_ucrl2_radii(spec, NoForgetting(), delta=delta, scale=scale, max_iterations=max_iterations)


def with_ucrl2_radii(
    spec: Spec, forgetting: Forgetting, *, delta: Numeric, scale: Numeric, max_iterations: int
) -> OptimisticGain:
    """An agent with the radii of UCRL2 and any forgetting."""
    sizes = spec.num_states, spec.num_actions
    delta = np.asarray(require_numeric("delta", delta, above=0, at_most=1))
    return OptimisticGain(
        spec,
        forgetting,
        CountRadius(3.5 * np.log(2 * sizes[0] * sizes[1] / delta), 3.5, scale),
        CountRadius(14 * sizes[0] * np.log(2 * sizes[1] / delta), 14 * sizes[0], scale),
        max_iterations=max_iterations,
    )
