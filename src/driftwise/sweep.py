"""Many simulations, one after the other or in several processes, with the same bytes either way.

A cell is one simulation: an agent (or a grid of its parameters) in an environment, for a batch of runs.
Cells are cut without looking at the number of workers, and each has a checkpoint of its own.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.checkpoints import checkpoint_name, simulate_from
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.results import Result
from driftwise.simulator import Simulation
from driftwise.types import Agent

RUNS_OF_A_CELL = 64
ATTEMPTS = 3  # at cells whose worker died
SECONDS_BETWEEN_LOOKS = 0.1

Progress = Callable[[int, int, int], None]  # number of the cell, episodes done, episodes in all


@dataclass(frozen=True, eq=False)
class Cell:
    """A simulation that has not begun."""

    agent: Agent
    environment: LinearMdp
    num_episodes: int
    num_runs: int
    first_run: int = 0
    seed: int = 0
    record_every: int = 1

    def simulation(self) -> Simulation:
        """The simulation at its beginning."""
        return Simulation(
            self.agent,
            self.environment,
            num_episodes=self.num_episodes,
            num_runs=self.num_runs,
            first_run=self.first_run,
            seed=self.seed,
            record_every=self.record_every,
        )

    def in_batches(self) -> list[Cell]:
        """The same runs in cells of at most `RUNS_OF_A_CELL`."""
        return [
            replace(
                self, first_run=first, num_runs=min(RUNS_OF_A_CELL, self.first_run + self.num_runs - first)
            )
            for first in range(self.first_run, self.first_run + self.num_runs, RUNS_OF_A_CELL)
        ]


class Stopped(Exception):
    """Raised in a worker that was asked to stop; its checkpoint stays."""


def run_cells(
    cells: Sequence[Cell], folder: Path | None, *, workers: int = 1, progress: Progress | None = None
) -> list[Result]:
    """The results of all cells, going on from whatever checkpoints `folder` has; without one, all anew.

    `progress` hears of a cell before it starts and after each of its chunks.
    """
    report = progress or (lambda number, done, total: None)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if workers > 1:
            _finish_in_workers(cells, folder, workers, report)  # then all there is to do here is to read
    return [_run_cell(cell, folder, number, report) for number, cell in enumerate(cells)]


def join_runs(results: Sequence[Result]) -> Result:
    """The result of consecutive batches of runs as one."""
    first = results[0]
    curves = {
        name: np.concatenate([getattr(result, name) for result in results], axis=-2)
        for name in ("returns", "values", "optimal_values")
    }
    facts: dict[str, Any] = {
        "num_runs": sum(result.manifest["num_runs"] for result in results),
        "seconds": sum(result.manifest["seconds"] for result in results),
    }
    return replace(first, **curves, state=None, manifest={**first.manifest, **facts})


def _run_cell(cell: Cell, folder: Path | None, number: int, report: Progress) -> Result:
    report(number, 0, cell.num_episodes)
    simulation = cell.simulation()
    path = None if folder is None else folder / checkpoint_name(simulation)
    return simulate_from(path, simulation, progress=lambda done, total: report(number, done, total))


def _finish_in_workers(cells: Sequence[Cell], folder: Path, workers: int, report: Progress) -> None:
    context = multiprocessing.get_context("spawn")  # a fork of a process in which JAX runs can hang
    with context.Manager() as manager:
        news, stop = manager.Queue(), manager.Event()
        remaining = dict(enumerate(cells))
        for _ in range(ATTEMPTS):
            with ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts) as pool:
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
    raise RuntimeError(
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


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process says when to stop


def _work(cell: Cell, folder: Path, number: int, news: Any, stop: Any) -> None:
    def report(number: int, done: int, total: int) -> None:
        news.put((number, done, total))
        if stop.is_set():
            raise Stopped

    _run_cell(cell, folder, number, report)
