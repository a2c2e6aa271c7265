"""Small matrices on JAX: every form equals the plain one, up to what the condition of a matrix allows."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftwise.base import jax_backend
from driftwise.base.arrays import spd_products
from driftwise.base.jax_backend import TILE, by_tiles, invert_lanes, kernels

swept = by_tiles(invert_lanes)
EPS = np.finfo(np.float64).eps
SOME = [1, 2, 3, 10, 16, 17, 64]  # dimensions, on both sides of where the library takes over


def matrices(shape: tuple[int, ...], dim: int, condition: float, seed: int = 0) -> np.ndarray:
    """Symmetric positive definite matrices `[*shape, d, d]` with eigenvalues from 1 to `condition`."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(*shape, dim, dim)))[0]
    values = np.geomspace(1, condition, dim) if dim > 1 else np.array([condition])
    made = (basis * values) @ basis.swapaxes(-1, -2)
    return (made + made.swapaxes(-1, -2)) / 2


def norms(array: np.ndarray) -> np.ndarray:
    return np.linalg.norm(np.asarray(array), ord=2, axis=(-2, -1))


def on_jax(function, *arrays: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        return np.asarray(jax.jit(function)(*(jnp.asarray(each) for each in arrays)))


def check_inverse(dim: int, condition: float) -> None:
    given = matrices((4,), dim, condition)
    found = on_jax(jax.vmap(jax_backend.spd_inverse), given)
    defined = on_jax(jax_backend.inverse_by_cholesky, given)
    allowed = 4 * dim * EPS * condition  # both may be wrong by their rounding times the condition
    assert np.all(norms(found - defined) <= allowed * norms(defined))


@pytest.mark.parametrize("condition", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("dim", SOME)
def test_the_inverse_is_that_of_cholesky_whatever_the_condition(dim, condition):
    check_inverse(dim, condition)


@pytest.mark.slow
@pytest.mark.parametrize("dim", range(1, 65))
def test_the_inverse_is_that_of_cholesky_in_every_dimension(dim):
    for condition in (1.0, 1e3, 1e6, 1e9, 1e12):
        check_inverse(dim, condition)


@pytest.mark.parametrize("condition", [1.0, 1e12])
def test_the_sweep_is_as_near_to_the_exact_inverse_as_the_condition_allows(condition):
    given = matrices((), 5, condition)
    exact = exact_inverse(given)
    found = on_jax(swept, given)
    assert norms(found - exact) <= 4 * 5 * EPS * condition * norms(exact)


def exact_inverse(matrix: np.ndarray) -> np.ndarray:
    """Gauss and Jordan's elimination with fractions, which round nothing."""
    dim = len(matrix)
    rows = [
        [Fraction(x) for x in row] + [Fraction(i == j) for j in range(dim)] for i, row in enumerate(matrix)
    ]
    for k in range(dim):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(dim):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([[float(x) for x in row[dim:]] for row in rows])


@pytest.mark.parametrize("form", [swept, kernels.invert_on_gpu])
def test_axes_that_are_mapped_over_change_no_number(form):
    given = matrices((3, 2, 5), 6, 10.0)

    plain = on_jax(form, given)
    nested = on_jax(jax.vmap(jax.vmap(form), in_axes=1, out_axes=1), given)
    np.testing.assert_array_equal(plain, nested)
    np.testing.assert_allclose(plain, np.linalg.inv(given), rtol=1e-13, atol=1e-13)


def test_a_lane_gets_the_same_number_whatever_its_neighbours():
    given = matrices((67,), 4, 1e3)  # two tiles that are not full
    together = on_jax(swept, given)
    alone = on_jax(swept, given[40:41])
    np.testing.assert_array_equal(together[40:41], alone)


@pytest.mark.parametrize("form", [swept, kernels.invert_on_gpu])
def test_what_is_not_positive_definite_has_no_inverse_and_spoils_no_other(form):
    given = np.stack([np.eye(3), np.diag([1.0, -1.0, 2.0]), np.zeros((3, 3)), 2 * np.eye(3)])
    found = on_jax(jax.vmap(form), given)
    assert np.isnan(found[1:3]).all()
    np.testing.assert_array_equal(found[[0, 3]], np.stack([np.eye(3), np.eye(3) / 2]))


@pytest.mark.parametrize("condition", [1.0, 1e12])
@pytest.mark.parametrize("dim", SOME)
def test_the_root_is_lower_triangular_and_gives_the_matrix_back(dim, condition):
    given = matrices((4,), dim, condition)
    found = on_jax(jax.vmap(jax_backend.spd_root), given)
    np.testing.assert_array_equal(found, np.tril(found))
    wrong = norms(found @ found.swapaxes(-1, -2) - given)
    assert np.all(
        wrong <= 4 * dim * EPS * norms(given)
    )  # Cholesky is stable backwards, whatever the condition


def test_what_is_not_positive_definite_has_no_root():
    given = np.stack([np.eye(3), np.diag([1.0, -1.0, 2.0])])
    found = on_jax(jax_backend.spd_root, given)
    np.testing.assert_array_equal(found[0], np.eye(3))
    assert np.isnan(found[1]).any()


@pytest.mark.parametrize("dim", [1, 6])  # of which a turn reads all columns, and some
def test_the_kernel_of_the_sandwich_gives_the_products(dim):
    outer, inner = matrices((2, 35), dim, 10.0), matrices((2, 35), dim, 100.0, seed=1)
    found = on_jax(jax.vmap(jax.vmap(kernels.sandwich_on_gpu)), outer, inner)
    np.testing.assert_allclose(found, outer @ inner @ outer, rtol=1e-12, atol=1e-12)


def test_one_side_of_a_sandwich_may_be_the_same_for_all():
    outer, inner = matrices((), 3, 10.0), matrices((4,), 3, 10.0, seed=1)
    found = on_jax(jax.vmap(lambda each: kernels.sandwich_on_gpu(outer, each)), inner)
    np.testing.assert_allclose(found, outer @ inner @ outer, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dim", [3, 20])
def test_a_solution_is_the_inverse_times_the_vector(dim):
    given, vector = matrices((4,), dim, 1e3), np.random.default_rng(2).normal(size=(4, dim))
    found = on_jax(jax_backend.spd_solve, given, vector)
    np.testing.assert_allclose(
        found, np.linalg.solve(given, vector[..., None])[..., 0], rtol=1e-10, atol=1e-12
    )


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
