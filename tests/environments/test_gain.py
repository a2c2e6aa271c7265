"""Extended value iteration, exact gains and diameters, held against linear programs and enumeration."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftwise as dw
from driftwise.environments import continuing_mdp
from driftwise.parts.extended_value_iteration import best_kernel, extended_value_iteration
from tests.examples import make_continuing
from tests.reference.average_reward import best_gain, best_row, gain_of_every_policy, inner_maximum

CYCLE = np.eye(3)[[1, 2, 0]][:, None, :]  # one action, from each state to the next


def random_mdp(seed: int, concentration: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((4, 2)), rng.dirichlet(np.full(4, concentration), size=(4, 2))


@given(seed=st.integers(0, 10**6), radius=st.floats(0, 2.5), size=st.integers(1, 6), tied=st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_best_row_in_a_ball_is_the_linear_programs(seed, radius, size, tied):
    rng = np.random.default_rng(seed)
    row = rng.dirichlet(np.full(size, 0.4))
    row[rng.random(size) < 0.3] = 0
    row = row / row.sum() if row.sum() else np.eye(size)[0]
    values = rng.integers(3, size=size).astype(float) if tied else rng.random(size)
    made = best_kernel(row, np.asarray(radius), values)
    np.testing.assert_allclose(made @ values, best_row(row, radius, values), rtol=0, atol=1e-9)
    np.testing.assert_allclose(made @ values, inner_maximum(row, radius, values) @ values, rtol=0, atol=1e-12)
    assert made.min() >= -1e-15
    assert made.sum() == pytest.approx(1)
    assert np.abs(made - row).sum() <= radius + 1e-12


@pytest.mark.parametrize("seed", range(6))
def test_extended_value_iteration_is_the_linear_program_over_all_kernels(seed):
    reward, kernel = random_mdp(seed)
    radius = np.random.default_rng(seed).uniform(0.05, 0.8, size=reward.shape)
    how: dict[str, Any] = dict(tolerance=np.asarray(1e-10), active=np.True_, max_iterations=1000)
    found = extended_value_iteration(reward, kernel, radius, **how)
    best = best_gain(reward, kernel, radius)
    assert found.low - 1e-9 <= best <= found.high + 1e-9
    assert found.high - found.low < 1e-10
    exact = float(dw.planning.optimal_gains(reward, kernel)[0])
    assert best > exact + 1e-3


def test_it_runs_compiled_and_in_batches_to_the_same_numbers():
    reward, kernel = (np.stack(each) for each in zip(*(random_mdp(seed) for seed in range(5)), strict=True))
    radius, tolerance = np.full(reward.shape, 0.3), np.logspace(-2, -8, 5)
    wanted = np.array([True, True, False, True, True])

    def one(*arrays):
        how = dict(zip(("tolerance", "active"), arrays[3:], strict=True))
        return extended_value_iteration(*arrays[:3], **how, max_iterations=1000)

    with jax.enable_x64(True):
        compiled = jax.jit(jax.vmap(one))(reward, kernel, radius, tolerance, wanted)
    for place in range(5):
        plain = one(*(each[place] for each in (reward, kernel, radius, tolerance, wanted)))
        for name, leaf in plain._asdict().items():
            np.testing.assert_allclose(getattr(compiled, name)[place], leaf, rtol=0, atol=1e-12)
    iterations = np.asarray(compiled.iterations)
    assert iterations[2] == 0
    assert (np.diff(iterations[[0, 1, 3, 4]]) > 0).all()


def test_a_cap_stops_what_never_settles_and_the_bounds_hold():
    how: dict[str, Any] = dict(tolerance=np.asarray(0.1), active=np.True_, max_iterations=50)
    found = extended_value_iteration(np.array([[1.0], [0.0], [0.0]]), CYCLE, np.zeros((3, 1)), **how)
    assert found.iterations == 50
    assert found.low <= 1 / 3 <= found.high


@pytest.mark.parametrize("seed", range(6))
def test_the_gain_is_the_best_of_all_policies_and_the_linear_programs(seed):
    reward, kernel = random_mdp(seed)
    gains = dw.planning.optimal_gains(reward, kernel)
    np.testing.assert_allclose(gains, gain_of_every_policy(reward, kernel).max(axis=0), rtol=0, atol=1e-9)
    np.testing.assert_allclose(gains, best_gain(reward, kernel, np.zeros_like(reward)), rtol=0, atol=1e-9)


def test_gains_of_periodic_chains_and_of_states_that_do_not_communicate():
    pays = np.array([[1.0], [0.0], [0.0]])
    np.testing.assert_allclose(dw.planning.optimal_gains(pays, CYCLE), 1 / 3, rtol=0, atol=1e-12)
    apart = np.eye(3)[[[0, 0], [0, 2], [2, 2]]]  # the middle one goes left or right, the others stay
    gains = dw.planning.optimal_gains(np.array([[0.2, 0.1], [0.0, 0.0], [0.7, 0.4]]), apart)
    np.testing.assert_allclose(gains, [0.2, 0.7, 0.7])


@pytest.mark.parametrize("share", [1e-2, 1e-6, 1e-10, 1e-12, 1e-13])
def test_the_gain_is_exact_where_states_hardly_communicate(share):
    """With that share of the swapped actions, staying fails as often as that, and so does leaving."""
    switch = dw.environments.two_state_switch(drift=dw.drift.Gradual((0, round(1 / share))))
    assert switch.gains(np.array([1]))[0] == pytest.approx(1 - share, rel=0, abs=1e-12)


def test_gains_do_not_depend_on_what_else_is_asked_for():
    environment = make_continuing(dw.drift.Gradual((0, 30)))
    together = environment.gains(np.arange(30))
    alone = [environment.gains(np.array([t]))[0] for t in range(30)]
    np.testing.assert_array_equal(together, alone)
    assert np.ptp(together) > 0.01


@pytest.mark.parametrize("seed", range(2))
def test_the_diameter_is_that_of_value_iteration(seed):
    _, kernel = random_mdp(seed, concentration=2.0)
    for slack in (0.0, 0.3):
        worst = 0.0
        for target in range(4):
            steps = np.zeros(4)
            for _ in range(200):
                rows = [[inner_maximum(row, slack, -steps) @ steps for row in rows] for rows in kernel]
                steps = np.where(np.arange(4) == target, 0, 1 + np.min(rows, axis=1))
            worst = max(worst, steps.max())
        assert dw.planning.diameter(kernel, slack=slack) == pytest.approx(worst)


def test_diameters_that_are_known():
    assert dw.planning.diameter(CYCLE) == pytest.approx(2)
    stuck = np.eye(2)[[[0], [0]]]
    assert dw.planning.diameter(stuck) == np.inf
    assert not dw.planning.is_communicating(stuck)
    assert dw.planning.diameter(stuck, slack=0.5) == pytest.approx(4)  # a quarter of the mass may go anywhere
    switch = dw.environments.two_state_switch(drift=dw.drift.Abrupt((5,)))
    assert [dw.planning.diameter(switch.model(t)[1]) for t in (0, 5)] == [1, 1]


@pytest.mark.parametrize("chance", [1e-3, 1e-9, 1e-15])
def test_a_diameter_is_exact_however_rare_the_way_is(chance):
    """From each state of three to the next with that chance; else one stays."""
    rare = (1 - chance) * np.eye(3)[:, None, :] + chance * CYCLE
    assert dw.planning.diameter(rare) == pytest.approx(2 / chance)
    assert dw.planning.diameter(np.array([[[1.0, 1e-270]], [[1.0, 0.0]]])) == np.inf  # no more than rounding


@pytest.mark.parametrize("concentration", [0.003, 0.01, 0.03])
def test_the_diameter_of_nearly_deterministic_kernels_is_found(concentration):
    rng = np.random.default_rng(0)
    for _ in range(20):
        kernel = rng.dirichlet(np.full(4, concentration), size=(4, 2))
        assert np.isfinite(dw.planning.diameter(kernel)) == dw.planning.is_communicating(kernel)
        assert 1 <= dw.planning.diameter(kernel, slack=0.2) <= 10 + 1e-9


def test_the_diameter_of_an_environment_is_the_largest_on_its_way():
    environment = make_continuing(dw.drift.Gradual((0, 6)), seed=6)
    along = [dw.planning.diameter(environment.model(t)[1]) for t in range(9)]
    assert environment.diameter(9) == pytest.approx(max(along))
    assert environment.diameter(1) == pytest.approx(along[0])
    assert along[0] < max(along)


def test_anchors_may_be_lists():
    anchor = ([[0, 1], [0.5, 0]], np.full((2, 2, 2), 0.5).tolist())
    listed = continuing_mdp([anchor], drift=dw.drift.Constant())
    np.testing.assert_array_equal(listed.model(0)[0], [[0, 1], [0.5, 0]])


def test_variation_is_the_largest_move_of_any_pair():
    environment = make_continuing(dw.drift.Gradual((0, 10)))
    variation = environment.variation(12)
    for t in range(11):
        (reward, kernel), (reward_next, kernel_next) = environment.model(t), environment.model(t + 1)
        assert variation.reward[t] == pytest.approx(np.abs(reward - reward_next).max())
        assert variation.transition[t] == pytest.approx(np.abs(kernel - kernel_next).sum(-1).max())
    assert environment.variation(1).total == 0
