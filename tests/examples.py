"""Small problems of one shape and one agent for every algorithm.

All tests that simulate use these sizes: a compiled program depends on shapes and structure only, so the
whole suite shares a handful of them.
"""

from __future__ import annotations

from typing import Any

from driftwise.algorithms import ALGORITHMS
from driftwise.drift import Abrupt, Drift, Gradual, Periodic, RandomWalk
from driftwise.environments import ENVIRONMENTS, LinearMdp
from driftwise.types import Agent, Spec

SPEC = Spec(num_states=6, num_actions=2, dim=12, horizon=3)
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
    "opt_wlsvi": dict(rate=0.9, radius=0.4),
    "sw_lsvi_ucb": dict(length=5, radius=0.4),
    "uniform": {},
}


def make(name: str = "random_linear_mdp", drift: Drift = DRIFTS["abrupt"], **options: Any) -> LinearMdp:
    """An environment of the common shape."""
    return ENVIRONMENTS[name](**SIZES[name], drift=drift, **options)


def agent(name: str) -> Agent:
    """The example agent of an algorithm."""
    return ALGORITHMS[name](SPEC, **PARAMETERS[name])
