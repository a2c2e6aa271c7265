"""Two states, and two actions that swap what they do."""

from __future__ import annotations

import numpy as np

from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.continuing_mdp import ContinuingMdp, continuing_mdp
from driftwise.environments.models.linear_mdp import RewardKind
from driftwise.environments.registry import register


@register
def two_state_switch(*, drift: Drift | None = None, rewards: RewardKind = "mean") -> ContinuingMdp:
    """One action stays and the other goes to the other state; the second anchor swaps them.

    State 1 pays 1 and state 0 nothing, whatever is done. Both anchors are deterministic and of diameter 1.
    Who stays, first with one action and then with the other, has a window in which neither action seems to
    leave: the mixture of what was seen has a diameter that grows with the window, and optimism about such
    estimates sends nobody back. That is what widening the confidence sets is for.

    Reference: Cheung, Simchi-Levi & Zhu, "Reinforcement Learning for Non-Stationary Markov Decision
    Processes: The Blessing of (More) Optimism", ICML 2020, Proposition 3. The rewards are ours.
    """
    drift = checked_drift(drift, 2, "the switch and the switch swapped")
    stay, go = np.eye(2), np.eye(2)[::-1]
    reward = np.array([[0.0, 0.0], [1.0, 1.0]])
    anchors = [(reward, np.stack(pair, axis=1)) for pair in ((stay, go), (go, stay))]
    return continuing_mdp(anchors[: drift.num_anchors], drift=drift, rewards=rewards)
