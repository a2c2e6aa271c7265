"""Random linear MDPs on the simplex."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Positive, Seed
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register


@register
def random_linear_mdp(
    *,
    num_states: Count = 20,
    num_actions: Count = 5,
    dim: Count = 10,
    horizon: Count = 10,
    drift: Drift | None = None,
    concentration: Positive = 0.1,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    r"""A linear MDP whose features and measures are drawn from Dirichlet distributions.

    Features $\phi(s,a) \sim \mathrm{Dir}(\alpha 1_d)$ lie on the simplex; each anchor has its own
    measures $\mu_h^{(i)} \sim \mathrm{Dir}(\alpha 1_S)$ and rewards $\theta_h \sim U[0,1]^d$, so every
    mixture of anchors is a valid linear MDP. Episodes start in a uniformly drawn state.

    Args:
      concentration: $\alpha$; small values give nearly one-hot features and nearly deterministic
        transitions, large ones make all actions alike.
    """
    drift = checked_drift(drift)
    require_models(
        (num_states, num_actions, dim, horizon),
        drift,
        steps=horizon,
        num_states=num_states,
        num_actions=num_actions,
        dim=dim,
        horizon=horizon,
    )
    rng = np.random.default_rng(seed)
    features = rng.dirichlet(np.full(dim, concentration), size=(num_states, num_actions))
    anchors = [  # one after the other: the first is the same however many follow
        (rng.random((horizon, dim)), rng.dirichlet(np.full(num_states, concentration), size=(horizon, dim)))
        for _ in range(drift.num_anchors)
    ]
    return LinearMdp(
        features=features,
        theta=np.stack([theta for theta, _ in anchors]),
        mu=np.stack([mu for _, mu in anchors]),
        initial=np.full(num_states, 1 / num_states),
        drift=drift,
        rewards=rewards,
    )
