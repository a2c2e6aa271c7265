"""Fixed share: its definition, its guarantee for every sequence, and weights that never vanish."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.parts import FixedShare
from tests.reference.adaptive import best_sequence, fixed_share

SCORES = st.lists(st.lists(st.floats(-30, 5), min_size=3, max_size=3), min_size=1, max_size=5)


def played(sharing: FixedShare, scores: np.ndarray) -> np.ndarray:
    """Logarithms of the weights before each round, and after the last."""
    weights = [np.log(sharing.prior(np.zeros(scores.shape[1])))]
    for t, each in enumerate(scores, start=1):
        weights.append(sharing.update(weights[-1], each, np.asarray(t)))
    return np.array(weights)


@given(SCORES, st.sampled_from([0.0, 0.01, 0.4]), st.sampled_from([0.0, 0.3]))
def test_weights_equal_their_definition(scores, share, favour):
    sharing = FixedShare(share, favour)
    expected = fixed_share(scores, sharing.prior(np.zeros(3)).tolist(), share)
    np.testing.assert_allclose(np.exp(played(sharing, np.array(scores))), expected, rtol=1e-9, atol=1e-15)


@given(SCORES, st.sampled_from([0.0, 0.01, 0.4]), st.sampled_from([0.0, 0.3]))
def test_no_sequence_of_experts_beats_the_mixture_by_more_than_its_switches_cost(scores, share, favour):
    sharing, values = FixedShare(share, favour), np.array(scores)
    log_weights = played(sharing, values)[:-1]
    lost = -np.logaddexp.reduce(log_weights + values, axis=1).sum()
    shares = [float(sharing.share_at(np.asarray(t))) for t in range(1, len(values))]
    assert lost <= best_sequence(values, sharing.prior(np.zeros(3)), shares) + 1e-9


@pytest.mark.parametrize("share", [0.0, 1e-3])
def test_no_weight_vanishes_and_a_late_change_is_found(share):
    sharing = FixedShare(share)
    log_weights = np.log(np.full(2, 0.5))
    for t in range(1, 3000):
        log_weights = sharing.update(log_weights, np.array([0.0, -50.0]), np.asarray(t))
    assert np.isfinite(log_weights).all()
    for t in range(3000, 3020):
        log_weights = sharing.update(log_weights, np.array([-1.0, 0.0]), np.asarray(t))
    assert log_weights[1] > log_weights[0]
