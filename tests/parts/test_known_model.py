"""What follows from known transitions: where a policy goes, and the inverse covariance of what it meets."""

import dataclasses

import numpy as np
import pytest

from driftwise.base import AnchorMeasures, InitialDistribution, random
from driftwise.environments import LinearMdp
from driftwise.parts import GeometricResampling
from driftwise.parts.known_model import KnownModel
from tests.examples import SPEC, make
from tests.reference import online_q_reps as textbook


def steady(environment: LinearMdp) -> LinearMdp:
    """The same with the transitions of its first anchor for ever."""
    return dataclasses.replace(environment, mu=np.broadcast_to(environment.mu[:1], environment.mu.shape))


def kernel_of(environment: LinearMdp) -> np.ndarray:
    return np.einsum("sad,hdx->hsax", environment.features, environment.mu[0])


def model_of(environment: LinearMdp) -> KnownModel:
    return KnownModel.of(environment.to_arrays(needs=(AnchorMeasures, InitialDistribution)).table)


def drawn_policy(seed: int) -> np.ndarray:
    size = SPEC.horizon, SPEC.num_states
    return np.random.default_rng(seed).dirichlet(np.full(SPEC.num_actions, 0.5), size=size)


@pytest.mark.parametrize("name", ["random_linear_mdp", "oil_discovery"])
def test_occupancies_are_where_the_policy_goes(name):
    environment = steady(make(name))
    for seed in range(3):
        policy = drawn_policy(seed)
        found = model_of(environment).occupancy(policy)
        plain = textbook.occupancy(kernel_of(environment), environment.initial, policy)
        np.testing.assert_allclose(found, plain, rtol=0, atol=1e-14)
        np.testing.assert_allclose(found.sum((1, 2)), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            model_of(environment).covariance(found),
            textbook.covariance(environment.features, plain),
            rtol=0,
            atol=1e-14,
        )


def test_resampling_is_the_series_over_simulated_episodes():
    model, policy, key = model_of(make("oil_discovery")), drawn_policy(1), random.key(7)
    part = GeometricResampling(6)
    visited = part.simulate_features(model, policy, np.asarray(0.3), key)
    assert visited.shape == (3, 6, 12)
    for h in range(3):
        product, total = np.eye(12), 0.5 * np.eye(12)
        for phi in visited[h]:
            product = product @ (np.eye(12) - 0.5 * np.outer(phi, phi))
            total += 0.5 * product
        found = part.inverse(model, policy, np.asarray(0.3), key)[h]
        np.testing.assert_allclose(found, total, rtol=0, atol=1e-13)


def test_simulated_episodes_go_where_the_known_model_does():
    """One-hot features: their mean over 20 000 episodes is the occupancy, within five standard errors."""
    model, policy = model_of(make("oil_discovery")), drawn_policy(1)
    visited = GeometricResampling(20_000).simulate_features(model, policy, np.asarray(0.3), random.key(7))
    even = np.full_like(policy, 0.5)
    exact = (0.7 * model.occupancy(policy) + 0.3 * model.occupancy(even)).reshape(3, -1)
    error = np.sqrt(exact * (1 - exact) / 20_000)
    assert (np.abs(visited.mean(axis=1) - exact) <= 5 * error + 1e-12).all()
    assert (np.abs(visited.mean(axis=1) - model.occupancy(policy).reshape(3, -1)) > 5 * error).any()
