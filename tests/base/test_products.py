"""Products of few vectors in the metric of small matrices: each form equals its definition."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from driftwise.base.arrays import spd_products
from driftwise.base.jax_backend.small_matrices import TILE
from tests.base.test_small_matrices import EPS, matrices, on_jax


def rows(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=shape)


@pytest.mark.parametrize(("dim", "condition"), [(1, 1.0), (3, 1e12), (16, 1e6), (17, 1e6)])
def test_products_are_those_of_the_inverse_whatever_the_condition(dim, condition):
    given, vectors = matrices((4,), dim, condition), rows(4, 2, dim)
    inverse = np.linalg.inv(given)
    defined = (vectors @ inverse @ vectors[:, 0, :, None])[..., 0]
    size = np.linalg.norm(inverse, 2, (-2, -1)) * np.linalg.norm(vectors, 2, (-2, -1)) ** 2
    allowed = 8 * dim * EPS * condition * size[:, None]  # both may be wrong by this
    for found in (on_jax(spd_products, given, vectors), spd_products(given, vectors)):
        assert np.all(np.abs(found - defined) <= allowed)


def test_products_may_share_their_vectors_and_stay_the_same_in_any_batch():
    given, vectors = matrices((TILE + 3, 2), 3, 10.0), rows(2, 2, 3)  # tiles that are not full
    both = on_jax(jax.vmap(spd_products, in_axes=(0, None)), given, vectors)
    np.testing.assert_allclose(both, spd_products(given, vectors), rtol=1e-12)
    np.testing.assert_array_equal(both[40], on_jax(spd_products, given[40], vectors))


def test_what_is_not_positive_definite_has_no_products_and_spoils_no_others():
    given = np.stack([np.eye(3), np.diag([1.0, -1.0, 2.0]), np.zeros((3, 3))])
    found = on_jax(spd_products, given, np.ones((3, 1, 3)))
    np.testing.assert_array_equal(found[:, 0], [3, np.nan, np.nan])
