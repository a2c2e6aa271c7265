"""A Ray cluster that cannot be had is named in one sentence; one of its own is private and leaves nothing."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftwise.base.plugins import Plugins
from driftwise.simulation.engines import RayCluster
from driftwise.simulation.engines.ray import _work
from driftwise.simulation.running import run_tasks
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import EngineError, Task
from tests.examples import NUM_EPISODES, NUM_RUNS, agent, make
from tests.simulation.gates import listened_on, needs_proc, processes_with, wait_until

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


def test_a_node_without_a_plugin_of_the_run_is_said():
    with pytest.raises(EngineError, match=r"^nodes of the Ray cluster have to have .* 'nowhere_to_be_found'"):
        _work(b"", Plugins(("nowhere_to_be_found",)), {}, Path(), None, 0, None)


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

def progress(number, done, total):
    if done:
        import ray
        print(ray.get_runtime_context().gcs_address, flush=True)

folder = Path(sys.argv[1])
run_tasks([gated_task(folder / "gate")], folder, engine=RayCluster("local"), progress=progress)
"""
STRANGER = """
import sys
from ray._raylet import GcsClient
GcsClient(address=sys.argv[1]).internal_kv_keys(b"", namespace=None)
"""


@contextlib.contextmanager
def cluster_of_its_own(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process whose task has begun and stands at a gate, and the address of its cluster."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "DRIFTWISE_TEST": str(folder)},
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address
        yield process, address


@pytest.mark.slow
@needs_proc
def test_a_cluster_of_its_own_is_reached_from_here_alone_with_its_token_and_ends_with_it(tmp_path):
    with cluster_of_its_own(tmp_path) as (process, address):
        addresses = listened_on(processes_with(f"DRIFTWISE_TEST={tmp_path}"))
        assert len(addresses) > 3  # of the cluster's services, the driver and the worker
        assert all(each.is_loopback for each in addresses), addresses
        stranger = subprocess.run(
            [sys.executable, "-c", STRANGER, address],
            env={**os.environ, "RAY_AUTH_MODE": "disabled"},
            capture_output=True,
            text=True,
        )
        assert "token is missing" in stranger.stderr
        (tmp_path / "gate").touch()
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    wait_until(lambda: not processes_with(f"DRIFTWISE_TEST={tmp_path}"))


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_cluster_of_its_own_leaves_no_process_behind(end, tmp_path):
    with cluster_of_its_own(tmp_path) as (process, _):
        process.send_signal(end)
        process.communicate()
    wait_until(lambda: not processes_with(f"DRIFTWISE_TEST={tmp_path}"))
