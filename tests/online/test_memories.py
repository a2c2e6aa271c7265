"""Memories of a mixture are regressions, however their matrices are kept."""

from __future__ import annotations

import numpy as np

from driftwise.online.bandits.memories import Sums, Together


def test_a_matrix_that_rounding_has_made_indefinite_still_forecasts():
    gram = np.array([np.eye(2), [[1, 1 + 1e-9], [1 + 1e-9, 1]]])  # the second has no factor
    cross = np.array([[1.0, 2.0], [3.0, 3.0]])
    features = np.array([1.0, 0.5])
    memories = Together(np.array([0.5, 1.0]), np.ones(2), Sums(gram, None, cross))
    error, variance = memories.forecast(features, 4.0)
    direction = np.linalg.solve(gram, features[:, None])[..., 0]
    np.testing.assert_allclose(error, 4 - np.vecdot(direction, cross))
    np.testing.assert_allclose(variance, direction @ features)
