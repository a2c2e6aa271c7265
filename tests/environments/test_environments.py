"""Environments: facts computed by hand, and clear refusals of what is no linear MDP."""
# pyright: reportArgumentType=false

import inspect
import json
import re
from typing import Any, get_type_hints

import numpy as np
import pytest

import driftwise as dw
from driftwise.base import Spec
from driftwise.environments import ENVIRONMENTS, LinearMdp, combination_lock, latent_chains
from tests.examples import DRIFTS, SIZES, make, make_bandit, make_continuing
from tests.reference import planning
from tests.reference.planning import best

TWO = dw.drift.Abrupt((100,))
MDPS = [name for name, maker in ENVIRONMENTS.items() if get_type_hints(maker)["return"] is LinearMdp]


def sized(name: str, **given: Any) -> LinearMdp:
    environment: Any = ENVIRONMENTS[name](**SIZES.get(name, {}), **given)
    return environment


def test_model_is_the_mixture_of_the_anchors():
    environment = make(drift=dw.drift.Gradual((0, 10)))
    theta, mu = environment.model(3)
    np.testing.assert_allclose(theta, 0.7 * environment.theta[0] + 0.3 * environment.theta[1], rtol=1e-12)
    np.testing.assert_allclose(mu, 0.7 * environment.mu[0] + 0.3 * environment.mu[1], rtol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name in MDPS if "seed" in inspect.signature(ENVIRONMENTS[name]).parameters]
)
def test_the_seed_decides_and_nothing_else(name):
    one, same, other = (sized(name, seed=seed) for seed in (3, 3, 4))
    assert one.digest() == same.digest() != other.digest()  # of all arrays
    assert one.config == same.config != other.config
    assert json.loads(json.dumps(dict(one.config)))["seed"] == 3


@pytest.mark.parametrize("name", MDPS)
def test_the_number_of_anchors_does_not_change_the_first(name):
    """So a stationary environment and the start of a drifting one can be compared."""
    models = (sized(name, drift=drift).model(0) for drift in (dw.drift.Constant(), TWO))
    for alone, first in zip(*models, strict=True):
        np.testing.assert_array_equal(alone, first)


@pytest.mark.parametrize("changing", ["ends", "start"])
@pytest.mark.parametrize("seed", [0, 1])
def test_combination_lock_is_worth_what_the_hand_computes(changing, seed):
    """Start, then positions 1–4 of a lock, at steps 1–5 (H = 5). The sink pays 1/40 a step.

    Good lock:  position 4 (step 5): 1, by the right action, for certain
                position 3 (step 4): 0.98·1        + 0.02·1/40 = 0.9805
                position 2 (step 3): 0.98·0.9805   + 0.02·2/40 = 0.96189
                position 1 (step 2): 0.98·0.96189  + 0.02·3/40 = 0.9441522
    Other lock: 0.25; 0.98·0.25 + 0.0005 = 0.2455; 0.98·0.2455 + 0.001 = 0.24159;
                0.98·0.24159 + 0.0015 = 0.2382582 (falling on purpose is worth at most 4/40)
    Start (step 1): 0.98·0.9441522 + 0.02·0.2382582 = 0.93003432. Both anchors are mirror images, and so
    are the values of the first actions.
    """
    environment = combination_lock(drift=TWO, changing=changing, seed=seed)
    assert environment.spec == Spec(num_states=10, num_actions=2, dim=20, horizon=5)  # as published
    assert best(combination_lock(intended=1.0))[0] == 1.0
    for t in (0, 100):
        np.testing.assert_allclose(best(environment, t)[0], 0.93003432, rtol=1e-12)
    first = [planning.optimal(environment.features, environment.model(t))[1][0, 0] for t in (0, 100)]
    assert first[0].argmax() != first[1].argmax()
    np.testing.assert_allclose(first[0], first[1][::-1], rtol=1e-12)


def test_following_the_chain_is_worth_the_same_whichever_chain_is_good():
    """By hand, backwards: g = 1 + 0.9 g' + 0.1 m', p = 0.1 + 0.5 p' + 0.5 m', m = (g + 4p)/5."""
    environment = latent_chains(drift=dw.drift.Abrupt((1, 2, 3, 4)))
    assert environment.spec == Spec(num_states=15, num_actions=7, dim=10, horizon=10)  # as published
    np.testing.assert_array_equal(np.sort(environment.features, axis=-1)[..., -2:], [[[0, 1]] * 7] * 15)
    follow = environment.features[:, :, :5].sum(axis=-1).argmax(axis=-1)  # the action of a chain's direction
    policy = np.tile(np.eye(7)[follow], (10, 1, 1))
    good = poor = mean = 0.0
    for _ in range(10):
        good, poor = 1 + 0.9 * good + 0.1 * mean, 0.1 + 0.5 * poor + 0.5 * mean
        mean = (good + 4 * poor) / 5
    for t in range(5):
        values = planning.of_policy(environment.features, environment.model(t), policy)[0]
        chain = np.repeat(np.arange(5), 3)
        np.testing.assert_allclose(values, np.where(chain == t, good, poor), rtol=1e-12)
        assert best(environment, t)[0] > mean + 1  # switching to the good chain is worth a lot


def test_anchors_of_latent_chains_are_equally_good_where_every_switch_is_at_hand():
    """With 7 actions some states lack the switch they want, so anchors differ a little; with 60 none does."""
    every = latent_chains(num_actions=60, horizon=4, drift=dw.drift.Abrupt((1, 2, 3, 4)))
    assert every.features.max(axis=1)[:, 5:].min() == 1  # each state has a switch to each chain
    values = [best(every, t)[0] for t in range(5)]
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_arrays_are_copied_and_cannot_be_written_to():
    mine = make().features.copy()
    environment = LinearMdp(mine, make().theta, make().mu, make().initial, drift=make().drift)
    mine[0, 0, 0] = 99.0
    assert environment.features[0, 0, 0] != 99.0
    with pytest.raises(ValueError, match="read-only"):
        environment.features[0, 0, 0] = 0.0


GOOD: dict[str, Any] = dict(
    features=np.eye(4).reshape(2, 2, 4),
    theta=np.full((1, 3, 4), 0.5),
    mu=np.full((1, 3, 4, 2), 0.5),
    initial=np.array([0.25, 0.75]),
)


PLACE, SUM = "at anchor 0, step {}, state {}, action 1", "sum of the transition probabilities"


def changed(name: str, index: tuple, value: Any) -> dict[str, np.ndarray]:
    array = np.array(GOOD[name])
    array[index] = value
    return {name: array}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed("features", (0, 1, 2), np.nan), "features must be finite, got nan at index (0, 1, 2)"),
        (changed("theta", (0, 1, 2), np.inf), "theta must be finite, got inf at index (0, 1, 2)"),
        (dict(features=np.ones((2, 4))), "features must have shape (any, any, any), got (2, 4)"),
        (dict(features=[[1.0], [1.0, 2.0]]), "features must be an array of numbers, got [[1.0], [1.0, 2.0]]"),
        (dict(theta=np.zeros((1, 3, 5))), "theta must have shape (any, any, 4), got (1, 3, 5)"),
        (dict(mu=np.zeros((1, 2, 4, 2))), "mu must have shape (1, 3, 4, 2), got (1, 2, 4, 2)"),
        (dict(initial=np.ones(3) / 3), "initial must have shape (2), got (3,)"),
        (dict(initial=[0.5, 0.6]), "initial: sum is 1.1, expected 1"),
        (dict(initial=[-0.5, 1.5]), "initial: probability at state 0 is -0.5, expected at least 0"),
        (changed("features", (1, 0, 2), 1.1), "features: norm at state 1, action 0 is 1.1, expected at most"),
        (changed("theta", (0, 2, 1), 1.2), f"theta: mean reward {PLACE.format(2, 0)} is 1.2, expected in [0"),
        (changed("theta", (0, 2, 1), -0.2), f"theta: mean reward {PLACE.format(2, 0)} is -0.2, expected in"),
        (changed("mu", (0, 1, 3, 0), 0.4), f"mu: {SUM} {PLACE.format(1, 1)} is 0.9, expected 1"),
        (changed("mu", (0, 1, 1), [0.6, 0.6]), f"mu: {SUM} {PLACE.format(1, 0)} is 1.2, expected 1"),
        (dict(features=np.ones((2, 0, 4))), "num_actions must be a positive integer, got 0"),
        (dict(rewards="bernouli"), "rewards must be one of mean, bernoulli, got 'bernouli' (did you mean"),
        (dict(drift="abrupt"), "drift must be a Drift, got 'abrupt'"),
        (dict(drift=TWO), "drift must mix as many anchors as theta and mu have (1), got Abrupt(at=(100,)"),
    ],
)
def test_what_is_no_linear_mdp_is_refused(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LinearMdp(**{**GOOD, **change})


@pytest.mark.parametrize(
    ("coordinate", "measure", "unused", "message"),
    [
        (4, [1.1, 0.5], 0.5, "mu: norm of the masses mu(S) at anchor 0, step 1 is 2.56125, expected at most"),
        (2, [-0.1, 1.1], 0, "probability at state 1, action 0, next state 0 is -0.1"),
    ],
)
def test_masses_of_a_coordinate_that_no_pair_has_are_bounded_and_probabilities_not_negative(
    coordinate, measure, unused, message
):
    mu = np.full((1, 3, 5, 2), 0.5)
    mu[:, :, 4] = unused  # 0 leaves room in the norm of the masses, so that only the sign is wrong
    mu[0, 1, coordinate] = measure
    with pytest.raises(ValueError, match=re.escape(message)):
        LinearMdp(np.eye(5)[:4].reshape(2, 2, 5), np.full((1, 3, 5), 0.5), mu, GOOD["initial"])


def test_weights_that_are_not_on_the_simplex_are_refused(monkeypatch):
    monkeypatch.setattr(dw.drift.Constant, "mixture", lambda self, episodes: np.full((len(episodes), 1), 2.0))
    with pytest.raises(ValueError, match="drift: sum of the weights at place 0 is 2, expected 1"):
        LinearMdp(**GOOD).model(0)


def test_masses_that_cancel_are_allowed_as_in_the_paper_with_a_warning():
    """Signed measures with |μ|(S) > 1 and probabilities that are fine: φ mixes two of them half and half."""
    mu = np.array([[[[1.5, -0.5], [-0.5, 1.5]]]])
    features = np.full((2, 1, 2), 0.5)
    with pytest.warns(UserWarning, match="need its mu_bound"):
        environment = LinearMdp(features, np.full((1, 1, 2), 0.5), mu, np.array([1.0, 0.0]))
    assert environment.mu_bound == pytest.approx(np.sqrt(8))
    np.testing.assert_allclose(environment.features @ environment.model(0).mu[0], 0.5)


def test_an_environment_prints_on_one_line():
    assert repr(make("combination_lock", TWO)).startswith("LinearMdp('combination_lock', Spec(num_states=6")
    assert "\n" not in repr(LinearMdp(**GOOD))
    for shown in (make(), make_continuing()):
        assert repr(shown).endswith(f", drift={DRIFTS['abrupt']})")
    assert ", path=" in repr(make_bandit())
    assert repr(LinearMdp(**GOOD).variation(3)) == "Variation(reward_budget=0, transition_budget=0, total=0)"
