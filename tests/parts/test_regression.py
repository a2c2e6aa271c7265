"""Small linear algebra: each shortcut equals the expression it stands for."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftwise.base.jax_backend  # noqa: F401  (adds JAX to the table of libraries)
from driftwise.base import RowProducts
from driftwise.base.arrays import scan, spd_inverse, write_at
from driftwise.parts import regression

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(4, 3, 5))
MATRICES = RNG.normal(size=(2, 5, 5))
SYMMETRIC = MATRICES @ MATRICES.transpose(0, 2, 1) + np.eye(5)
TOLERANCE: dict[str, Any] = dict(rtol=1e-12, atol=1e-12)  # a handful of additions of numbers of size ten


@pytest.mark.parametrize("with_pairs", [True, False])
def test_quadratic_is_the_quadratic_form_of_every_pair(monkeypatch, with_pairs):
    if not with_pairs:
        monkeypatch.setattr(regression, "MAX_PAIR_ENTRIES", 0)
    table = regression.feature_table(FEATURES)
    assert (table.find(RowProducts) is not None) == with_pairs
    expected = np.einsum("sad,hde,sae->hsa", FEATURES, SYMMETRIC, FEATURES).reshape(2, 12)
    np.testing.assert_allclose(regression.quadratic(table, SYMMETRIC), expected, **TOLERANCE)


def test_linear_and_inner_are_the_products_they_are_named_for():
    table = regression.feature_table(FEATURES)
    weights = RNG.normal(size=(2, 5))
    expected = np.einsum("sad,hd->hsa", FEATURES, weights).reshape(2, 12)
    np.testing.assert_allclose(regression.linear(table, weights), expected, **TOLERANCE)
    expected = np.einsum("hde,he->hd", MATRICES, weights)
    np.testing.assert_allclose(regression.matvec(MATRICES, weights), expected, **TOLERANCE)


def test_inverse_is_an_inverse_on_both_libraries():
    np.testing.assert_allclose(spd_inverse(SYMMETRIC) @ SYMMETRIC, np.tile(np.eye(5), (2, 1, 1)), atol=1e-12)
    with jax.enable_x64(True):
        on_jax = np.asarray(spd_inverse(jnp.asarray(SYMMETRIC)))
    np.testing.assert_allclose(on_jax, spd_inverse(SYMMETRIC), **TOLERANCE)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_means_the_same_on_both_libraries(reverse):
    def step(carry, x):
        carry = 2 * carry + x[0]
        return carry, (carry, carry * x[0])

    xs = (np.arange(1.0, 5.0),)
    carry, ys = scan(step, 1.0, xs, reverse=reverse)
    assert carry == (65.0 if reverse else 42.0)  # 16+8·4+4·3+2·2+1 and 16+8·1+4·2+2·3+4
    with jax.enable_x64(True):
        jax_carry, jax_ys = scan(step, jnp.asarray(1.0), (jnp.asarray(xs[0]),), reverse=reverse)
    assert float(jax_carry) == carry
    for ours, theirs in zip(ys, jax_ys, strict=True):
        np.testing.assert_array_equal(ours, np.asarray(theirs))


def test_write_is_in_place_on_numpy_and_a_new_array_on_jax():
    buffer = np.zeros(3)
    assert write_at(buffer, 1, np.asarray(5.0)) is buffer
    np.testing.assert_array_equal(buffer, [0, 5, 0])
    original = jnp.zeros(3)
    np.testing.assert_array_equal(np.asarray(write_at(original, 1, jnp.asarray(5.0))), [0, 5, 0])
    np.testing.assert_array_equal(np.asarray(original), [0, 0, 0])
