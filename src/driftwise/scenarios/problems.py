"""The problems of scenarios, which take any drift, and the drifts that they take."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from driftwise.environments import Environment, LinearBandit, LinearMdp, planning
from driftwise.environments.arms import ContextArms
from driftwise.environments.drift import Abrupt, Constant, Drift, Gradual, Periodic, RandomWalk
from driftwise.environments.drifting_bandits import linear_bandit
from driftwise.environments.mdps.linear_features import latent_chains, random_linear_mdp
from driftwise.environments.mdps.sparse_rewards import river_swim
from driftwise.environments.paths import Mixture

Between = Literal["worlds", "one", "turns"]  # two worlds; two that differ in one direction; one turned round


class Move(NamedTuple):
    """A drift for a number of rounds and a number of directions of the features, and its anchors."""

    summary: str
    drift: Callable[[int, int], Drift]
    between: Between = "worlds"


def _jumps(segments: int) -> Callable[[int, int], Drift]:
    """Return the drift that jumps to and fro between segments of equal length."""
    return lambda rounds, _: Abrupt(tuple(k * rounds // segments for k in range(1, segments)), num_anchors=2)


DRIFT_MOVES = {
    "none": Move("the world stays as it is", lambda rounds, _: Constant()),
    "abrupt_rare": Move("it jumps after a third and after two thirds, and is back then", _jumps(3)),
    "abrupt_frequent": Move("it jumps nine times, to and fro", _jumps(10)),
    "gradual": Move(
        "it moves in a straight line in the second and third quarter",
        lambda rounds, _: Gradual((rounds // 4, 3 * rounds // 4)),
    ),
    "periodic": Move("it swings to and fro four times", lambda rounds, _: Periodic(rounds / 4)),
    "random_walk": Move("it wanders by chance", lambda rounds, _: RandomWalk(3 / math.sqrt(rounds))),
    "one_arm": Move(
        "the best arm, or direction of the features, alone is the worst in the second third of the run",
        _jumps(3),
        "one",
    ),
    "rotating": Move(
        "every arm, or direction of the features, is the best in turn, twice",
        lambda rounds, directions: Periodic(rounds / 2, directions),
        "turns",
    ),
}
_NUM_ARMS, _NUM_CONTEXTS, _NUM_SHARED = 5, 20, 3
_OWN = np.array([0.5, 0.3, 0.9, 0.6, 0.4])  # of the arms' own features; the first arm is not the best
_SHARED = np.array([0.3, 0.1, 0.2])  # weights of the features that all arms have
_LOGIT_SCALE, _LOGIT_CENTRE = 6.0, 0.6  # of coins whose chances lie between 0.2 and 0.9


class ScenarioProblem(NamedTuple):
    """An environment that takes any drift."""

    summary: str
    make: Callable[[Drift, Between], Environment]
    directions: int  # of the features, that can pay in turn
    one_of_many: bool = True  # whether much is left to earn where the best direction pays nothing


def _bandit(problem: str, drift: Drift, between: Between) -> LinearBandit:
    """Return a bandit of `BANDIT_PROBLEMS`; its values are positive."""
    weights = {
        "worlds": [[*_OWN, *_SHARED], [*np.roll(_OWN, 2), *_SHARED[::-1]]],
        "one": [[*_OWN, *_SHARED], [*np.where(_OWN.max() == _OWN, 0.1, _OWN), *_SHARED]],
        "turns": [[*np.roll(_OWN, k), *_SHARED] for k in range(_NUM_ARMS)],
    }
    anchors = np.array(weights[between])[: drift.num_anchors]  # [J, d]
    shared = np.abs(np.random.default_rng(0).normal(size=(_NUM_CONTEXTS, _NUM_ARMS, _NUM_SHARED)))
    shared /= np.linalg.norm(shared, axis=-1, keepdims=True)  # points of the unit sphere
    own = np.broadcast_to(np.eye(_NUM_ARMS), (_NUM_CONTEXTS, _NUM_ARMS, _NUM_ARMS))
    arms = ContextArms(np.concat([own, shared], axis=-1) / np.sqrt(2))
    if problem == "linear_bandit":
        return linear_bandit(arms=arms, path=Mixture(anchors, drift), noise_scale=0.2)
    centre = _LOGIT_CENTRE * (np.arange(_NUM_ARMS + _NUM_SHARED) < _NUM_ARMS)
    path = Mixture(_LOGIT_SCALE * (anchors - centre), drift)
    return linear_bandit(arms=arms, path=path, rewards="bernoulli", link="logistic")


def _mdp(worlds: Callable[..., LinearMdp], drift: Drift, between: Between) -> LinearMdp:
    """Return an MDP that drifts between two models, or one whose rewards move and whose transitions stay."""
    if between == "worlds":
        return worlds(drift=drift)
    still = worlds(drift=Constant())
    theta = still.theta[0]
    if between == "turns":
        anchors = [np.roll(theta, k, axis=-1) for k in range(theta.shape[-1])]
    else:

        def best_value(theta: np.ndarray) -> float:
            model = still.model(0)._replace(theta=theta)
            return float(still.initial @ planning.optimal_values(still.features, model)[0])

        without = [np.where(row, theta.min(), theta) for row in np.eye(theta.shape[-1], dtype=bool)]
        anchors = [theta, min(without, key=best_value)]
    anchors = anchors[: drift.num_anchors]
    mu = np.repeat(still.mu, len(anchors), axis=0)
    return dataclasses.replace(still, theta=np.array(anchors), mu=mu, drift=drift)


BANDIT_PROBLEMS = {
    "linear_bandit": ScenarioProblem(
        "five arms with features of their own and three shared ones; rewards with noise of 0.2",
        partial(_bandit, "linear_bandit"),
        _NUM_ARMS,
    ),
    "logistic_bandit": ScenarioProblem(
        "the same arms, and clicks whose log-odds are linear", partial(_bandit, "logistic_bandit"), _NUM_ARMS
    ),
}
MDP_PROBLEMS = {
    "linear_mdp": ScenarioProblem(
        "ten states, three actions, six dimensions, five steps, drawn at random",
        partial(_mdp, partial(random_linear_mdp, num_states=10, num_actions=3, dim=6, horizon=5)),
        directions=6,
    ),
    "tabular_mdp": ScenarioProblem(
        "a river of four states that turns round, ten steps",
        partial(_mdp, partial(river_swim, num_states=4, horizon=10, start="middle")),
        directions=8,
        one_of_many=False,
    ),
    "mixture_mdp": ScenarioProblem(
        "two chains of states, one of which pays; every model is a mixture of both, five steps",
        partial(_mdp, partial(latent_chains, num_chains=2, num_actions=3, horizon=5)),
        directions=4,
        one_of_many=False,
    ),
}
PROBLEM_KINDS = {"bandits": BANDIT_PROBLEMS, "mdps": MDP_PROBLEMS}
SCENARIO_PROBLEMS = BANDIT_PROBLEMS | MDP_PROBLEMS
