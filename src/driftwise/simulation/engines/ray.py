"""Tasks on a Ray cluster, whose nodes need not share a file system.

A worker gets a task and its checkpoint as bytes, and returns the finished checkpoint. Meanwhile it sends
progress and checkpoints to an actor on the driver's node; only the driver writes files. A new driver
continues from the folder, and a lost task continues elsewhere from its last checkpoint.
"""

import contextlib
import logging
import os
import pickle
import secrets
import socket
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftwise.base.files import replace_file
from driftwise.base.plugins import Plugins, load_plugins, loaded_plugins
from driftwise.base.validation import ArgumentError
from driftwise.simulation import checkpoints
from driftwise.simulation.devices import prepare_jax
from driftwise.simulation.tasks import EngineError, Job, OnProgress, Poll

_ATTEMPTS = 4  # at a task whose worker or node was lost
_POLL_SECONDS = 0.1
_REPORT_SECONDS = 0.5  # between two reports of a task; there may be thousands of them
_PATIENCE = 60.0  # seconds that tasks wait for a node that could take them
_TOKEN = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")  # where Ray looks for one
_NEEDS = {"cpu": ("CPU",), "gpu": ("CPU", "GPU")}  # one of each


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

    def finish(self, tasks: Sequence[Job], folder: Path, report: OnProgress, poll: Poll) -> None:
        """Bring the checkpoint of every task in the folder to its end."""
        jobs = []
        for number, task in enumerate(tasks):
            simulation, path = task.begin(), folder / checkpoints.checkpoint_name(task)
            device: Any = simulation.platform  # settled here: JAX may choose otherwise on other nodes
            if device not in _NEEDS:
                needed = f"device must be one of {', '.join(_NEEDS)} on a Ray cluster"
                raise EngineError(f"{needed}, got {device!r}")
            content, done = checkpoints.read_checkpoint(path), 0
            if content is not None:
                done = int(checkpoints.load_checkpoint(content, path, simulation)["done"])
            report(number, done, task.num_episodes)
            if done < task.num_episodes:
                jobs.append(_Job(number, task.on(device), path, simulation.sources))
        if jobs:
            with connection(self.address):
                _finish(jobs, report, poll)


@dataclass
class _Job:
    """A task that is not finished, and its attempts."""

    number: int
    task: Job
    path: Path
    sources: dict[str, str]  # as they are here
    attempts: int = 0

    def submit(self, progress: Any) -> Any:
        import ray
        from ray.cloudpickle import dumps  # pyright: ignore

        self.attempts += 1
        num_gpus, name = int(self.task.device == "gpu"), f"driftwise {self.number}"
        work = ray.remote(_work).options(num_cpus=1, num_gpus=num_gpus, max_retries=0, name=name)
        task = dumps(self.task)  # to be read when its plugins are there
        content = checkpoints.read_checkpoint(self.path)
        return work.remote(task, loaded_plugins(), self.sources, self.path, content, self.number, progress)

    def result(self, reference: Any) -> bytes | None:
        """Return the finished checkpoint, None if a worker or node was lost; raise the task's own error."""
        import ray
        from ray import exceptions

        lost = exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.ObjectLostError
        try:
            return ray.get(reference)
        except exceptions.RayTaskError as error:
            raise error.cause from None
        except (*lost, exceptions.OutOfMemoryError):
            if self.attempts < _ATTEMPTS:
                return None
            why = f"a task was lost with its Ray worker {_ATTEMPTS} times; what is finished is kept"
            advice = "run the same again, with more memory for each CPU if that was short"
            raise EngineError(f"{why}: {advice}") from None


class _Progress:
    """Episodes done of the tasks, and their last checkpoints, since the last `take`."""

    def __init__(self) -> None:
        self.reports: dict[int, tuple[int, bytes | None]] = {}

    def put(self, number: int, done: int, checkpoint: bytes | None) -> None:
        _, previous = self.reports.get(number, (0, None))
        self.reports[number] = done, checkpoint or previous

    def take(self) -> dict[int, tuple[int, bytes | None]]:
        reports, self.reports = self.reports, {}
        return reports


def _work(
    task: bytes, plugins: Plugins, sources: dict, path: Path, checkpoint: Any, number: int, progress: Any
):
    try:
        load_plugins(*plugins)
    except ArgumentError as error:
        raise EngineError(f"nodes of the Ray cluster have to have the plugins of a run: {error}") from None
    job: Job = pickle.loads(task)
    prepare_jax(1)  # that Ray gave it
    simulation = job.begin()
    simulation.sources = {**sources, **simulation.sources}  # Ray sends the classes of programs themselves
    if checkpoint is not None:
        checkpoints.restore_checkpoint(checkpoint, path, simulation)
    # Reports are not waited for: Ray lends the CPU of a task that waits to others.
    progress.put.remote(number, simulation.done, None)
    next_report = time.monotonic() + _REPORT_SECONDS
    for due in checkpoints.advance_in_parts(simulation):
        if not simulation.finished and (due or time.monotonic() >= next_report):
            content = checkpoints.pack_checkpoint(simulation) if due else None
            progress.put.remote(number, simulation.done, content)
            next_report = time.monotonic() + _REPORT_SECONDS
    return checkpoints.pack_checkpoint(simulation)


def _finish(jobs: Sequence[_Job], report: OnProgress, poll: Poll) -> None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options: dict[str, Any] = dict(num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=here)
    progress: Any = ray.remote(**options)(_Progress).remote()
    running: dict[Any, _Job] = {}
    try:
        running |= {job.submit(progress): job for job in jobs}
        last_sign = time.monotonic()
        while running:
            ended, _ = ray.wait(list(running), num_returns=len(running), timeout=_POLL_SECONDS)
            reports: Any = ray.get(progress.take.remote())
            for job in running.values():  # a report may come late, after the result of its task
                done, checkpoint = reports.get(job.number, (None, None))
                if checkpoint is not None:
                    replace_file(job.path, checkpoint)
                if done is not None:
                    report(job.number, done, job.task.num_episodes)
            poll()  # after the checkpoints that have come are kept
            for reference in ended:
                job = running.pop(reference)
                if (finished := job.result(reference)) is None:
                    running[job.submit(progress)] = job
                else:
                    replace_file(job.path, finished)
                    report(job.number, job.task.num_episodes, job.task.num_episodes)
            kinds = sorted({str(job.task.device) for job in running.values()})
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            needs = [_NEEDS[kind] for kind in kinds]
            able = (any(all(node.get(name, 0) >= 1 for name in names) for node in nodes) for names in needs)
            if reports or ended or all(able):
                last_sign = time.monotonic()
            elif time.monotonic() > last_sign + _PATIENCE:
                why = f"no node of the Ray cluster has the {' or '.join(kinds).upper()} that tasks need"
                raise EngineError(f"{why}, and none came in {_PATIENCE:g} seconds; what is finished is kept")
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.kill(progress)


@contextlib.contextmanager
def connection(address: str | None) -> Iterator[None]:
    """Connect to the cluster. A connection that exists is used and stays; a new one is closed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")  # else `uv run` sends the working folder
    try:
        import ray
        from ray.exceptions import AuthenticationError
    except ModuleNotFoundError:
        text = "RayCluster needs ray, which is not installed: pip install 'driftwise[ray]'"
        raise EngineError(text) from None
    if ray.is_initialized():
        yield
        return
    from ray._private.services import canonicalize_bootstrap_address

    try:  # a cluster that answers, or else one that starts here; Ray itself would wait long
        target = canonicalize_bootstrap_address(address) or "local"  # pyright: ignore[reportArgumentType]
        if target != "local":
            host, _, port = target.rpartition(":")
            socket.create_connection((host, int(port)), timeout=5.0).close()
    except (OSError, ValueError):
        asked = address or os.environ.get("RAY_ADDRESS") or "the address of the last one here"
        advice = "start it with `ray start`, or forget it with `ray stop`"
        raise EngineError(f"no Ray cluster answers at {asked}: {advice}") from None
    with _private() if target == "local" else contextlib.nullcontext():
        try:
            with warnings.catch_warnings():  # JAX warns of forks, but Ray's become other programs at once
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
                ray.init(target, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, AuthenticationError) as error:
            needed = f"be a node of the Ray cluster at {target}, and have its token if it asks for one"
            reason, *_ = str(error).split("\n")
            raise EngineError(f"this machine has to {needed}: {reason}") from None
        try:
            yield
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _private() -> Iterator[None]:
    """Configure Ray for a cluster of this process alone, on loopback and with a token of its own.

    By default Ray listens on all interfaces, and keeps a token for all clusters in the home folder.
    """
    from ray._private import ray_constants
    from ray._raylet import AuthenticationTokenLoader, Config  # pyright: ignore[reportAttributeAccessIssue]

    def settle(environment: Mapping[str, str], *, loopback: bool) -> None:
        for name in _TOKEN:
            os.environ.pop(name, None)
        os.environ.update(environment)
        Config.initialize("")  # read the environment again
        AuthenticationTokenLoader.instance().reset_cache()
        ray_constants.ENABLE_RAY_CLUSTER = not loopback  # as Ray itself does on macOS and Windows

    before = {name: os.environ[name] for name in _TOKEN if name in os.environ}
    alone = not ray_constants.ENABLE_RAY_CLUSTER
    settle({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}, loopback=True)
    try:
        yield
    finally:
        settle(before, loopback=alone)
