"""Small problems of one shape and one agent for every algorithm.

All tests that simulate use these sizes: a compiled program depends on shapes and structure only, so the
whole suite shares a handful of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from driftwise.algorithms import ALGORITHMS
from driftwise.arms import ContextArms
from driftwise.drift import Abrupt, Drift, Gradual, Periodic, RandomWalk
from driftwise.environments import ENVIRONMENTS, LinearBandit, LinearMdp
from driftwise.paths import Mixture
from driftwise.types import Agent, Spec

T = TypeVar("T")

SPEC = Spec(num_states=6, num_actions=2, dim=12, horizon=3)
BANDIT = Spec.bandit(dim=3, num_arms=4)
NUM_RUNS = 3
NUM_EPISODES = 40

STATIONARY = Abrupt((10**9,))  # one anchor for ever, in arrays of the same shape as the drifts below
DRIFTS: dict[str, Drift] = {
    "abrupt": Abrupt((7, 20), num_anchors=2),
    "gradual": Gradual((5, 25)),
    "periodic": Periodic(12.5),
    "random_walk": RandomWalk(0.2, seed=1),
}

SIZES: dict[str, dict[str, Any]] = {
    "random_linear_mdp": dict(num_states=6, num_actions=2, dim=12, horizon=3, concentration=0.5),
    "latent_chains": dict(num_chains=6, states_per_chain=1, num_actions=2, horizon=3),
    "combination_lock": dict(horizon=3),
}

PARAMETERS: dict[str, dict[str, Any]] = {
    "epsilon_greedy_lsvi": dict(epsilon=0.3, rate=0.9, ridge=0.5),
    "lsvi_ucb": dict(radius=0.4),
    "lsvi_ucb_restart": dict(period=6, radius=0.4),
    "matrix_rl": dict(radius=0.4, rate=0.9),
    "oppo": dict(step_size=0.3, radius=0.4, rate=0.9, policy_period=15),
    "opt_rlsvi": dict(scale=0.3, upper=0.8, rate=0.9),
    "opt_wlsvi": dict(rate=0.9, radius=0.4),
    "sw_lsvi_ucb": dict(length=5, radius=0.4),
    "uniform": {},
}
BANDIT_PARAMETERS: dict[str, dict[str, Any]] = {
    "d_lin_ts": dict(rate=0.9, scale=0.4, ridge=0.5),
    "d_lin_ucb": dict(rate=0.9, noise_scale=0.3),
    "d_rand_lin_ucb": dict(rate=0.9, noise_scale=0.3),
    "dynamic_lin_ucb": dict(noise_scale=0.3, window=10, capacity=2),
    "epsilon_greedy": dict(epsilon=0.3, rate=0.9),
    "greedy": dict(ridge=0.5),
    "lin_ts": dict(scale=0.4),
    "lin_ucb": dict(noise_scale=0.3, information="determinant"),
    "oracle_restart": dict(changes=(7, 20), noise_scale=0.3),
    "restart_lin_ucb": dict(period=6, noise_scale=0.3),
    "sw_lin_ucb": dict(length=5, noise_scale=0.3),
    "uniform": {},
    "weight_ucb": dict(rate=0.9, noise_scale=0.3, num_episodes=NUM_EPISODES),
}


def make(name: str = "random_linear_mdp", drift: Drift = DRIFTS["abrupt"], **options: Any) -> LinearMdp:
    """An environment of the common shape."""
    environment = ENVIRONMENTS[name](**SIZES[name], drift=drift, **options)
    assert isinstance(environment, LinearMdp)
    return environment


def fitting(agent: Agent) -> list[str]:
    """Names of the environments that can tell an agent all it needs."""

    def fits(name: str) -> bool:
        try:
            make(name).world(tell=getattr(agent, "needs", ()))
        except ValueError:
            return False
        return True

    return [name for name in SIZES if fits(name)]


def make_bandit(drift: Drift = DRIFTS["abrupt"], **options: Any) -> LinearBandit:
    """A bandit of the common shape: of four arms in three contexts, some are missing in two of them."""
    features = np.abs(np.random.default_rng(0).normal(size=(3, 4, 3)))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    features[1, 3] = features[2, 1:] = 0
    path = Mixture(((0.7, 0.1, 0.1), (0.1, 0.2, 0.6)), drift)
    return LinearBandit(ContextArms(features.tolist(), (0.5, 0.3, 0.2)), path, **options)


def agent(name: str) -> Agent:
    """The example agent of an algorithm."""
    if name in PARAMETERS:
        return ALGORITHMS[name](SPEC, **PARAMETERS[name])
    return bandit_agent(name)


def bandit_agent(name: str) -> Agent:
    """The example agent of an algorithm, in the bandit."""
    return ALGORITHMS[name](BANDIT, **BANDIT_PARAMETERS[name])


def only(mapping: Mapping[Any, T]) -> T:
    """The one value there is."""
    (value,) = mapping.values()
    return value
