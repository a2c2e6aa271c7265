"""Random linear MDPs on the simplex."""

from __future__ import annotations

import numpy as np

from driftwise.drift import Drift, constant_unless
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.parts import to_config
from driftwise.validation import require_count, require_number


def random_linear_mdp(
    *,
    num_states: int = 20,
    num_actions: int = 5,
    dim: int = 10,
    horizon: int = 10,
    drift: Drift | None = None,
    concentration: float = 0.1,
    rewards: str = "mean",
    seed: int = 0,
) -> LinearMdp:
    r"""A linear MDP whose features and measures are drawn from Dirichlet distributions.

    Features $\phi(s,a) \sim \mathrm{Dir}(\alpha 1_d)$ lie on the simplex; each anchor has its own
    measures $\mu_h^{(i)} \sim \mathrm{Dir}(\alpha 1_S)$ and rewards $\theta_h \sim U[0,1]^d$, so every
    mixture of anchors is a valid linear MDP. Episodes start in a uniformly drawn state.

    Args:
      concentration: $\alpha$; small values give nearly one-hot features and nearly deterministic
        transitions, large ones make all actions alike.
    """
    drift = constant_unless(drift)
    num_states = require_count("num_states", num_states)
    num_actions = require_count("num_actions", num_actions)
    dim, horizon = require_count("dim", dim), require_count("horizon", horizon)
    concentration = require_number("concentration", concentration, above=0)
    rng = np.random.default_rng(require_count("seed", seed, at_least=0))
    anchors = drift.num_anchors
    features = rng.dirichlet(np.full(dim, concentration), size=(num_states, num_actions))
    return LinearMdp(
        features=features,
        theta=rng.random((anchors, horizon, dim)),
        mu=rng.dirichlet(np.full(num_states, concentration), size=(anchors, horizon, dim)),
        initial=np.full(num_states, 1 / num_states),
        drift=drift,
        rewards=rewards,  # pyright: ignore[reportArgumentType]
        name="random_linear_mdp",
        config=dict(
            num_states=num_states,
            num_actions=num_actions,
            dim=dim,
            horizon=horizon,
            drift=to_config(drift),
            concentration=concentration,
            rewards=rewards,
            seed=seed,
        ),
    )
