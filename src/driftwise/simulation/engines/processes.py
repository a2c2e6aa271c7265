"""Tasks in several processes of this machine."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import Any

from driftwise.base.plugins import Plugins, load_plugins, loaded_plugins
from driftwise.base.resources import num_cores
from driftwise.base.validation import require_count
from driftwise.simulation.devices import prepare_jax
from driftwise.simulation.running import run_task
from driftwise.simulation.tasks import EngineError, Job, OnProgress, Poll, Work

_ATTEMPTS = 3  # at pools that finish no task before one of their workers dies
_POLL_SECONDS = 0.1
_SPAWN: Any = multiprocessing.get_context("spawn")  # a fork of a process in which JAX runs can hang


class _TaskStopped(Exception):
    """The end of a task in a worker that was asked to stop; its checkpoint stays."""


class _Board:
    """Memory that all processes share, without locks that the death of a process could leave held."""

    def __init__(self, tasks: Sequence[Job]) -> None:
        self.stop = _SPAWN.RawValue("b", 0)  # whether the parent process wants its workers to stop
        self.totals = [task.num_episodes for task in tasks]
        self.begun = _SPAWN.RawArray("q", [-1] * len(tasks))  # the episodes that tasks were found with
        self.done = _SPAWN.RawArray("q", [-1] * len(tasks))

    def report(self, report: OnProgress) -> None:
        """Report where tasks began and how far they are, unless they have not begun."""
        for number, total in enumerate(self.totals):
            if self.done[number] >= 0:
                report(number, self.begun[number], total)
                report(number, self.done[number], total)


@dataclass(frozen=True)
class Processes:
    """A pool of `workers` processes, each with a task at a time; one that dies is replaced."""

    workers: int

    def __post_init__(self) -> None:
        require_count("workers", self.workers)
        # This process and its workers share what GPU there is: none may take all of its memory at once.
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

    @property
    def at_once(self) -> int:
        return self.workers

    def finish(self, tasks: Sequence[Job], folder: Path, report: OnProgress, poll: Poll) -> None:
        """Bring the checkpoint of every task in the folder to its end."""
        board, remaining, deaths = _Board(tasks), dict(enumerate(tasks)), 0
        while remaining:
            finished = self._run_pool(remaining, folder, board, report, poll)
            deaths = 0 if finished else deaths + 1
            if deaths == _ATTEMPTS:
                why = f"worker processes died {_ATTEMPTS} times in a row; what is finished is kept"
                raise EngineError(f"{why}: run the same again, with fewer workers if memory is short")
            for number in finished:
                del remaining[number]

    def _run_pool(
        self, tasks: Mapping[int, Job], folder: Path, board: _Board, report: OnProgress, poll: Poll
    ) -> list[int]:
        """Return the numbers of the tasks that were finished before a worker died, or of all."""
        others = multiprocessing.active_children()
        workers = min(self.workers, len(tasks))
        given = board, loaded_plugins(), max(1, num_cores() // workers)
        pool = ProcessPoolExecutor(workers, _SPAWN, initializer=_prepare, initargs=given)
        futures: dict[Future, int] = {}
        finished: list[int] = []
        try:
            # Workers start with these signals blocked; only this process handles them, and tells the workers.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
            try:
                with contextlib.suppress(BrokenProcessPool):  # one died already: the next pool takes the rest
                    for number, task in tasks.items():
                        futures[pool.submit(_work, task, folder, number)] = number
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            waiting = set(futures)
            while waiting:
                ended, waiting = wait(waiting, _POLL_SECONDS, return_when=FIRST_EXCEPTION)
                board.report(report)
                poll()
                for future in ended:
                    with contextlib.suppress(BrokenProcessPool):  # any other failure is raised
                        future.result()
                        finished.append(futures[future])
        except BaseException:
            board.stop.value = 1
            raise
        finally:  # wait for the workers to save their tasks; kill them if that is interrupted
            pool_workers = {*multiprocessing.active_children()} - {*others}
            try:  # and not for the pool's thread: it takes itself for ended when that is interrupted
                wait(futures)  # none was cancelled: a pool that breaks then would not end its workers
                if any(isinstance(future.exception(), BrokenProcessPool) for future in futures):
                    for worker in pool_workers:  # which end after the part that they play
                        connection.wait([worker.sentinel])
            except BaseException:
                for worker in pool_workers:
                    worker.kill()
                wait(futures)
                raise
            finally:
                pool.shutdown()
        return finished


# State of a worker: the shared memory, whether it has a task, and whether it is to end.
_board: _Board
_busy = _ending = False


def _prepare(board: _Board, plugins: Plugins, cpus: int) -> None:
    global _board
    _board = board
    prepare_jax(cpus)  # its share of the cores
    load_plugins(*plugins)
    threading.Thread(target=_follow, daemon=True).start()
    signal.signal(signal.SIGTERM, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def _end(number: int, frame: Any) -> None:
    """End this worker, as its pool or the system asks, after the part that it plays, which is saved."""
    global _ending
    _ending = True
    if not _busy:
        os._exit(128 + number)


def _follow() -> None:
    """End this worker when its parent process has died."""
    parent: Any = multiprocessing.parent_process()
    connection.wait([parent.sentinel])
    os._exit(1)


def _work(task: Job, folder: Path, number: int) -> None:
    def report(simulation: Work) -> None:
        if _board.begun[number] < 0:
            _board.begun[number] = simulation.done
        _board.done[number] = simulation.done
        if _ending or _board.stop.value:
            raise _TaskStopped

    global _busy
    if _board.stop.value:
        raise _TaskStopped
    _busy = True
    try:
        run_task(task, folder, report)
    finally:
        _busy = False
        if _ending:
            os._exit(128 + signal.SIGTERM)
