"""Very long runs: no overflow, no NaN, and matrices that stay positive definite."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.environments import random_linear_mdp
from driftwise.parts import LeastSquares
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, make

ENVIRONMENT = random_linear_mdp(
    num_states=2, num_actions=2, dim=2, horizon=1, drift=dw.drift.Periodic(1000), rewards="bernoulli"
)
AGENTS = {
    "opt_wlsvi": dw.algorithms.opt_wlsvi(ENVIRONMENT.spec, rate=0.99, radius=0.5),
    "sw_lsvi_ucb": dw.algorithms.sw_lsvi_ucb(ENVIRONMENT.spec, length=50, radius=0.5),
    "lsvi_ucb_restart": dw.algorithms.lsvi_ucb_restart(ENVIRONMENT.spec, period=50, radius=0.5),
    "lsvi_ucb": dw.algorithms.lsvi_ucb(ENVIRONMENT.spec, radius=0.5),
}


def assert_stable(agent: LeastSquares, num_episodes: int) -> None:
    options: dict[str, Any] = dict(record_every=num_episodes // 100, chunk_size=10_000, keep_state=True)
    result = dw.simulate(agent, ENVIRONMENT, num_episodes=num_episodes, **options)
    assert np.isfinite(result.values).all()
    assert result.values.min() > 0  # compiled, a policy of NaN can read as one without any probability
    assert np.isfinite(result.returns).all()
    assert (result.optimal_values - result.values).min() >= -1e-10
    ridge = result.state.ridge.item()
    for gram in (result.state.gram, result.state.gram_sq):
        if gram is not None:
            # rounding of sums of at most num_episodes numbers of size one, far below the ridge
            assert np.linalg.eigvalsh(gram).min() > ridge * (1 - 1e-6)
    assert result.state.tick.item() == num_episodes


@pytest.mark.parametrize("name", ["opt_wlsvi", "sw_lsvi_ucb"])  # the two that subtract or multiply
def test_two_hundred_thousand_episodes_leave_everything_finite(name):
    assert_stable(AGENTS[name], 200_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", AGENTS)
def test_ten_million_episodes_leave_everything_finite(name):
    assert_stable(AGENTS[name], 10**7)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_ridge_below_rounding_is_reported_not_played_on(precision):
    """With λ = 1e-20 the gram of one sample is singular, its factor NaN, and every number after it wrong."""
    agent = dw.algorithms.opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=1e-20)
    with pytest.raises((ValueError, ArithmeticError), match="ridge"):
        dw.simulate(agent, make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, precision=precision)
