"""Bounds on dynamic regret, by name. Constants are those of the proofs; papers print orders of magnitude."""

from driftwise.theory.bounds.bandits import BANDIT_BOUNDS
from driftwise.theory.bounds.bound import (
    Bound,
    BoundValue,
    ProblemClass,
    Setting,
    best_memory,
    first_useful_length,
)
from driftwise.theory.bounds.mdps import MDP_BOUNDS

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in (*MDP_BOUNDS, *BANDIT_BOUNDS)}

__all__ = ["BOUNDS", "Bound", "BoundValue", "ProblemClass", "Setting", "best_memory", "first_useful_length"]
__all__ += ["stated_bound"]


def stated_bound(algorithm: str) -> Bound | None:
    """Return the first valid bound of an algorithm without further assumptions, if there is one."""
    candidates = (bound for bound in BOUNDS.values() if bound.algorithm == algorithm)
    return next((bound for bound in candidates if bound.is_unconditional), None)
