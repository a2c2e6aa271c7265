"""All bounds by their names. Constants are those of the proofs; papers print orders of magnitude."""

from __future__ import annotations

from driftwise.theory.bound_bandits import BANDIT_BOUNDS
from driftwise.theory.bound_mdps import MDP_BOUNDS
from driftwise.theory.bounds import Bound

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in (*MDP_BOUNDS, *BANDIT_BOUNDS)}
