"""With one-hot features, least squares is counting."""

from __future__ import annotations

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb
from tests.examples import make


@pytest.mark.parametrize(("ridge", "radius"), [(1.0, 0.4), (0.3, 1.5)])
def test_lsvi_ucb_on_one_hot_features_is_counting(ridge: float, radius: float) -> None:
    """`Q_h(s,a) = (Σ r + Σ_{s'} n(s,a,s') V_{h+1}(s')) / (n + λ) + β/√(n + λ)`, `V = min(max_a Q, H)`."""
    environment = make("combination_lock", rewards="bernoulli")
    spec = environment.spec
    visits = np.zeros((spec.horizon, spec.num_states, spec.num_actions))
    rewards = np.zeros_like(visits)
    arrivals = np.zeros((*visits.shape, spec.num_states))
    met = 0
    for one in dw.play(lsvi_ucb(spec, radius=radius, ridge=ridge), environment, 60, seed=4):
        value = np.zeros(spec.num_states)
        for h in reversed(range(spec.horizon)):
            q = (rewards[h] + arrivals[h] @ value) / (visits[h] + ridge) + radius / np.sqrt(visits[h] + ridge)
            np.testing.assert_allclose(one.plan.q[h], q, rtol=0, atol=1e-9)
            value = np.minimum(q.max(axis=1), spec.horizon)
        for h, (s, a, _, reward, s_next) in enumerate(zip(*one.episode[:5], strict=True)):
            visits[h, s, a] += 1
            rewards[h, s, a] += reward
            arrivals[h, s, a, s_next] += 1
            met += reward
    assert visits.sum() == 60 * spec.horizon
    assert met > 0  # rewards were seen, so the comparison saw more than bonuses
