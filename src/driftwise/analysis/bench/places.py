"""Places where the cells of a benchmark are played: here, in processes, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from driftwise.base.plugins import Plugins, load_plugins, loaded_plugins

Play = Callable[..., Any]
Place = Callable[[Play, Sequence[tuple]], Generator[Any, None, None]]  # results as they come, in any order
ATTEMPTS = 4  # of Ray at a cell whose worker or node was lost
GOES_ON = "the same command goes on from what was played"


def in_processes(workers: int) -> Place:
    """A pool of so many processes of this machine; one is this process itself."""

    def play_all(play: Play, jobs: Sequence[tuple]) -> Generator[Any, None, None]:
        if workers == 1 or len(jobs) < 2:
            yield from (play(*job) for job in jobs)
            return
        context, plugins = multiprocessing.get_context("spawn"), loaded_plugins()
        with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(plugins,)) as pool:
            try:
                for done in as_completed([pool.submit(play, *job) for job in jobs]):
                    yield done.result()
            except BrokenProcessPool:
                raise ValueError(f"a worker was killed; {GOES_ON}") from None
            finally:
                pool.shutdown(cancel_futures=True)

    return play_all


def on_ray(address: str | None) -> Place:
    """A Ray cluster, as `driftwise.simulation.engines.RayCluster` finds it; a cell takes one of its CPUs."""
    from driftwise.simulation.engines import EngineError, RayCluster
    from driftwise.simulation.engines.ray import connection

    cluster = RayCluster(address)

    def play_all(play: Play, jobs: Sequence[tuple]) -> Generator[Any, None, None]:
        if not jobs:
            return
        try:
            with connection(cluster.address):
                yield from _played_on_ray(play, jobs)
        except EngineError as error:
            raise ValueError(str(error)) from None

    return play_all


def _played_on_ray(play: Play, jobs: Sequence[tuple]) -> Generator[Any, None, None]:
    import ray
    import ray.exceptions as failures

    work = ray.remote(_work).options(num_cpus=1, max_retries=ATTEMPTS, name="driftwise bench")
    running = [work.remote(loaded_plugins(), play, *job) for job in jobs]
    try:
        while running:
            (ended, *_), running = ray.wait(running)
            yield ray.get(ended)
    except failures.RayTaskError as error:
        raise error.cause from None
    except failures.RayError as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"a cell was lost with its Ray worker; {GOES_ON}: {reason}") from None
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _work(plugins: Plugins, play: Play, *job: Any) -> Any:
    load_plugins(*plugins)
    return play(*job)


def _begin(plugins: Plugins) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for this one ends it
    load_plugins(*plugins)
