"""RiverSwim without episodes."""

from __future__ import annotations

from driftwise.base.arguments import Several
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.mdps.river_swim import rivers
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_mdp import RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register


@register
def continuing_river_swim(
    *, num_states: Several = 6, drift: Drift | None = None, rewards: RewardKind = "mean"
) -> ContinuingMdp:
    """The chain of `river_swim`, where the swimmer goes on from where it is; it starts at the left end.

    Two anchors: in the second the river has turned and everything is its mirror image. Both have the same
    gain and the same diameter.

    Reference: Strehl & Littman, "An Analysis of Model-Based Interval Estimation for Markov Decision
    Processes", 2008, with the numbers of Osband, Russo & Van Roy 2013. The turn is ours.
    """
    drift = checked_drift(drift, 2, "the river and the river turned")
    require_models((num_states, 2, 2 * num_states, 1), drift, num_states=num_states)
    return continuing_mdp(rivers(num_states)[: drift.num_anchors], drift=drift, rewards=rewards)
