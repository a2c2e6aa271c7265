"""Uniform: every action alike, the floor of every comparison."""

from __future__ import annotations

from driftwise.algorithms.registry import register
from driftwise.exploration import Uniform
from driftwise.forgetting import NoForgetting
from driftwise.least_squares import LeastSquares
from driftwise.theory.tuning import check_run
from driftwise.types import Spec


def tuned(spec: Spec, *, num_episodes: int = 1, variation: float = 0.0) -> LeastSquares:
    """The same as `uniform(spec)`: there is nothing to tune."""
    check_run(num_episodes, variation)
    return uniform(spec)


@register(
    tuned=tuned,
    problem="any",
    forgetting="none",
    exploration="uniform",
    bound="linear in K",
    paper="baseline",
)
def uniform(spec: Spec) -> LeastSquares:
    """Draw every action uniformly, whatever was seen.

    Args:
      spec: sizes of the problem, `environment.spec`.
    """
    return LeastSquares(spec, NoForgetting(), Uniform())
