"""Tasks on a Ray cluster, whose nodes need not share a file system.

A worker gets a task and its checkpoint as bytes, and returns the finished one. What it comes to in between
it puts into a mailbox on the driver's node; the driver alone writes files. So a driver that was killed goes
on from its folder, and a task that was lost goes on elsewhere from its last letter.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import secrets
import socket
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from driftwise.base.files import replace_file
from driftwise.base.plugins import Plugins, load_plugins, loaded_plugins
from driftwise.base.validation import ArgumentError
from driftwise.simulation import checkpoints
from driftwise.simulation.devices import use_cpus
from driftwise.simulation.running import EngineError, Look, Report
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task

ATTEMPTS = 4  # at a task whose worker or node was lost
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_NEWS = 0.5  # of a task; there may be thousands of them
SECONDS_TO_ANSWER = 5.0
PATIENCE = 60.0  # seconds that tasks wait for a node that could take them
TOKEN = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")  # where Ray looks for one
NEEDS = {"cpu": ("CPU",), "gpu": ("CPU", "GPU")}  # one of each


@dataclass(frozen=True)
class RayCluster:
    """A Ray cluster; a task takes one of its CPUs, and one of its GPUs if that is the task's device.

    Args:
      address: `HOST:PORT` of a cluster that this machine is a node of. None takes the connection that the
        process has, else `RAY_ADDRESS`, else a cluster that runs on this machine, else starts one here
        for as long as the tasks run, which only this process can reach.
    """

    address: str | None = None

    def __post_init__(self) -> None:
        if self.address is not None and (not isinstance(self.address, str) or "://" in self.address):
            raise ArgumentError("address", "be HOST:PORT of a Ray cluster", self.address)

    @property
    def at_once(self) -> int:
        return 0  # the memory of its nodes is not this machine's

    def finish(self, tasks: Sequence[Task], folder: Path, report: Report, look: Look) -> None:
        """Bring the checkpoint of every task in the folder to its end."""
        jobs = []
        for number, task in enumerate(tasks):
            job = _Job.of(task, folder, number)
            report(number, job.done, task.num_episodes)
            if job.done < task.num_episodes:
                jobs.append(job)
        if jobs:
            with connection(self.address):
                _finish(jobs, report, look)


@dataclass
class _Job:
    """A task on its way through the cluster."""

    number: int
    task: Task
    path: Path
    done: int  # episodes that its checkpoint had at first
    sources: dict[str, str]  # as they are here
    attempts: int = 0

    @classmethod
    def of(cls, task: Task, folder: Path, number: int) -> _Job:
        simulation, path = Simulation(task), folder / checkpoints.checkpoint_name(task)
        device: Any = simulation.platform  # settled here: JAX may choose otherwise on other nodes
        if device not in NEEDS:
            raise EngineError(f"device must be one of {', '.join(NEEDS)} on a Ray cluster, got {device!r}")
        content = checkpoints.read_content(path)
        done = 0 if content is None else int(checkpoints.load_checkpoint(content, path, simulation)["done"])
        return cls(number, replace(task, device=device), path, done, simulation.sources)

    def submit(self, mailbox: Any) -> Any:
        import ray
        from ray.cloudpickle import dumps  # pyright: ignore

        self.attempts += 1
        num_gpus, name = int(self.task.device == "gpu"), f"driftwise {self.number}"
        work = ray.remote(_work).options(num_cpus=1, num_gpus=num_gpus, max_retries=0, name=name)
        content = checkpoints.read_content(self.path)
        task = dumps(self.task)  # to be read when its plugins are there
        return work.remote(task, loaded_plugins(), self.sources, self.path, content, self.number, mailbox)


class _Mailbox:
    """The latest news of every task since the driver last looked."""

    def __init__(self) -> None:
        self.news: dict[int, tuple[int, int]] = {}
        self.checkpoints: dict[int, bytes] = {}

    def put(self, number: int, done: int, total: int, checkpoint: bytes | None) -> None:
        self.news[number] = done, total
        if checkpoint is not None:
            self.checkpoints[number] = checkpoint

    def take(self) -> tuple[dict[int, tuple[int, int]], dict[int, bytes]]:
        taken = self.news, self.checkpoints
        self.news, self.checkpoints = {}, {}
        return taken


def _work(
    content: bytes,
    plugins: Plugins,
    sources: dict[str, str],
    path: Path,
    begun: bytes | None,
    number: int,
    mailbox: Any,
) -> bytes:
    try:
        load_plugins(*plugins)
    except ArgumentError as error:
        raise EngineError(f"nodes of the Ray cluster have to have the plugins of a run: {error}") from None
    task: Task = pickle.loads(content)
    use_cpus(1)  # that Ray gave it

    def put(checkpoint: bytes | None) -> None:  # and do not wait: Ray lends the CPU of who waits to others
        mailbox.put.remote(number, simulation.done, task.num_episodes, checkpoint)

    simulation = Simulation(task)
    simulation.sources = {**sources, **simulation.sources}  # Ray sends the classes of programs themselves
    if begun is not None:
        checkpoints.restore_from(begun, path, simulation)
    put(None)
    next_news = time.monotonic() + SECONDS_BETWEEN_NEWS
    for due in checkpoints.parts(simulation):
        if not simulation.finished and (due or time.monotonic() >= next_news):
            put(checkpoints.checkpoint_bytes(simulation) if due else None)
            next_news = time.monotonic() + SECONDS_BETWEEN_NEWS
    return checkpoints.checkpoint_bytes(simulation)


def _finish(jobs: Sequence[_Job], report: Report, look: Look) -> None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options: dict[str, Any] = dict(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)
    mailbox: Any = ray.remote(**options)(_Mailbox).remote()
    running: dict[Any, _Job] = {}
    try:
        running |= {job.submit(mailbox): job for job in jobs}
        last_sign = time.monotonic()
        while running:
            ended, _ = ray.wait(list(running), num_returns=len(running), timeout=SECONDS_BETWEEN_LOOKS)
            news, letters = ray.get(mailbox.take.remote())
            for job in running.values():  # a letter may come late, after the task it is of
                if job.number in letters:
                    replace_file(job.path, letters[job.number])
                if job.number in news:
                    report(job.number, *news[job.number])
            look()  # after the letters: what has come is kept
            for reference in ended:
                job = running.pop(reference)
                finished = _result(reference, job)
                if finished is None:
                    running[job.submit(mailbox)] = job
                else:
                    replace_file(job.path, finished)
                    report(job.number, job.task.num_episodes, job.task.num_episodes)
            if news or ended or _can_run(running.values()):
                last_sign = time.monotonic()
            elif time.monotonic() > last_sign + PATIENCE:
                kinds = " or ".join(sorted({str(job.task.device).upper() for job in running.values()}))
                raise EngineError(
                    f"no node of the Ray cluster has the {kinds} that tasks need, and none came in "
                    f"{PATIENCE:g} seconds; what is finished is kept"
                )
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.kill(mailbox)


def _result(reference: Any, job: _Job) -> bytes | None:
    """The finished checkpoint; None if it was lost with a worker or node; the task's own error is raised."""
    import ray
    import ray.exceptions as failures

    losses = (
        failures.WorkerCrashedError,
        failures.NodeDiedError,
        failures.ObjectLostError,
        failures.OutOfMemoryError,
    )
    try:
        return ray.get(reference)
    except failures.RayTaskError as error:
        raise error.cause from None
    except losses:
        if job.attempts < ATTEMPTS:
            return None
        raise EngineError(
            f"a task was lost with its Ray worker {ATTEMPTS} times; what is finished is kept: run the same "
            "again, with more memory for each CPU if that was short"
        ) from None


def _can_run(jobs: Iterable[_Job]) -> bool:
    """Whether for each of the jobs there is a node that, once free, has what it needs."""
    import ray

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    return all(
        any(all(node.get(name, 0) >= 1 for name in NEEDS[str(device)]) for node in nodes)
        for device in {job.task.device for job in jobs}
    )


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
    """A connection to the cluster. One that is there is used and stays; one made here is ended."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # else `uv run` sends the working folder
    try:
        import ray
        from ray.exceptions import AuthenticationError
    except ModuleNotFoundError:
        raise EngineError(
            "RayCluster needs ray, which is not installed: pip install 'driftwise[ray]'"
        ) from None
    if ray.is_initialized():
        yield
        return
    found = _find(address)
    with _private() if found == "local" else contextlib.nullcontext():
        try:
            with (
                warnings.catch_warnings()
            ):  # JAX warns of forks, but what Ray forks is another program at once
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
                ray.init(found, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, AuthenticationError) as error:
            reason = str(error).partition("\n")[0]
            raise EngineError(
                f"this machine has to be a node of the Ray cluster at {found}, and to have its token if it "
                f"asks for one: {reason}"
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _private() -> Iterator[None]:
    """Settings for a cluster of this process alone: it listens on loopback and asks for a token of its own.

    Ray by itself listens on all interfaces, and keeps a token for all clusters in the home folder.
    """
    from ray._private import ray_constants
    from ray._raylet import AuthenticationTokenLoader, Config  # pyright: ignore[reportAttributeAccessIssue]

    def settle(environment: Mapping[str, str], *, loopback: bool) -> None:
        for name in TOKEN:
            os.environ.pop(name, None)
        os.environ.update(environment)
        Config.initialize("")  # what Ray has read of the environment, it reads again
        AuthenticationTokenLoader.instance().reset_cache()
        ray_constants.ENABLE_RAY_CLUSTER = not loopback  # as Ray itself does on macOS and Windows

    before = {name: os.environ[name] for name in TOKEN if name in os.environ}
    alone = not ray_constants.ENABLE_RAY_CLUSTER
    settle({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}, loopback=True)
    try:
        yield
    finally:
        settle(before, loopback=alone)


def _find(address: str | None) -> str:
    """`HOST:PORT` of a cluster that answers, or "local" for one to be started; Ray itself would wait long."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address(address)  # pyright: ignore[reportArgumentType]
        if found is None:
            return "local"
        host, _, port = found.rpartition(":")
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    except (OSError, ValueError):
        asked = address or os.environ.get("RAY_ADDRESS") or "the address of the last one here"
        raise EngineError(
            f"no Ray cluster answers at {asked}: start it with `ray start`, or forget it with `ray stop`"
        ) from None
    return found
