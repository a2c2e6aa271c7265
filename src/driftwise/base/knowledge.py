"""Knowledge of a problem besides features, by types that agents need: extras of a table, and conditions."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from driftwise.base.types import Array


class MeanRewards(NamedTuple):
    """The mean rewards of this episode."""

    array: Array  # [H, N]
    label = "rewards"


class AnchorMeasures(NamedTuple):
    """The anchors' measures μ of successors."""

    array: Array  # [J, H, d, S]
    label = "measures"


class InitialDistribution(NamedTuple):
    """The distribution of the first state."""

    array: Array  # [S]
    label = "initial"


class SuccessorProjection(NamedTuple):
    """The projection onto the span of known features of successors."""

    array: Array  # [S, S]
    label = "projection"


class Positions(NamedTuple):
    """Where the state and the action of each row lie in [0, 1]."""

    array: Array  # [N, 2], or another number of coordinates
    label = "positions"


class SharedSteps:
    """The condition that transitions do not depend on the step."""

    label = "shared_steps"


class FixedTransitions:
    """The condition that transitions do not drift."""

    label = "fixed_transitions"


class Continuing:
    """The condition that the problem has no episodes."""

    label = "continuing"


class RowProducts(NamedTuple):
    """The products φ_i φ_j of each row, i ≤ j, off-diagonal ones twice; left out where too large."""

    array: Array  # [N, d(d+1)/2]


class OptimalDesign(NamedTuple):
    """Probabilities of a G-optimal design, where the rows are the same in every episode."""

    array: Array  # [N]


def name_needs(needs: Iterable[Any]) -> str:
    """Return the labels of the needs of an agent as text."""
    return " and ".join(need.label for need in needs)
