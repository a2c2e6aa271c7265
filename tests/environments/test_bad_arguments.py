"""Bad arguments of arms, drifts, paths and environments: each is refused in one sentence that names it."""
# pyright: reportArgumentType=false, reportCallIssue=false, reportIndexIssue=false

import math
import re
from typing import Any

import numpy as np
import pytest

from driftwise.environments import (
    ContinuingMdp,
    LinearBandit,
    LinearMdp,
    admission_control,
    cheung_two_armed,
    combination_lock,
    continuing_mdp,
    deep_sea,
    dynamic_pricing,
    four_rooms,
    hard_bandit,
    hard_instance,
    inventory,
    latent_chains,
    linear_bandit,
    machine_replacement,
    news,
    random_linear_mdp,
    river_swim,
    russac_abrupt,
)
from driftwise.environments.arms import ContextArms, FixedArms, FreshArms, orthogonal_arms
from driftwise.environments.drift import (
    Abrupt,
    Constant,
    Gradual,
    Periodic,
    Product,
    RandomWalk,
    Recorded,
    Repeat,
    Sum,
    Then,
)
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.paths import Mixture, Rotation, Sinusoid, SphereWalk, abrupt_path
from driftwise.environments.planning import diameter, policy_values
from tests.examples import make, make_continuing

ANCHORS = ((1.0, 0.0, 0.5), (-1.0, 0.25, 0.0))
HALVES, ALIKE, NOUGHT = np.full((2, 2, 2), 0.5), np.full((3, 6, 2), 0.5), np.zeros((2, 2))
ONE_WAY = np.eye(2)[[[0, 1], [1, 1]]]
CONTEXTS = (((0.6, 0.8), (0.0, 0.5)), ((1.0, 0.0), (0.0, 0.0)), ((0.0, -1.0), (-0.3, 0.3)))


def bandit(**given: Any) -> LinearBandit:
    return linear_bandit(**(dict(arms=FreshArms(3, 2), path=Rotation(0, 1, 9)) | given))


COUNTS = bandit(path=Rotation(0, 1, 9, 4.0), rewards="poisson", link="log")


def tables(*anchors: Any) -> ContinuingMdp:
    return continuing_mdp(anchors, drift=Constant())


def from_first(**given: Any) -> LinearMdp:
    return tabular_mdp([(NOUGHT, HALVES)], horizon=2, drift=Constant(), rewards="mean", **given)


def values_of(policy: np.ndarray) -> np.ndarray:
    return policy_values(make().features, make().model(0), policy)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        # Decision sets
        (lambda: FreshArms(0, 2), "num_arms must be a positive integer, got 0"),
        (lambda: FreshArms(3, 2, "cub"), "shape must be one of cube, ball, sphere, got 'cub'"),
        (lambda: FreshArms(3, 2, fewest=4), "fewest must be at most num_arms = 3, got 4"),
        (lambda: FreshArms(3, 2, fewest=-1), "fewest must be an integer of at least 0, got -1"),
        (lambda: FixedArms(((1.0, 1.0),)), "features must have norms of at most 1, got one of 1.41421"),
        (lambda: FixedArms((1.0, 0.0)), "features must have shape (any, any), got (2,)"),
        (lambda: FixedArms(np.zeros((0, 2))), "features must offer an arm and have a dimension, got the sha"),
        (lambda: FixedArms(((1.0, math.nan),)), "features must be finite, got nan at index (0, 1)"),
        (lambda: orthogonal_arms(0), "dim must be a positive integer, got 0"),
        (lambda: ContextArms(np.zeros((2, 3, 2))), "features must offer an arm in every context"),
        (lambda: ContextArms(CONTEXTS, (0.5, 0.5)), "probabilities must have shape (3), got (2,)"),
        (lambda: ContextArms(CONTEXTS, (0.5, 0.6, 0.0)), "probabilities must be at least 0 and sum to 1"),
        (lambda: ContextArms(CONTEXTS, (1.5, -0.5, 0.0)), "probabilities must be at least 0 and sum to 1"),
        # Drifts
        (lambda: Abrupt(()), "at must be increasing episodes… got ()"),
        (lambda: Abrupt((5, 3)), "at must be increasing episodes… got (5, 3)"),
        (lambda: Abrupt((0, 3)), "at must be an integer of at least 1… got 0"),
        (lambda: Abrupt((1.5, 3)), "at must be an integer… got (1.5, 3)"),
        (lambda: Abrupt("ab"), "at must be increasing episodes… got 'ab'"),
        (lambda: Abrupt(100), "at must be increasing episodes… got 100"),
        (lambda: Abrupt(((1, 2), (3, 4))), "at must be increasing episodes… got ((1, 2), (3, 4))"),
        (lambda: Abrupt((3,), num_anchors=1), "num_anchors must be an integer of at least 2… got 1"),
        (lambda: Gradual((3,)), "knots must be at least two increasing episodes… got (3,)"),
        (lambda: Gradual((3, 3)), "knots must be increasing episodes… got (3, 3)"),
        (lambda: Gradual((-1, 3)), "knots must be an integer of at least 0… got -1"),
        (lambda: Periodic(0), "period must be a number above 0… got 0"),
        (lambda: Periodic(math.inf), "period must be a number above 0… got inf"),
        (lambda: Periodic((3.0, 4.0)), "period must be… got (3.0, 4.0)"),
        (lambda: Periodic(3, num_anchors=1), "num_anchors must be an integer of at least 2… got 1"),
        (lambda: RandomWalk(-0.1), "scale must be a number of at least 0… got -0.1"),
        (lambda: RandomWalk((0.1, 0.2)), "scale must be… got (0.1, 0.2)"),
        (lambda: RandomWalk(0.1, seed=-1), "seed must be an integer of at least 0… got -1"),
        # Drifts made of drifts, and recorded ones
        (lambda: Then([], []), "drifts must list at least one Drift… got []"),
        (lambda: Then(Constant(), [3]), "drifts must list at least one Drift… got Constant()"),
        (lambda: Then([Constant(), 3], [3]), "drifts must be a Drift… got 3"),
        (lambda: Then([Constant()] * 2, [0]), "at must be an integer of at least 1… got 0"),
        (lambda: Then([Constant()] * 2, [3, 4]), "at must have an episode for each drift… got [3, 4]"),
        (lambda: Then([Constant()], [3]), "at must have an episode for each drift but the first, 0… got [3]"),
        (lambda: Repeat(Constant(), 0), "period must be a positive integer… got 0"),
        (lambda: Repeat(None, 3), "drift must be a Drift… got None"),
        (lambda: Product([Constant]), "drifts must be a Drift… got <class"),
        (lambda: Sum([Constant()], [0]), "shares must be a number above 0… got 0"),
        (lambda: Sum([Constant()], [1, 2]), "shares must be one number for each of 1 drifts… got [1, 2]"),
        (lambda: Recorded([]), "weights must have at least one row… got []"),
        (lambda: Recorded([0.5, 1.5]), "weights must be at least 0 and sum… got [-0.5, 1.5] in row 1"),
        (lambda: Recorded([[1, 0], [1, 1]]), "weights must be at least 0… got [1.0, 1.0] in row 1"),
        (lambda: Recorded([0, np.nan]), "weights must be finite… got nan at index (1,)"),
        (lambda: Recorded([[1, 0], [1]]), "weights must be an array of numbers… got "),
        (lambda: Recorded([0, 1], knots=[3]), "knots must be as many as there are rows, 2… got [3]"),
        (lambda: Recorded([0, 1], knots=[3, 3]), "knots must be increasing episodes… got [3, 3]"),
        (lambda: Recorded("none.csv"), "weights must be an array, or the name… got 'none.csv' (No such file"),
        # Paths
        (lambda: Mixture(ANCHORS, Constant()), "anchors must have shape (1, any), got (2, 3)"),
        (lambda: Mixture(((1.0,), (math.nan,)), Abrupt((3,))), "anchors must be finite, got nan"),
        (lambda: Mixture(ANCHORS, "abrupt"), "drift must be a Drift, got 'abrupt'"),
        (lambda: abrupt_path(ANCHORS, (5, 3)), "at must be increasing episodes, got (5, 3)"),
        (lambda: abrupt_path(ANCHORS, (5, 9)), "anchors must have shape (3, any), got (2, 3)"),
        (lambda: Rotation(0.0, math.inf, 10), "end must be a finite number, got inf"),
        (lambda: Rotation(0.0, 1.0, 0), "rounds must be a positive integer, got 0"),
        (lambda: Rotation(0.0, 1.0, 10, radius=0), "radius must be a number above 0, got 0"),
        (lambda: Rotation(0.0, 1.0, 10, dim=1), "dim must be an integer of at least 2, got 1"),
        (lambda: Sinusoid((0.5,), (0.3, 0.1), (0.0,), 8.0), "amplitude must have shape (1), got (2,)"),
        (lambda: Sinusoid((0.5,), (0.3,), (0.0,), 0.0), "period must be a number above 0, got 0.0"),
        (lambda: SphereWalk(1, 0.1), "dim must be an integer of at least 2, got 1"),
        (lambda: SphereWalk(2, -0.1), "scale must be a number of at least 0, got -0.1"),
        (lambda: SphereWalk(2, 0.1, seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: russac_abrupt(num_rounds=5), "num_rounds must be an integer of at least 6, got 5"),
        # Bandits
        (lambda: bandit(path=Rotation(0, 1, 9, dim=3)), "path must have the arms' dimension 2, got 3"),
        (lambda: bandit(rewards="bernoulli"), "rewards must be 'gaussian' for arms that are drawn"),
        (lambda: bandit(rewards="bernoulli", link="log"), "link must be 'identity' or 'logistic' for coins"),
        (lambda: bandit(link="probit"), "link must be one of identity, logistic, log, got 'probit'"),
        (lambda: COUNTS.at(np.arange(3)), "path must have norms of at most log 50 for the log link, got 4"),
        (lambda: bandit(arms="fixed"), "arms must be an Arms, got 'fixed'"),
        (lambda: bandit(rewards="coins"), "rewards must be one of gaussian, bernoulli, poisson, got 'coins'"),
        (lambda: bandit(noise_scale=-1), "noise_scale must be a number of at least 0, got -1"),
        (lambda: russac_abrupt().variation(0), "num_episodes must be a positive integer, got 0"),
        (lambda: russac_abrupt().at(3), "episodes must be a list of rounds, got array(3)"),
        (lambda: cheung_two_armed(budget=0), "budget must be a number above 0, got 0"),
        (lambda: dynamic_pricing(highest=3.0), "demands must stay at least 0 up to the highest price, got"),
        (lambda: dynamic_pricing(drift=Abrupt((3, 5))), "drift must have at most 2 anchors, one for"),
        (lambda: dynamic_pricing(num_prices=1), "num_prices must be an integer of at least 2, got 1"),
        (lambda: news(num_topics=1), "num_topics must be an integer of at least 2, got 1"),
        (lambda: hard_bandit(dim=11), "dim must be at most 10 (there are 2^dim arms), got 11"),
        (lambda: hard_bandit(num_rounds=3), "segments must be at most num_rounds = 3, got 4"),
        (lambda: hard_bandit(gap=0), "gap must be a number in (0, 0.5], got 0"),
        # Linear MDPs
        (lambda: combination_lock(horizon=1), "horizon must be an integer of at least 2, got 1"),
        (lambda: combination_lock(intended=1.5), "intended must be a number in (0, 1], got 1.5"),
        (lambda: combination_lock(changing="end"), "changing must be one of ends, start, got 'end'"),
        (lambda: combination_lock(drift=Periodic(9, num_anchors=3)), "drift must have at most 2 anchors"),
        (lambda: latent_chains(num_chains=1), "num_chains must be an integer of at least 2, got 1"),
        (lambda: latent_chains(hold=-0.1), "hold must be a number in [0, 1], got -0.1"),
        (lambda: latent_chains(poor_reward="x"), "poor_reward must be a number in [0, 1], got 'x'"),
        (lambda: latent_chains(drift=Periodic(9, num_anchors=6)), "drift must have at most 5 anchors, one"),
        (lambda: random_linear_mdp(num_states=0), "num_states must be a positive integer, got 0"),
        (lambda: random_linear_mdp(dim=True), "dim must be a positive integer, got True"),
        (lambda: random_linear_mdp(concentration=0), "concentration must be a number above 0, got 0"),
        (lambda: random_linear_mdp(seed=-1), "seed must be an integer of at least 0, got -1"),
        (lambda: random_linear_mdp(rewards="coin"), "rewards must be one of mean, bernoulli, got 'coin'"),
        # Known environments
        (lambda: hard_instance(num_signs=0), "num_signs must be a positive integer, got 0"),
        (lambda: hard_instance(num_signs=11), "num_signs must be at most 10 (there are 2^num_signs actions)"),
        (lambda: hard_instance(horizon=1), "horizon must be an integer of at least 2, got 1"),
        (lambda: hard_instance(num_signs=2, horizon=5, gap=0.2), "gap must be a number in (0, 0.1], got 0.2"),
        (lambda: river_swim(num_states=1), "num_states must be an integer of at least 2, got 1"),
        (lambda: river_swim(start="right"), "start must be one of left, middle, got 'right'"),
        (lambda: river_swim(drift=Periodic(9, num_anchors=3)), "drift must have at most 2 anchors, the"),
        (lambda: deep_sea(size=1), "size must be an integer of at least 2, got 1"),
        (lambda: deep_sea(move_cost=-0.1), "move_cost must be a number in [0, 1], got -0.1"),
        (lambda: deep_sea(drift="abrupt"), "drift must be a Drift, got 'abrupt'"),
        (lambda: four_rooms(side=6), "side must be odd, with a wall in the middle, got 6"),
        (lambda: four_rooms(side=3), "side must be an integer of at least 5, got 3"),
        (lambda: four_rooms(slip=1.5), "slip must be a number in [0, 1], got 1.5"),
        (lambda: four_rooms(drift=Periodic(9, num_anchors=4)), "drift must have at most 3 anchors, one for"),
        (lambda: inventory(demands=()), "demands must be a number above 0, got ()"),
        (lambda: inventory(demands=2.0), "demands must be a list of numbers, one for each anchor, got 2.0"),
        (lambda: inventory(demands=(1.0, -2.0)), "demands must be a number above 0, got -2.0"),
        (lambda: inventory(drift=Periodic(9, num_anchors=3)), "drift must have at most 2 anchors, one"),
        (lambda: inventory(price=0), "price must be a number above 0, got 0"),
        (lambda: machine_replacement(wear=(0.5, 1.5)), "wear must be a number in [0, 1], got 1.5"),
        (lambda: machine_replacement(replacement_cost=2), "replacement_cost must be a number in [0, 1], got"),
        (lambda: admission_control(fast=0.1), "fast must be a number in [0.2, 1], got 0.1"),
        (lambda: admission_control(loads=(0.5, math.nan)), "loads must be a number in [0, 1], got nan"),
        # Planning
        (lambda: diameter(np.ones((2, 1, 3))), "kernel must have shape (2, 1, 2), got (2, 1, 3)"),
        (lambda: diameter(HALVES, slack=-0.1), "slack must be a number of at least 0, got -0.1"),
        (lambda: make().variation(5, norm="pair"), "norm must be one of coordinates, pairs, got 'pair'"),
        (lambda: make().variation(5, transition_norm="frobenious"), "transition_norm…mean 'frobenius'"),
        (lambda: make().variation(0), "num_episodes must be a positive integer, got 0"),
        (lambda: values_of(ALIKE[:-1]), "policy must have shape (3, 6, 2) or (3, 6), got (2, 6, 2)"),
        (lambda: values_of(2 * ALIKE), "policy must hold probabilities that sum to 1, got [1. 1.] at step 0"),
        (lambda: values_of(np.full((3, 6), 2)), "policy must hold actions from 0 to 1, got 2 at step 0, st"),
        (lambda: values_of(np.full((3, 6), -1)), "policy must hold actions from 0 to 1, got -1"),
        # Tables and continuing MDPs
        (lambda: from_first(initial="first"), "initial must be one of uniform, got 'first'"),
        (lambda: tables(), "anchors must have at least one pair of rewards and probabilities, got none"),
        (lambda: tables((1, 2, 3)), "anchor 0 must be a pair of rewards and probabilities, got (1, 2, 3)"),
        (lambda: tables((NOUGHT[0], HALVES)), "reward of anchor 0 must have shape (any, any), got (2,)"),
        (lambda: tables((NOUGHT, HALVES[:1])), "kernel of anchor 0 must have shape (2, 2, 2), got (1, 2, 2)"),
        (lambda: tables((NOUGHT, HALVES), (ALIKE[0], HALVES)), "reward of anchor 1 must have shape (2, 2)"),
        (
            lambda: tables(([[0, 0], [0, 1.5]], HALVES)),
            "reward of anchor 0 must lie in [0, 1], got 1.5 at state 1, action 1",
        ),
        (
            lambda: tables((NOUGHT, ONE_WAY)),
            "tables must be communicating, got no way from state 1 to s… 0",
        ),
        (lambda: ContinuingMdp(make()), "tables must have one step and one-hot features, got"),
        (lambda: ContinuingMdp(make_continuing().tables, 6), "start must be a state from 0 to 5, got 6"),
    ],
)
def test_bad_arguments_are_refused_in_a_sentence(build, sentence):
    """A sentence is given from its beginning on, with … for anything."""
    with pytest.raises(ValueError, match="^" + ".*".join(map(re.escape, sentence.split("…")))) as error:
        build()
    assert "\n" not in str(error.value)
