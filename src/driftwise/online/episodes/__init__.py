"""Agents that play episodes, one step at a time."""

from driftwise.online.episodes.agent_building import (
    BlockLeastSquares,
    lost_weight,
    memory_needed,
    truncation_bound,
)
from driftwise.online.episodes.remembered import RememberedLeastSquares, RememberedMixture

__all__ = ["BlockLeastSquares", "RememberedLeastSquares", "RememberedMixture"]
__all__ += ["lost_weight", "memory_needed", "truncation_bound"]
