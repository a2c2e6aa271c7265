"""Random MDPs without episodes."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Positive, Seed
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_mdp import RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register


@register
def random_communicating_mdp(
    *,
    num_states: Count = 6,
    num_actions: Count = 2,
    drift: Drift | None = None,
    concentration: Positive = 0.3,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> ContinuingMdp:
    r"""Each anchor's kernel has rows drawn from $\mathrm{Dir}(\alpha 1_S)$, its mean rewards from $U[0,1]$.

    Args:
      concentration: $\alpha$; small values give nearly deterministic transitions, so small ones that some
        state cannot be reached are refused; a chance below 1e-15 is none.
    """
    drift = checked_drift(drift)
    require_models(
        (num_states, num_actions, num_states * num_actions, 1),
        drift,
        num_states=num_states,
        num_actions=num_actions,
    )
    rng = np.random.default_rng(seed)
    sizes = (num_states, num_actions)
    anchors = [  # one after the other: the first is the same however many follow
        (rng.random(sizes), rng.dirichlet(np.full(num_states, concentration), size=sizes))
        for _ in range(drift.num_anchors)
    ]
    return continuing_mdp(anchors, drift=drift, rewards=rewards)
