"""All bounds by their names. Constants are those of the proofs; papers print orders of magnitude."""

from __future__ import annotations

from driftwise.theory.bounds.bandits import BANDIT_BOUNDS
from driftwise.theory.bounds.bound import Bound
from driftwise.theory.bounds.mdps import MDP_BOUNDS

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in (*MDP_BOUNDS, *BANDIT_BOUNDS)}


def stated_bound(algorithm: str) -> Bound | None:
    """The bound that an algorithm is known by: its first here that assumes nothing more and still stands."""
    known = (bound for bound in BOUNDS.values() if bound.algorithm == algorithm)
    return next((bound for bound in known if not bound.assumes and bound.status != "withdrawn"), None)
