"""Tasks in several processes of this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from driftwise.base.cores import num_cores
from driftwise.base.plugins import Plugins, load_plugins, loaded_plugins
from driftwise.base.validation import require_count
from driftwise.simulation.devices import use_cpus
from driftwise.simulation.running import EngineError, Look, Report, run_task
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task

ATTEMPTS = 3  # at pools that finish no task before one of their workers dies
SECONDS_BETWEEN_LOOKS = 0.1
GO_ON, STOP = range(2)  # what the parent process wants


class TaskStopped(Exception):
    """The end of a task in a worker that was asked to stop; its checkpoint stays."""


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

    def finish(self, tasks: Sequence[Task], folder: Path, report: Report, look: Look) -> None:
        """Bring the checkpoint of every task in the folder to its end."""
        context = multiprocessing.get_context("spawn")  # a fork of a process in which JAX runs can hang
        board = _Board(context, tasks)
        remaining = dict(enumerate(tasks))
        deaths = 0
        while remaining:
            finished = self._run_pool(context, remaining, folder, board, report, look)
            deaths = 0 if finished else deaths + 1
            if deaths == ATTEMPTS:
                raise EngineError(
                    f"worker processes died {ATTEMPTS} times in a row; what is finished is kept: run the "
                    "same again, with fewer workers if memory is short"
                )
            for number in finished:
                del remaining[number]

    def _run_pool(
        self,
        context: Any,
        tasks: Mapping[int, Task],
        folder: Path,
        board: _Board,
        report: Report,
        look: Look,
    ) -> list[int]:
        """Numbers of the tasks that were finished before a worker died, or of all."""
        others = multiprocessing.active_children()
        workers = min(self.workers, len(tasks))
        pool = ProcessPoolExecutor(
            workers,
            mp_context=context,
            initializer=_prepare,
            initargs=(board, loaded_plugins(), max(1, num_cores() // workers)),
        )
        futures: dict[Future, int] = {}
        finished: list[int] = []
        try:
            # A worker may die meanwhile: then the next pool takes the rest.
            with _signals_blocked(), contextlib.suppress(BrokenProcessPool):
                for number, task in tasks.items():
                    futures[pool.submit(_work, task, folder, number)] = number
            waiting = set(futures)
            while waiting:
                ended, waiting = wait(waiting, SECONDS_BETWEEN_LOOKS, return_when=FIRST_EXCEPTION)
                board.tell(report)
                look()
                for future in ended:
                    with contextlib.suppress(BrokenProcessPool):  # any other failure is raised
                        future.result()
                        finished.append(futures[future])
        except BaseException:
            board.wanted.value = STOP
            raise
        finally:
            try:
                _wait_for_workers(futures, others)
            finally:
                pool.shutdown()
        return finished


def _wait_for_workers(futures: Collection[Future], others: Sequence[BaseProcess]) -> None:
    """Wait for the workers to keep what they have, or for nothing more if that is interrupted."""
    workers = {*multiprocessing.active_children()} - {*others}
    try:  # and do not wait for the pool's thread: it takes itself for ended when that is interrupted
        wait(futures)  # none was cancelled: a pool that breaks then would not end its workers
        if any(isinstance(future.exception(), BrokenProcessPool) for future in futures):
            for worker in workers:  # which it was told to end, after what they play
                multiprocessing.connection.wait([worker.sentinel])
    except BaseException:
        for worker in workers:
            worker.kill()
        wait(futures)
        raise


class _Board:
    """Memory that all processes share. Nothing waits in it, so no death can block it."""

    def __init__(self, context: Any, tasks: Sequence[Task]) -> None:
        self.wanted = context.RawValue("i", GO_ON)
        self.totals = [task.num_episodes for task in tasks]
        self.begun = context.RawArray("q", [-1] * len(tasks))  # the episodes that tasks were found with
        self.done = context.RawArray("q", [-1] * len(tasks))

    def tell(self, report: Report) -> None:
        """Report where tasks began and how far they are; those of which nothing is known stay out."""
        for number, total in enumerate(self.totals):
            if self.done[number] >= 0:
                report(number, self.begun[number], total)
                report(number, self.done[number], total)


# Of a worker: what it shares, whether it has a task, and whether it is to end.
_board: _Board
_busy = _ending = False


def _prepare(board: _Board, plugins: Plugins, cpus: int) -> None:
    global _board
    _board = board
    use_cpus(cpus)  # its share of the cores
    load_plugins(*plugins)
    threading.Thread(target=_follow, daemon=True).start()
    signal.signal(signal.SIGTERM, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def _end(number: int, frame: Any) -> None:
    """End this worker after the part that it plays, which is kept.

    SIGTERM comes from the pool when another worker has died, or from whoever ends all processes together.
    """
    global _ending
    _ending = True
    if not _busy:
        os._exit(128 + number)


def _follow() -> None:
    """End this worker when its parent process has died."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)


def _work(task: Task, folder: Path, number: int) -> None:
    def report(simulation: Simulation) -> None:
        if _board.begun[number] < 0:
            _board.begun[number] = simulation.done
        _board.done[number] = simulation.done
        if _ending or _board.wanted.value != GO_ON:
            raise TaskStopped

    global _busy
    if _board.wanted.value != GO_ON:
        raise TaskStopped
    _busy = True
    try:
        run_task(task, folder, report)
    finally:
        _busy = False
        if _ending:
            os._exit(128 + signal.SIGTERM)


@contextlib.contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals for processes that start in here; this one hears them afterwards, and tells them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
