"""The worlds of scenarios: bandits and MDPs that take any drift."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from driftwise.environments import Environment, LinearBandit, LinearMdp, planning
from driftwise.environments.arms import ContextArms
from driftwise.environments.drift import Constant, Drift
from driftwise.environments.mdps.latent_chains import latent_chains
from driftwise.environments.mdps.random_linear_mdp import random_linear_mdp
from driftwise.environments.mdps.river_swim import river_swim
from driftwise.environments.models.linear_bandit import linear_bandit
from driftwise.environments.paths import Mixture
from driftwise.scenarios.moves import Between

NUM_ARMS, NUM_CONTEXTS, NUM_SHARED = 5, 20, 3
OWN = np.array([0.5, 0.3, 0.9, 0.6, 0.4])  # of the arms' own features; the first arm is not the best
SHARED = np.array([0.3, 0.1, 0.2])  # weights of the features that all arms have
LOGIT_SCALE, LOGIT_CENTRE = 6.0, 0.6  # of coins whose chances lie between 0.2 and 0.9


class Problem(NamedTuple):
    """A world, given a drift and what it is between."""

    summary: str
    make: Callable[[Drift, Between], Environment]
    directions: int  # of the features, that can pay in turn
    one_of_many: bool = True  # whether much is left to earn where the best direction pays nothing


def bandit(problem: str, drift: Drift, between: Between) -> LinearBandit:
    """A bandit of `BANDITS`; its values are positive."""
    anchors = anchors_of(between)[: drift.num_anchors]
    arms = ContextArms(_contexts())
    if problem == "linear_bandit":
        path = Mixture(anchors, drift)
        return linear_bandit(arms=arms, path=path, noise_scale=0.2)
    centre = LOGIT_CENTRE * (np.arange(NUM_ARMS + NUM_SHARED) < NUM_ARMS)
    path = Mixture(LOGIT_SCALE * (anchors - centre), drift)
    return linear_bandit(arms=arms, path=path, rewards="bernoulli", link="logistic")


def anchors_of(between: Between) -> np.ndarray:
    """Parameters between which a bandit drifts, `[J, d]`."""
    if between == "one":
        own = [OWN, np.where(OWN.max() == OWN, 0.1, OWN)]
    elif between == "turns":
        own = [np.roll(OWN, k) for k in range(NUM_ARMS)]
    else:
        return np.array([[*OWN, *SHARED], [*np.roll(OWN, 2), *SHARED[::-1]]])
    return np.array([[*each, *SHARED] for each in own])


def _contexts() -> np.ndarray:
    """Features `[C, A, d]`: one-hot for the arm, and a point of the unit sphere, none of it negative."""
    shared = np.abs(np.random.default_rng(0).normal(size=(NUM_CONTEXTS, NUM_ARMS, NUM_SHARED)))
    shared /= np.linalg.norm(shared, axis=-1, keepdims=True)
    own = np.broadcast_to(np.eye(NUM_ARMS), (NUM_CONTEXTS, NUM_ARMS, NUM_ARMS))
    return np.concat([own, shared], axis=-1) / np.sqrt(2)


def mdp(worlds: Callable[..., LinearMdp], drift: Drift, between: Between) -> LinearMdp:
    """An MDP that drifts between worlds, or one of whose transitions stay while its pay moves."""
    if between == "worlds":
        return worlds(drift=drift)
    still = worlds(drift=Constant())
    theta = still.theta[0]
    if between == "turns":
        anchors = [np.roll(theta, k, axis=-1) for k in range(theta.shape[-1])]
    else:
        without = [np.where(row, theta.min(), theta) for row in np.eye(theta.shape[-1], dtype=bool)]
        anchors = [theta, min(without, key=partial(_best_value, still))]
    anchors = anchors[: drift.num_anchors]
    mu = np.repeat(still.mu, len(anchors), axis=0)
    return dataclasses.replace(still, theta=np.array(anchors), mu=mu, drift=drift)


def _best_value(world: LinearMdp, theta: np.ndarray) -> float:
    """What the best policy earns where features pay `[H, d]`."""
    model = world.model(0)._replace(theta=theta)
    return float(world.initial @ planning.optimal_values(world.features, model)[0])


BANDITS = {
    "linear_bandit": Problem(
        "five arms with features of their own and three shared ones; rewards with noise of 0.2",
        partial(bandit, "linear_bandit"),
        NUM_ARMS,
    ),
    "logistic_bandit": Problem(
        "the same arms, and clicks whose log-odds are linear", partial(bandit, "logistic_bandit"), NUM_ARMS
    ),
}
MDPS = {
    "linear_mdp": Problem(
        "ten states, three actions, six dimensions, five steps, drawn at random",
        partial(mdp, partial(random_linear_mdp, num_states=10, num_actions=3, dim=6, horizon=5)),
        directions=6,
    ),
    "tabular_mdp": Problem(
        "a river of four states that turns round, ten steps",
        partial(mdp, partial(river_swim, num_states=4, horizon=10, start="middle")),
        directions=8,
        one_of_many=False,
    ),
    "mixture_mdp": Problem(
        "two chains of states, one of which pays; every model is a mixture of both, five steps",
        partial(mdp, partial(latent_chains, num_chains=2, num_actions=3, horizon=5)),
        directions=4,
        one_of_many=False,
    ),
}
KINDS = {"bandits": BANDITS, "mdps": MDPS}
PROBLEMS = BANDITS | MDPS
