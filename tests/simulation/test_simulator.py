"""The simulator: numbers that depend on their address alone, and nothing compiled twice."""

import json
import math
import re
import subprocess
import sys
from typing import Any
from unittest import mock

import jax
import numpy as np
import pytest
from rich.progress import Progress

import driftwise as dw
from driftwise.algorithms import epsilon_greedy_lsvi, opt_wlsvi
from driftwise.base import from_config
from driftwise.simulation import program
from driftwise.simulation.program import num_programs
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make

ENVIRONMENT = make(rewards="bernoulli")
AGENT = agent("opt_wlsvi")  # rate 0.9, radius 0.4
OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)


@pytest.fixture(scope="module")
def base() -> dw.Result:
    return dw.simulate(AGENT, ENVIRONMENT, **OPTIONS)


def assert_same_numbers(a: dw.Result, b: dw.Result, of_a: Any = ..., of_b: Any = ...) -> None:
    """The same trajectories. Other batch sizes may round the last bits of values differently."""
    np.testing.assert_array_equal(a.returns[of_a], b.returns[of_b])
    np.testing.assert_allclose(a.values[of_a], b.values[of_b], rtol=0, atol=1e-10)
    np.testing.assert_allclose(a.optimal_values[of_a], b.optimal_values[of_b], rtol=0, atol=1e-10)


def test_a_bar_says_that_the_program_is_compiled_and_then_how_far_it_is(monkeypatch):
    def spied(name: str) -> Any:
        return mock.patch.object(Progress, name, autospec=True, side_effect=getattr(Progress, name))

    with spied("add_task") as added, spied("update") as updated:
        dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, progress=True)
    assert added.call_args.args[1] == "compiling"
    assert updated.call_args.kwargs["description"] == f"episode {NUM_EPISODES} of {NUM_EPISODES}"
    with pytest.raises(ValueError, match=r"^progress must be True, False or a function, got 'bar'$"):
        dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, progress="bar")  # pyright: ignore[reportArgumentType]
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ModuleNotFoundError, match=r"^progress=True needs rich.*'driftwise\[cli\]'$"):
        dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, progress=True)


def test_numbers_do_not_depend_on_the_chunks_and_progress_is_told_after_each(base):
    told = []
    chunked = dw.simulate(
        AGENT, ENVIRONMENT, **OPTIONS, chunk_size=16, progress=lambda done, total: told.append((done, total))
    )
    assert_same_numbers(base, chunked)
    assert {(16, 40), (32, 40), (40, 40)} <= {*told}  # and in between, as long as it takes
    assert told == sorted({*told})


def test_an_episode_does_not_depend_on_how_many_follow(base):
    shorter = dw.simulate(AGENT, ENVIRONMENT, **{**OPTIONS, "num_episodes": 11})
    assert_same_numbers(base, shorter, of_a=(..., slice(11)))


def test_a_grid_broadcasts_and_each_of_its_points_equals_a_single_run(base):
    grid = opt_wlsvi(SPEC, rate=[[0.5], [0.9]], radius=[0.4, 1.0])
    result = dw.simulate(grid, ENVIRONMENT, **OPTIONS, keep_state=True)
    assert result.values.shape == (2, 2, NUM_RUNS, NUM_EPISODES)
    assert result.cumulative_regret.shape == (2, 2, NUM_RUNS, NUM_EPISODES)
    assert result.state.gram.shape == (2, 2, NUM_RUNS, SPEC.horizon, SPEC.dim, SPEC.dim)
    assert result.state.tick.shape == (2, 2, NUM_RUNS)
    assert_same_numbers(result, base, of_a=(1, 0))
    other = dw.simulate(opt_wlsvi(SPEC, rate=0.5, radius=1.0), ENVIRONMENT, **OPTIONS)
    assert_same_numbers(result, other, of_a=(0, 1))


def test_a_grid_of_one_keeps_its_axis(base):
    result = dw.simulate(opt_wlsvi(SPEC, rate=[0.9], radius=0.4), ENVIRONMENT, **OPTIONS)
    assert result.values.shape == (1, NUM_RUNS, NUM_EPISODES)
    assert_same_numbers(result, base, of_a=0)


@pytest.mark.parametrize("record_every", [7, 40, 1000])
def test_cumulative_regret_is_exact_at_the_kept_points(base, record_every):
    sparse = dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, record_every=record_every)
    expected = {7: [7, 14, 21, 28, 35, 40], 40: [40], 1000: [40]}[record_every]
    assert sparse.episodes.tolist() == expected
    assert sparse.lengths.sum() == NUM_EPISODES
    # a mean over the block times its length: one rounding more than the plain sum
    np.testing.assert_allclose(
        sparse.cumulative_regret, base.cumulative_regret[:, np.array(expected) - 1], rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        np.cumsum(sparse.returns * sparse.lengths, axis=-1),
        np.cumsum(base.returns, axis=-1)[:, np.array(expected) - 1],
        rtol=1e-12,
    )


def test_episodes_to_a_turn_change_no_byte(base, monkeypatch):
    """GPUs play several episodes to a turn."""
    monkeypatch.setattr(program, "turn_length", lambda split, *counts: math.gcd(4, *counts))
    in_turns = dw.simulate(AGENT, ENVIRONMENT, **OPTIONS)
    np.testing.assert_array_equal(base.values, in_turns.values)
    np.testing.assert_array_equal(base.returns, in_turns.returns)


def test_points_are_episodes_unless_told_otherwise(base):
    np.testing.assert_array_equal(base.episodes, np.arange(1, NUM_EPISODES + 1))
    np.testing.assert_allclose(base.cumulative_regret, np.cumsum(base.regret, axis=-1), rtol=1e-15)


def test_all_agents_meet_the_same_environment(base):
    """They start where the others start (V* tells the state), and who acts alike sees alike."""
    chance = dw.simulate(agent("uniform"), ENVIRONMENT, **OPTIONS)
    np.testing.assert_array_equal(chance.optimal_values, base.optimal_values)
    assert len(np.unique(base.optimal_values)) > 6  # six states, two anchors
    reckless = dw.simulate(epsilon_greedy_lsvi(SPEC, epsilon=1.0), ENVIRONMENT, **OPTIONS)
    np.testing.assert_array_equal(chance.returns, reckless.returns)
    assert not np.array_equal(chance.returns, base.returns)


def test_runs_and_seeds_differ(base):
    other = dw.simulate(AGENT, ENVIRONMENT, **{**OPTIONS, "seed": 6})
    curves = np.concatenate([base.returns, other.returns])
    assert len(np.unique(curves, axis=0)) == 2 * NUM_RUNS


def test_a_second_call_of_the_same_shape_compiles_nothing(base):
    before = num_programs()
    dw.simulate(
        opt_wlsvi(SPEC, rate=0.7, radius=2, ridge=3),
        make("combination_lock", dw.drift.Abrupt((3,))),
        num_episodes=300,  # more than a chunk
        num_runs=NUM_RUNS,
        seed=8,
        record_every=3,
    )
    assert num_programs() == before


def test_the_global_precision_of_jax_is_left_alone(base):
    for setting in (False, True):
        with jax.enable_x64(setting):
            result = dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, keep_state=True)
            assert jax.config.jax_enable_x64 == setting  # pyright: ignore[reportAttributeAccessIssue]
            assert jax.numpy.ones(1).dtype == ("float64" if setting else "float32")
        assert result.values.dtype == result.state.gram.dtype == np.float64
        assert_same_numbers(result, base)


def test_single_precision_runs_and_roughly_agrees():
    """Trajectories may part at a tie, so means are compared: over 600 episodes they agree within 5 %."""
    options: dict[str, Any] = {**OPTIONS, "num_episodes": 200, "keep_state": True}
    single = dw.simulate(AGENT, ENVIRONMENT, **options, precision="float32")
    double = dw.simulate(AGENT, ENVIRONMENT, **options)
    assert single.state.gram.dtype == np.float32
    np.testing.assert_allclose(single.regret.mean(), double.regret.mean(), rtol=0.05)


def test_states_are_kept_only_on_request(base):
    assert base.state is None
    kept = dw.simulate(AGENT, ENVIRONMENT, **OPTIONS, keep_state=True)
    assert kept.state.tick.tolist() == [NUM_EPISODES] * NUM_RUNS


def test_settings_of_the_program_around_neither_disturb_nor_change(base):
    """And the same seed gives the same numbers."""
    seen = []
    with jax.numpy_rank_promotion("raise"), jax.numpy_dtype_promotion("strict"), jax.disable_jit():
        again = dw.simulate(
            AGENT, ENVIRONMENT, **OPTIONS, progress=lambda *_: seen.append(jax.numpy.ones(1).dtype)
        )
    for field in ("returns", "values", "optimal_values"):
        np.testing.assert_array_equal(getattr(again, field), getattr(base, field))
    assert {str(dtype) for dtype in seen} == {"float32"}  # JAX's default, also inside the callback


def test_a_chunk_is_never_much_longer_than_the_run():
    """Else this would ask for terabytes."""
    result = dw.simulate(AGENT, ENVIRONMENT, num_episodes=2, num_runs=NUM_RUNS, chunk_size=10**12)
    assert result.values.shape == (NUM_RUNS, 2)


def test_counts_beyond_the_addresses_of_randomness_are_refused():
    for changed, line in (
        (dict(record_every=2**63), "record_every must be an integer below 2^32, got 9223372036854775808"),
        (dict(first_run=2**32 - 2), "first_run must leave the last run a number below 2^32, got 4294967294"),
    ):
        with pytest.raises(ValueError, match=re.escape(line)):
            dw.simulate(AGENT, ENVIRONMENT, num_episodes=2, num_runs=3, **changed)


@pytest.mark.parametrize("radius", [1e39, 1e-60])
def test_parameters_that_do_not_fit_the_precision_are_refused(radius):
    loud = opt_wlsvi(SPEC, rate=0.9, radius=radius)
    with pytest.raises(ValueError, match="agent: its parameters must fit into float32"):
        dw.simulate(loud, ENVIRONMENT, num_episodes=1, precision="float32")


def test_the_manifest_tells_how_to_repeat_the_run(base):
    facts = json.loads(json.dumps(base.manifest))
    assert from_config(facts["agent"]) == AGENT
    assert facts["environment"]["name"] == "random_linear_mdp"
    assert {name: facts[name] for name in OPTIONS} == OPTIONS
    assert facts["versions"]["driftwise"] == dw.__version__
    assert facts["versions"]["jax"] == jax.__version__


@pytest.mark.parametrize("module", ["driftwise", "driftwise.algorithms", "driftwise.environments.models"])
def test_importing_does_not_import_jax(module):
    code = f"import sys, {module}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_unknown_attributes_of_the_package_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'simulte'"):
        dw.simulte  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]
