"""Uniform: every action alike, the floor of every comparison."""

from __future__ import annotations

from driftwise.algorithms.registry import register
from driftwise.base.types import Spec
from driftwise.parts.exploration import Uniform
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares


@register(
    problem="any",
    forgetting="none",
    exploration="uniform",
    bound="linear in K",
    paper="baseline",
)
def uniform(spec: Spec) -> LeastSquares:
    """Draw every action uniformly, whatever was seen.

    When to use: you want the baseline of no learning, or a pilot whose log covers all actions evenly.

    When not: anything depends on its choices.
    """
    return LeastSquares(spec, NoForgetting(), Uniform())
