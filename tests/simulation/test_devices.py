"""Runs over several devices: the same bytes as on one, from programs that cannot wait for ever."""

import os
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import opt_wlsvi
from driftwise.simulation import devices
from driftwise.simulation.devices import Split, prepare_jax
from driftwise.simulation.program import compile_ahead, split_runs
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, bandit_agent, make_bandit

Device = namedtuple("Device", "platform number")


def split(platform: str, num_devices: int, num_runs: int) -> Split:
    return Split.of(tuple(Device(platform, number) for number in range(num_devices)), num_runs)


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_every_run_is_played_and_no_device_has_only_runs_too_many(platform):
    for num_devices in range(1, 9):
        for num_runs in range(1, 140):
            found = split(platform, num_devices, num_runs)
            shares = found.runs.reshape(len(found.devices), -1)
            assert shares.shape[1] == found.num_blocks * found.size
            assert list(dict.fromkeys(found.runs.tolist())) == list(range(num_runs))
            assert len(np.unique(shares[:, 0])) == len(found.devices) <= num_devices


def test_cpus_play_as_many_runs_at_once_whatever_their_number_and_a_gpu_plays_all_of_its_own():
    for num_runs in (1, 16, 17, 50, 64, 1000):
        assert len({split("cpu", num_devices, num_runs).size for num_devices in range(1, 70)}) == 1
    found = split("gpu", 4, 8192)
    assert (len(found.devices), found.num_blocks, found.size) == (4, 1, 2048)


def test_runs_over_several_devices_are_those_of_one_bit_for_bit_also_from_its_checkpoint(monkeypatch):
    def contents(simulation: Simulation) -> dict[str, bytes]:  # but for times
        arrays = simulation.checkpoint().items()
        return {name: array.tobytes() for name, array in arrays if name not in ("seconds", "origin")}

    monkeypatch.setattr(devices, "_BLOCK_RUNS", 2)  # 3 runs are 2 blocks, with a run too many
    sizes: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, chunk_size=16)
    task = Task(bandit_agent("d_lin_ucb"), make_bandit(), **sizes)
    assert len(split_runs(task).devices) == 2
    with jax.default_device(jax.devices("cpu")[0]):
        one = Simulation(task)
        assert len(split_runs(task).devices) == 1
        one.advance()
        middle, then = one.checkpoint(), contents(one)
        while not one.finished:
            one.advance()
    several = Simulation(task)
    several.advance()
    assert contents(several) == then
    several.restore(middle)
    while not several.finished:
        several.advance()
    assert contents(several) == contents(one)


def test_a_program_that_calls_routines_which_wait_for_threads_runs_on_one_cpu():
    environment = dw.environments.random_linear_mdp(
        num_states=18, num_actions=1, dim=17, horizon=1, drift=dw.drift.Constant()
    )
    large = opt_wlsvi(environment.spec, rate=0.9, radius=1.0)
    found = split_runs(Task(large, environment, num_episodes=1, num_runs=64))
    assert (len(found.devices), found.num_blocks, found.size) == (1, 4, 16)


def test_a_number_of_cpus_that_jax_was_told_is_left_alone(monkeypatch):
    before, changes = jax.local_device_count("cpu"), []
    prepare_jax(before + 1)  # JAX has begun
    assert jax.local_device_count("cpu") == before
    monkeypatch.setattr(devices.extras, "has_jax_begun", lambda: False)
    monkeypatch.setattr(jax.config, "update", lambda *setting: changes.append(setting))
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    prepare_jax(before + 1)
    assert changes == []
    assert os.environ["XLA_FLAGS"].startswith("--xla_force_host_platform_device_count=2 --xla_backend_extra")


def test_a_device_is_woken_once_and_one_that_has_no_memory_says_nothing(monkeypatch):
    woken = []

    def put(_: np.ndarray, device: Device) -> None:
        woken.append(device)
        raise RuntimeError("RESOURCE_EXHAUSTED")

    monkeypatch.setattr(devices.jax, "device_put", put)
    device = Device("gpu", 7)
    for _ in range(2):
        devices.wake_device(device).join()
    assert woken == [device]


def test_a_program_that_was_compiled_ahead_is_the_one_that_plays(caplog):
    task = Task(bandit_agent("d_lin_ucb"), make_bandit(), num_episodes=2, num_runs=13, chunk_size=2)
    ahead = threading.Thread(target=compile_ahead, args=(task, split_runs(task)))
    ahead.start()
    ahead.join()
    simulation = Simulation(task)
    with jax.log_compiles():
        simulation.advance()
    assert "XLA compilation of jit(chunk_inputs)" in caplog.text  # JAX tells of others
    assert "XLA compilation of jit(play_chunk)" not in caplog.text


PROGRAM = """
import hashlib, sys
import jax
import driftwise as dw
from driftwise.simulation.program import split_runs
from driftwise.simulation.tasks import Task
from tests.examples import agent, bandit_agent, make, make_bandit

large = dw.environments.random_linear_mdp(num_states=30, num_actions=5, dim=20, horizon=5)
for own, environment in (
    (agent("opt_wlsvi"), make()),
    (bandit_agent("d_lin_ucb"), make_bandit()),
    (agent("opt_rlsvi"), make()),
    (agent("oppo"), make()),
    (dw.algorithms.opt_wlsvi(large.spec, rate=0.9, radius=1.0), large),
):
    result = dw.simulate(own, environment, num_episodes=300, num_runs=35, keep_state=True)
    leaves = result.values, result.regret, *jax.tree.leaves(result.state)
    print(hashlib.sha256(b"".join(leaf.tobytes() for leaf in leaves)).hexdigest())
task = Task(agent("opt_wlsvi"), make(), num_episodes=300, num_runs=35)
print(len(split_runs(task).devices), file=sys.stderr)
"""


@pytest.mark.slow
def test_the_number_of_devices_changes_no_byte_of_optimised_programs_and_none_hangs():
    root = Path(__file__).parents[2]
    environ = {key: value for key, value in os.environ.items() if key != "JAX_NUM_CPU_DEVICES"}
    environ["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(root)])

    def run(count: int) -> Any:
        flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
        command, said = [sys.executable, "-c", PROGRAM], dict(capture_output=True, text=True)
        return subprocess.run(command, env=environ | flags, check=True, timeout=600, **said)  # pyright: ignore

    one, four = run(1), run(4)
    assert (one.stderr.split()[-1], four.stderr.split()[-1]) == ("1", "3")  # 35 runs are three blocks
    assert one.stdout == four.stdout


@pytest.mark.parametrize(
    ("platform", "capability", "has"),
    [("gpu", "9.0", True), ("gpu", "12.0", True), ("gpu", "7.0", False), ("gpu", "gfx90a", False)],
)
def test_parts_of_float32_are_multiplied_by_gpus_that_can(platform, capability, has):
    assert devices.has_tf32(SimpleNamespace(platform=platform, compute_capability=capability)) == has
    assert not devices.has_tf32(jax.devices("cpu")[0])
