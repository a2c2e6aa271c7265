"""A Ray cluster that cannot be had is named in one sentence, and one of its own leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from driftwise.simulation.engines import RayCluster
from driftwise.simulation.running import EngineError, run_tasks
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, agent, make
from tests.simulation.gates import needs_proc, processes_with, wait_until

TASKS = [Task(agent("opt_wlsvi"), make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)]


def test_a_device_that_no_node_can_be_asked_for_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(Simulation, "platform", "tpu")
    with pytest.raises(EngineError, match="device must be one of cpu, gpu on a Ray cluster, got 'tpu'"):
        run_tasks(TASKS, tmp_path, engine=RayCluster())


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "nowhere"])
def test_a_cluster_that_does_not_answer_is_named_at_once(address, tmp_path):
    with pytest.raises(EngineError, match=f"no Ray cluster answers at {address}: "):
        run_tasks(TASKS, tmp_path, engine=RayCluster(address))


def test_an_address_of_another_protocol_is_refused():
    with pytest.raises(
        ValueError, match="address must be HOST:PORT of a Ray cluster, got 'ray://head:10001'"
    ):
        RayCluster("ray://head:10001")


def test_without_ray_one_is_told_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'driftwise\[ray\]'"):
        run_tasks(TASKS, tmp_path, engine=RayCluster())


PROGRAM = """
import sys
from pathlib import Path
from driftwise.simulation.engines import RayCluster
from driftwise.simulation.running import run_tasks
from tests.simulation.gates import gated_task
from tests.simulation.test_ray import TASKS

def progress(number, done, total):
    if done:
        print(done, flush=True)

folder = Path(sys.argv[1])
tasks = {"short": TASKS, "long": [gated_task(folder / "gate")]}[sys.argv[2]]
run_tasks(tasks, folder, engine=RayCluster("local"), progress=progress)
"""


@needs_proc
@pytest.mark.parametrize(
    "end",
    ["by itself", *(pytest.param(end, marks=pytest.mark.slow) for end in ("interrupted", "killed"))],
)
def test_a_cluster_of_its_own_leaves_no_process_behind(end, tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), "short" if end == "by itself" else "long"]
    environment = {**os.environ, "DRIFTWISE_TEST": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        assert processes_with(f"DRIFTWISE_TEST={tmp_path}")
        if end == "interrupted":
            process.send_signal(signal.SIGINT)
        if end == "killed":
            process.kill()
        _, errors = process.communicate()
    wait_until(lambda: not processes_with(f"DRIFTWISE_TEST={tmp_path}"))
    if end == "by itself":
        assert (process.returncode, errors) == (0, b"")
