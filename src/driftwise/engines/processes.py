"""Cells in several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driftwise.sweep import Cell, EngineError, Progress
from driftwise.validation import require_count

ATTEMPTS = 3  # at cells whose worker died
SECONDS_BETWEEN_LOOKS = 0.1


class Stopped(Exception):
    """Raised in a worker that was asked to stop; its checkpoint stays."""


@dataclass(frozen=True)
class Processes:
    """A pool of `workers` processes, each with a cell at a time; one that dies is replaced."""

    workers: int

    def __post_init__(self) -> None:
        require_count("workers", self.workers)

    def finish(self, cells: Sequence[Cell], folder: Path, report: Progress) -> None:
        """Bring the checkpoint of every cell in the folder to its end."""
        context = multiprocessing.get_context("spawn")  # a fork of a process in which JAX runs can hang
        with context.Manager() as manager:
            news, stop = manager.Queue(), manager.Event()
            remaining = dict(enumerate(cells))
            for _ in range(ATTEMPTS):
                with ProcessPoolExecutor(self.workers, mp_context=context, initializer=_prepare) as pool:
                    try:
                        futures = {
                            pool.submit(_work, cell, folder, number, news, stop): number
                            for number, cell in remaining.items()
                        }
                        _watch(futures, news, report)
                        finished = [futures[done] for done in futures if _is_finished(done)]
                    except BaseException:
                        stop.set()
                        pool.shutdown(cancel_futures=True)
                        raise
                for number in finished:
                    del remaining[number]
                if not remaining:
                    return
        raise EngineError(
            f"worker processes died {ATTEMPTS} times; what is finished is kept: run the same again, "
            "with fewer workers if memory is short"
        )


def _watch(futures: dict[Future, int], news: Any, report: Progress) -> None:
    waiting = set(futures)
    while waiting:
        _, waiting = wait(waiting, timeout=SECONDS_BETWEEN_LOOKS)
        while not news.empty():
            report(*news.get())


def _is_finished(future: Future) -> bool:
    """Whether a cell came to its end; a worker that died is no answer, any other failure is raised."""
    try:
        future.result()
    except BrokenProcessPool:
        return False
    return True


def _prepare() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process says when to stop
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share what GPU there is


def _work(cell: Cell, folder: Path, number: int, news: Any, stop: Any) -> None:
    def report(done: int, total: int) -> None:
        news.put((number, done, total))
        if stop.is_set():
            raise Stopped

    cell.play(folder, report)
