"""The device is asked for by kind; what was computed on one kind is never taken for that of another."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.simulation import program
from driftwise.simulation.checkpoints import CheckpointError, checkpoint_name, pack_checkpoint, resume
from driftwise.simulation.engines import Processes
from driftwise.simulation.program import num_programs
from driftwise.simulation.running import run_tasks
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, agent, bandit_agent, make, make_bandit

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
HAS_GPU = any(device.platform == "gpu" for device in jax.devices())
needs_gpu = pytest.mark.skipif(not HAS_GPU, reason="there is no GPU here")


def fresh(**options: Any) -> Simulation:
    return Simulation(Task(agent("opt_wlsvi"), make(), **OPTIONS, **options))


def test_the_device_that_jax_would_take_gives_the_same_bytes_by_name_and_compiles_nothing():
    chosen = dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS)
    before = num_programs()
    named = dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS, device=fresh().platform)  # pyright: ignore
    assert num_programs() == before
    assert named.values.tobytes() == chosen.values.tobytes()
    assert named.manifest == {**chosen.manifest, "seconds": named.manifest["seconds"]}


def test_a_device_that_the_program_around_has_set_is_taken():
    with jax.default_device(jax.devices("cpu")[0]):
        assert fresh().platform == "cpu"


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU here")
def test_a_device_that_is_not_there_is_said_with_what_is():
    with pytest.raises(ValueError, match=r"device must be one of cpu, gpu, got 'cup'"):
        fresh(device="cup")
    with pytest.raises(ValueError, match=r"device must be of a kind that JAX finds here \(cpu\), got 'gpu'"):
        dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS, device="gpu")


def test_a_checkpoint_of_another_kind_of_device_has_the_same_name_and_is_refused(tmp_path):
    path = tmp_path / checkpoint_name(fresh(device="gpu").task)
    assert path.name == checkpoint_name(fresh(device="cpu").task)
    resume(path, fresh(device="cpu"))
    with pytest.raises(CheckpointError, match="was computed on a cpu, which rounds differently from a gpu"):
        resume(path, fresh(device="gpu"))


def test_a_finished_simulation_is_read_where_its_device_is_not(tmp_path):
    elsewhere = fresh(device="cpu")
    elsewhere.advance()
    elsewhere.task = replace(elsewhere.task, device="gpu")  # as if this had been on another machine
    (tmp_path / "finished").write_bytes(pack_checkpoint(elsewhere))
    result = resume(tmp_path / "finished", fresh(device="gpu"))
    assert result.values.tobytes() == elsewhere.result().values.tobytes()
    assert result.manifest["device"] == jax.devices("cpu")[0].device_kind


def test_the_layout_of_gpus_gives_the_same_numbers(monkeypatch):
    """Axes of runs at the end of all states; a number of runs that no other test compiles a program for."""
    usual = dw.simulate(bandit_agent("adaptive_lin_ucb"), make_bandit(), **OPTIONS, record_every=3)
    monkeypatch.setattr(program, "on_gpu", lambda: True)
    options = {**OPTIONS, "num_runs": 11}
    turned = dw.simulate(bandit_agent("adaptive_lin_ucb"), make_bandit(), **options, record_every=3)
    assert usual.diagnostics.keys() == turned.diagnostics.keys()
    for name in usual.diagnostics:
        one, other = (each.diagnostics[name] for each in (usual, turned))
        np.testing.assert_allclose(other[..., :NUM_RUNS, :], one, rtol=1e-9)
    np.testing.assert_allclose(turned.values[..., :NUM_RUNS, :], usual.values, rtol=1e-9)


@needs_gpu
def test_a_gpu_agrees_with_a_cpu():
    on_gpu, on_cpu = (
        dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS, device=kind) for kind in ("gpu", "cpu")
    )
    np.testing.assert_allclose(on_gpu.values, on_cpu.values, rtol=0, atol=1e-9)
    assert on_gpu.manifest["device"] != on_cpu.manifest["device"]


@needs_gpu
def test_processes_share_a_gpu(tmp_path):
    tasks = [Task(agent(name), make(), **OPTIONS, device="gpu") for name in ("opt_wlsvi", "lsvi_ucb")]
    results = run_tasks(tasks, tmp_path, engine=Processes(2))
    for task, result in zip(tasks, results, strict=True):
        alone = dw.simulate(task.agent, task.environment, **OPTIONS, device="gpu")
        assert result.values.tobytes() == alone.values.tobytes()
