"""Link functions: slopes against differences, constants against their definitions."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

from driftwise.parts import LINKS

Z = np.linspace(-6, 6, 241)


@pytest.mark.parametrize("name", LINKS)
def test_the_slope_is_the_derivative_of_the_mean(name):
    """Central differences of step 1e-5 are right to 1e-10 of the third derivative, and rounding to 1e-11."""
    link, step = LINKS[name], 1e-5
    differences = (link.mean(Z + step) - link.mean(Z - step)) / (2 * step)
    np.testing.assert_allclose(link.slope(Z), differences, rtol=1e-7, atol=1e-9)
    assert (np.diff(link.mean(Z)) > 0).all()


@pytest.mark.parametrize("name", LINKS)
def test_slopes_lie_between_their_bounds_and_bend_no_more_than_self_concordance_says(name):
    link = LINKS[name]
    for bound in (0.5, 6.0):
        inside = link.slope(Z[np.abs(Z) <= bound])
        least, most = link.slopes(bound)
        np.testing.assert_allclose([least, most], [inside.min(), inside.max()], rtol=1e-12)
    bend = np.abs(np.gradient(link.slope(Z), Z[1] - Z[0]))[1:-1]
    assert (bend <= 1.01 * link.self_concordance * link.slope(Z)[1:-1] + 1e-12).all()


@pytest.mark.parametrize("name", LINKS)
def test_numpy_and_jax_agree_and_nothing_overflows(name):
    link, far = LINKS[name], np.array([-1e6, -800.0, 800.0, 1e6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(link.mean(far)).all()
        assert np.isfinite(link.slope(far)).all()
    for function in (link.mean, link.slope):
        np.testing.assert_allclose(function(jnp.asarray(Z)), function(Z), rtol=1e-5)
