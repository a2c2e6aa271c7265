"""Latent chains: one of several latent directions is good at a time."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Seed, Several, Share
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register


@register
def latent_chains(
    *,
    num_chains: Several = 5,
    states_per_chain: Count = 3,
    num_actions: Several = 7,
    horizon: Count = 10,
    drift: Drift | None = None,
    hold: Share = 0.9,
    poor_hold: Share = 0.5,
    poor_reward: Share = 0.1,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """Chains of states that an agent can follow; which chain is worth following changes.

    Every state belongs to a chain. One action of it (drawn from `seed`) follows the chain: in the good
    chain that pays 1 and stays in the chain with probability `hold`, in the others `poor_reward` and
    `poor_hold`; what is left of the probability goes to a state drawn uniformly. All other actions are
    switches: they pay nothing and lead to some chain, the same one whenever they share a latent direction.
    An agent has to find, among the chains, the one that pays now.

    Features are one-hot over `dim = 2·num_chains` latent directions: follow chain i, switch to chain i.
    Measures are uniform within chains, which are the features of successors. Anchor j makes chain j the
    good one. The defaults have the sizes S = 15, A = 7, d = 10, H = 10.

    Reference: after the synthetic linear MDP with five special chains of Zhou, Chen, Varshney & Jagmohan,
    "Nonstationary Reinforcement Learning with Linear Function Approximation", 2020; the probabilities and
    rewards are ours.
    """
    drift = checked_drift(drift, num_chains, "one for each chain")
    num_states, dim = num_chains * states_per_chain, 2 * num_chains
    require_models(
        (num_states, num_actions, dim, horizon),
        drift,
        num_chains=num_chains,
        states_per_chain=states_per_chain,
        num_actions=num_actions,
        horizon=horizon,
    )
    chain = np.repeat(np.arange(num_chains), states_per_chain)  # of each state
    rng = np.random.default_rng(seed)
    latent = num_chains + rng.integers(num_chains, size=(num_states, num_actions))
    latent[np.arange(num_states), rng.integers(num_actions, size=num_states)] = chain

    inside = (chain == np.arange(num_chains)[:, None]) / states_per_chain
    theta = np.zeros((drift.num_anchors, horizon, dim))
    mu = np.empty((drift.num_anchors, horizon, dim, num_states))
    for good in range(drift.num_anchors):
        is_good = np.arange(num_chains) == good
        stay = np.where(is_good, hold, poor_hold)[:, None]
        theta[good, :, :num_chains] = np.where(is_good, 1.0, poor_reward)
        mu[good, :, :num_chains] = stay * inside + (1 - stay) / num_states
        mu[good, :, num_chains:] = inside
    return LinearMdp(
        features=np.eye(dim)[latent],
        theta=theta,
        mu=mu,
        initial=np.full(num_states, 1 / num_states),
        drift=drift,
        rewards=rewards,
        successor_features=np.eye(num_chains)[chain],
    )
