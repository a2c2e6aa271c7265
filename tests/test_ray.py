"""On a Ray cluster of several nodes cells give the same bytes, also when a node is lost on the way."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import opt_wlsvi
from driftwise.checkpoints import checkpoint_name
from driftwise.engines import RayCluster
from driftwise.engines import ray as ray_engine
from driftwise.sweep import Cell, EngineError, run_cells
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make

CELLS = [Cell(agent(name), make(), NUM_EPISODES, NUM_RUNS) for name in ("opt_wlsvi", "lsvi_ucb")]
LONG = Cell(agent("opt_wlsvi"), make(), 100_000, NUM_RUNS, record_every=1000)

# Starting a node forks; JAX cannot know that the child becomes another program at once.
pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")


def contents(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every array of every checkpoint, without the time that was spent on it."""
    return {
        path.name: {name: value.tobytes() for name, value in np.load(path).items() if name != "seconds"}
        for path in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that computes nothing and a node with one CPU."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


def test_a_node_lost_on_the_way_changes_no_byte(cluster, tmp_path):
    cells = [LONG, CELLS[1]]
    seen: list[int] = []  # how far the long cell has come
    lost: list[int] = []  # how much of that was before its node went

    def progress(number: int, done: int, total: int) -> None:
        if number == 0:
            seen.append(done)
        if not lost and (tmp_path / "nodes" / checkpoint_name(LONG.simulation())).exists():
            lost.append(len(seen))
            (node,) = cluster.worker_nodes
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=1)

    run_cells(cells, tmp_path / "nodes", engine=RayCluster(cluster.address), progress=progress)
    run_cells(cells, tmp_path / "here")
    assert contents(tmp_path / "nodes") == contents(tmp_path / "here")
    assert seen[lost[0] - 1] < LONG.num_episodes
    restarts = [later for earlier, later in itertools.pairwise(seen[lost[0] - 1 :]) if later <= earlier]
    assert 0 < restarts[0] < LONG.num_episodes  # it began a second time, and not from nothing


def test_a_failure_is_raised_as_itself_and_a_connection_of_the_program_is_left_alone(cluster, tmp_path):
    import ray

    unfit = Cell(opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=1e-17), make(), NUM_EPISODES, NUM_RUNS)
    ray.init(cluster.address, log_to_driver=False)
    try:
        with pytest.raises(FloatingPointError, match="ridge") as error:
            run_cells([CELLS[0], unfit], tmp_path / "nodes", engine=RayCluster())
        assert type(error.value) is FloatingPointError
        run_cells(CELLS[:1], tmp_path / "nodes", engine=RayCluster())
        assert ray.is_initialized()
    finally:
        ray.shutdown()
    run_cells(CELLS[:1], tmp_path / "here")
    assert contents(tmp_path / "nodes") == contents(tmp_path / "here")


def test_a_run_stopped_by_its_progress_goes_on_elsewhere_from_its_checkpoint(cluster, tmp_path):
    def stop(number: int, done: int, total: int) -> None:
        if list(tmp_path.iterdir()):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells([LONG], tmp_path, engine=RayCluster(cluster.address), progress=stop)
    (path,) = tmp_path.iterdir()
    kept = int(np.load(path)["done"])
    assert 0 < kept < LONG.num_episodes
    seen: list[int] = []
    run_cells([LONG], tmp_path, progress=lambda number, done, total: seen.append(done))
    assert seen[:2] == [0, kept]


def test_what_no_node_can_run_is_said(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_engine, "PATIENCE", 0.5)
    on_gpu = Cell(agent("opt_wlsvi"), make(), NUM_EPISODES, NUM_RUNS, device="gpu")
    with pytest.raises(EngineError, match="no node of the Ray cluster has the GPU that cells need"):
        run_cells([on_gpu], tmp_path, engine=RayCluster(cluster.address))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere.invalid:6379", "nowhere"])
def test_a_cluster_that_does_not_answer_is_named_at_once(address, tmp_path):
    with pytest.raises(EngineError, match=f"no Ray cluster answers at {address}: "):
        run_cells(CELLS, tmp_path, engine=RayCluster(address))


def test_an_address_of_another_protocol_is_refused():
    with pytest.raises(
        ValueError, match="address must be HOST:PORT of a Ray cluster, got 'ray://head:10001'"
    ):
        RayCluster("ray://head:10001")


def test_without_ray_one_is_told_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'driftwise\[ray\]'"):
        run_cells(CELLS, tmp_path, engine=RayCluster())


PROGRAM = """
import sys
from pathlib import Path
from driftwise.engines import RayCluster
from driftwise.sweep import run_cells
from tests.test_ray import CELLS, LONG

def progress(number, done, total):
    if done:
        print(done, flush=True)

cells = {"short": CELLS[:1], "long": [LONG]}[sys.argv[2]]
run_cells(cells, Path(sys.argv[1]), engine=RayCluster("local"), progress=progress)
"""


def processes_with(variable: str) -> list[int]:
    """Processes that have `NAME=value` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
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
    deadline = time.monotonic() + 30
    while left := processes_with(f"DRIFTWISE_TEST={tmp_path}"):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    if end == "by itself":
        assert (process.returncode, errors) == (0, b"")
