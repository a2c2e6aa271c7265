"""On a Ray cluster of several nodes tasks give the same bytes, also when a node is lost on the way."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from driftwise.algorithms import opt_wlsvi
from driftwise.simulation.engines import RayCluster
from driftwise.simulation.engines import ray as ray_engine
from driftwise.simulation.running import run_tasks
from driftwise.simulation.tasks import CHUNK, EngineError, Task
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make
from tests.simulation.gates import contents, gated_task, stands_at_the_gate

TASKS = [
    Task(agent(name), make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    for name in ("opt_wlsvi", "lsvi_ucb")
]

# Starting a node forks; JAX cannot know that the child becomes another program at once.
pytestmark = pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head that computes nothing and a node with one CPU."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.fixture(scope="module")
def connection(cluster) -> Iterator[Any]:
    """A connection of the program; what workers have imported and compiled stays there between its tests."""
    import ray

    ray.init(cluster.address, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.mark.slow
def test_a_node_lost_on_the_way_changes_no_byte(cluster, tmp_path):
    gate, folder = tmp_path / "gate", tmp_path / "nodes"
    tasks = [gated_task(gate), TASKS[1]]
    seen: list[tuple[int, int, int]] = []
    lost: list[int] = []  # how much of that was before the node went

    def lose_the_node() -> None:
        if not lost and stands_at_the_gate(tasks[0], folder):
            lost.append(len(seen))
            (node,) = cluster.worker_nodes
            cluster.remove_node(node, allow_graceful=False)
            cluster.add_node(num_cpus=1)
            gate.touch()

    folder.mkdir()
    RayCluster(cluster.address).finish(tasks, folder, lambda *news: seen.append(news), lose_the_node)
    later = [done for number, done, _ in seen[lost[0] :] if number == 0]
    assert (later[0], later[-1]) == (2 * CHUNK, 4 * CHUNK)  # it began again, from its checkpoint
    run_tasks(tasks, tmp_path / "here")
    assert contents(folder) == contents(tmp_path / "here")


def test_a_failure_is_raised_as_itself_and_a_connection_of_the_program_is_left_alone(connection, tmp_path):
    unfit = Task(
        opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=1e-17),
        make(),
        num_episodes=NUM_EPISODES,
        num_runs=NUM_RUNS,
    )
    with pytest.raises(FloatingPointError, match="ridge") as error:
        run_tasks([TASKS[0], unfit], tmp_path / "nodes", engine=RayCluster())
    assert type(error.value) is FloatingPointError
    run_tasks(TASKS[:1], tmp_path / "nodes", engine=RayCluster())
    assert connection.is_initialized()
    run_tasks(TASKS[:1], tmp_path / "here")
    nodes, here = contents(tmp_path / "nodes"), contents(tmp_path / "here")
    assert {name: nodes[name] for name in here} == here  # the one that failed may have a checkpoint too


def test_progress_never_goes_back_and_each_end_is_told_once(connection, tmp_path):
    for _ in ("computed", "read"):
        seen: dict[int, list[int]] = {number: [] for number in range(len(TASKS))}

        def progress(number: int, done: int, total: int, seen: dict[int, list[int]] = seen) -> None:
            seen[number].append(done)

        run_tasks(TASKS, tmp_path, engine=RayCluster(), progress=progress)
        for told in seen.values():
            assert told == sorted(set(told))
            assert told[-1] == NUM_EPISODES


def test_what_no_node_can_run_is_said(connection, tmp_path, monkeypatch):
    monkeypatch.setattr(ray_engine, "_PATIENCE", 0.5)
    on_gpu = Task(agent("opt_wlsvi"), make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, device="gpu")
    with pytest.raises(EngineError, match="no node of the Ray cluster has the GPU that tasks need"):
        run_tasks([on_gpu], tmp_path, engine=RayCluster())


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_elsewhere_from_its_checkpoint(connection, tmp_path):
    gate, folder = tmp_path / "gate", tmp_path / "tasks"
    task = gated_task(gate)

    def poll() -> None:
        if stands_at_the_gate(task, folder):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([task], folder, engine=RayCluster(), poll=poll)
    gate.touch()
    seen: list[int] = []
    run_tasks([task], folder, progress=lambda number, done, total: seen.append(done))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (2 * CHUNK, 4 * CHUNK)
