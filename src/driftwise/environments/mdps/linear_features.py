"""Linear MDPs with fewer features than pairs: random ones, latent chains, and the lower bound's."""

from __future__ import annotations

import itertools
import math

import numpy as np

from driftwise.base.schema import AtLeastTwo, Count, Positive, Seed, Share
from driftwise.base.validation import ArgumentError, require_number
from driftwise.environments.drift.curves import Drift, require_drift
from driftwise.environments.environment import register_environment, require_models
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind


@register_environment
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

    Features are $\phi(s,a) \sim \mathrm{Dir}(\alpha 1_d)$; the measures of an anchor are
    $\mu_h^{(i)} \sim \mathrm{Dir}(\alpha 1_S)$, its rewards $\theta_h \sim U[0,1]^d$; first states uniform.

    Args:
      concentration: $\alpha$; small values give nearly one-hot features and nearly deterministic
        transitions, large ones make all actions alike.
    """
    drift = require_drift(drift)
    sizes = dict(num_states=num_states, num_actions=num_actions, dim=dim, horizon=horizon)
    require_models((num_states, num_actions, dim, horizon), drift, steps=horizon, **sizes)
    rng = np.random.default_rng(seed)
    features = rng.dirichlet(np.full(dim, concentration), size=(num_states, num_actions))
    anchors = [  # one after the other: the first is the same however many follow
        (rng.random((horizon, dim)), rng.dirichlet(np.full(num_states, concentration), size=(horizon, dim)))
        for _ in range(drift.num_anchors)
    ]
    theta, mu = map(np.stack, zip(*anchors, strict=True))
    return LinearMdp(features, theta, mu, np.full(num_states, 1 / num_states), drift, rewards)


@register_environment
def latent_chains(
    *,
    num_chains: AtLeastTwo = 5,
    states_per_chain: Count = 3,
    num_actions: AtLeastTwo = 7,
    horizon: Count = 10,
    drift: Drift | None = None,
    hold: Share = 0.9,
    poor_hold: Share = 0.5,
    poor_reward: Share = 0.1,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    """Chains of states that an agent can follow; which chain is worth following changes.

    One action of each state (drawn from `seed`) follows its chain: in the good one, chain j for anchor j,
    that pays 1 and stays with probability `hold`, in others `poor_reward` and `poor_hold`; else the next
    state is uniform. All other actions are switches: they pay nothing and lead to a uniform state of some
    chain, the same one whenever they share one of the `2·num_chains` latent directions, over which features
    are one-hot.
    Reference: after the synthetic linear MDP with five special chains of Zhou, Chen, Varshney & Jagmohan,
    "Nonstationary Reinforcement Learning with Linear Function Approximation", 2020; the probabilities and
    rewards are ours. Defaults have its sizes, S = 15, A = 7, d = 10, H = 10.
    """
    drift = require_drift(drift, num_chains, "one for each chain")
    num_states, dim = num_chains * states_per_chain, 2 * num_chains
    sizes = dict(num_chains=num_chains, states_per_chain=states_per_chain, num_actions=num_actions)
    require_models((num_states, num_actions, dim, horizon), drift, **sizes, horizon=horizon)
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
    initial, psi = np.full(num_states, 1 / num_states), np.eye(num_chains)[chain]
    return LinearMdp(np.eye(dim)[latent], theta, mu, initial, drift, rewards, successor_features=psi)


@register_environment
def hard_instance(
    *,
    num_signs: Count = 3,
    horizon: AtLeastTwo = 6,
    gap: float | None = None,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    r"""A corridor whose side door pays for the rest of the episode; all actions seem alike.

    In $x_h$ the action $a \in \{\pm 1\}^m$ ($m$ is `num_signs`) leads to the paying state with probability
    $1/H + \langle \nu_h, a \rangle$, else to $x_{h+1}$; the paying state is never left and pays 1 a step.
    Signs of $\nu_h \in \{\pm\epsilon\}^m$ are drawn for every step and anchor. With
    $p = 1/H + m\epsilon$, in every anchor $V^*_1(x_1) = \sum_{h=1}^{H} p (1-p)^{h-1} (H-h)$.

    With $\alpha = 1/\sqrt 2$ and $\beta = 1/\sqrt{2m}$ the features are $\phi(x_h, a) = (\alpha, \beta a, 0)$
    and, in the paying state, $(0, 0, 1)$. Measures are signed: with $m = 1$ they exceed what radii assume,
    and a warning says so (`LinearMdp.mu_bound`).

    Args:
      gap: $\epsilon$, at most $1/(mH)$, which is what it is unless given.

    Reference: the lower bound of Zhou, Chen, Varshney & Jagmohan, "Nonstationary Reinforcement Learning with
    Linear Function Approximation", 2020, whose segments have instances of their own.
    """
    drift = require_drift(drift)
    if num_signs > 10:
        raise ArgumentError("num_signs", "be at most 10 (there are 2^num_signs actions)", num_signs)
    num_states, dim = horizon + 2, num_signs + 2
    sizes = (num_states, 2**num_signs, dim, horizon)
    require_models(sizes, drift, steps=horizon, num_signs=num_signs, horizon=horizon)
    widest = 1 / (num_signs * horizon)
    gap = widest if gap is None else require_number("gap", gap, above=0, at_most=widest)
    rng = np.random.default_rng(seed)
    alpha, beta, pays = 1 / math.sqrt(2), 1 / math.sqrt(2 * num_signs), num_states - 1
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=num_signs)))
    features = np.zeros((num_states, len(signs), dim))
    features[:pays, :, 0] = alpha
    features[:pays, :, 1:-1] = beta * signs
    features[pays, :, -1] = 1
    steps = np.arange(horizon)
    mu = np.zeros((drift.num_anchors, horizon, dim, num_states))
    nu = np.zeros((horizon, num_signs))
    for anchor in mu:  # [step, coordinate, next state]
        before = nu
        while np.array_equal(nu, before):  # each anchor differs from the one before
            nu = gap * rng.choice((-1.0, 1.0), (horizon, num_signs))
        anchor[steps, 0, steps + 1] = (1 - 1 / horizon) / alpha
        anchor[steps, 1:-1, steps + 1] = -nu / beta
        anchor[:, 0, pays] = 1 / (horizon * alpha)
        anchor[:, 1:-1, pays] = nu / beta
        anchor[:, -1, pays] = 1
    theta = np.broadcast_to(np.eye(dim)[-1], (drift.num_anchors, horizon, dim))
    states = np.eye(num_states)  # which span every measure
    return LinearMdp(features, theta, mu, states[0], drift, rewards, successor_features=states)
