"""Makers of drifting MDPs without episodes."""

import numpy as np

from driftwise.base.schema import AtLeastTwo, Count, Positive, Seed
from driftwise.environments.drift import Drift, require_drift
from driftwise.environments.environment import register_environment, require_models
from driftwise.environments.mdps.sparse_rewards import river_anchors
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_mdp import RewardKind


@register_environment
def two_state_switch(*, drift: Drift | None = None, rewards: RewardKind = "mean") -> ContinuingMdp:
    """One action stays and the other goes to the other state; the second anchor swaps them.

    State 1 pays 1 and state 0 nothing, whatever is done. Both anchors have diameter 1, but who stays, first
    with one action and then with the other, has a window in which neither seems to leave: optimism about such
    estimates sends nobody back. That is what widening the confidence sets is for.
    Reference: Cheung, Simchi-Levi & Zhu, "Reinforcement Learning for Non-Stationary Markov Decision
    Processes: The Blessing of (More) Optimism", ICML 2020, Proposition 3. The rewards are ours.
    """
    drift = require_drift(drift, 2, "the switch and the switch swapped")
    stay, go = np.eye(2), np.eye(2)[::-1]
    reward = np.array([[0.0, 0.0], [1.0, 1.0]])
    anchors = [(reward, np.stack(pair, axis=1)) for pair in ((stay, go), (go, stay))]
    return continuing_mdp(anchors[: drift.num_anchors], drift=drift, rewards=rewards)


@register_environment
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

    A small `concentration` $\alpha$ gives nearly deterministic transitions; states out of reach are refused.
    """
    drift = require_drift(drift)
    sizes = (num_states, num_actions)
    arguments = dict(num_states=num_states, num_actions=num_actions)
    require_models((*sizes, num_states * num_actions, 1), drift, **arguments)
    rng = np.random.default_rng(seed)
    anchors = [  # one after the other: the first is the same however many follow
        (rng.random(sizes), rng.dirichlet(np.full(num_states, concentration), size=sizes))
        for _ in range(drift.num_anchors)
    ]
    return continuing_mdp(anchors, drift=drift, rewards=rewards)


@register_environment
def continuing_river_swim(
    *, num_states: AtLeastTwo = 6, drift: Drift | None = None, rewards: RewardKind = "mean"
) -> ContinuingMdp:
    """The chain of `river_swim`, where the swimmer goes on from where it is; it starts at the left end.

    In a second anchor the river has turned, with the same gain and the same diameter.
    Reference: Strehl & Littman, "An Analysis of Model-Based Interval Estimation for Markov Decision
    Processes", 2008, with the numbers of Osband, Russo & Van Roy 2013. The turn is ours.
    """
    drift = require_drift(drift, 2, "the river and the river turned")
    require_models((num_states, 2, 2 * num_states, 1), drift, num_states=num_states)
    return continuing_mdp(river_anchors(num_states)[: drift.num_anchors], drift=drift, rewards=rewards)
