"""Running many tasks, one after the other or on an engine, with the same bytes either way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from driftwise.base.files import ensure_folder, remove_leftovers
from driftwise.base.validation import ArgumentError
from driftwise.simulation.checkpoints import checkpoint_name, drop_outdated, simulate_from
from driftwise.simulation.chunks import Chunk, Chunks
from driftwise.simulation.results import Result
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task

Report = Callable[[int, int, int], None]  # number of the task, episodes done, episodes in all
Look = Callable[[], None]


class EngineError(RuntimeError):
    """An engine that cannot run its tasks; the text says why. Finished work is kept."""


class Engine(Protocol):
    """A place where tasks run."""

    @property
    def at_once(self) -> int:
        """The number of tasks that run at a time on this machine."""
        ...

    def finish(self, tasks: Sequence[Task], folder: Path, report: Report, look: Look) -> None:
        """Bring the checkpoint of every task in the folder to its end.

        A task's first report says where it begins. `look` is called all the while, whether or not there is
        anything to report; what it raises ends the tasks after the parts they are at.
        """
        ...


def run_tasks(
    tasks: Sequence[Task],
    folder: Path | None,
    *,
    engine: Engine | None = None,
    progress: Report | None = None,
    on_chunk: Callable[[int, Chunk], None] | None = None,
    look: Look | None = None,
    recompute: bool = False,
) -> list[Result]:
    """Results of all tasks, going on from whatever checkpoints `folder` has; without one, all anew.

    Args:
      engine: from `driftwise.simulation.engines`; None runs the tasks here, one after the other.
      progress: hears where each task begins and what it comes to, never less than before.
      on_chunk: called with the number of a task and a chunk of it as soon as it is known here: on an engine,
        with its checkpoint. It hears every chunk, whoever has played it and when.
      recompute: compute again what other code or other versions computed, instead of refusing it.
      look: called several times a second by engines, else about every second; what it raises ends the run.
    """
    look, furthest = look or (lambda: None), dict.fromkeys(range(len(tasks)), -1)
    names = [checkpoint_name(task) for task in tasks]
    chunks = []
    if on_chunk is not None:
        chunks = [Chunks(task, partial(on_chunk, number)) for number, task in enumerate(tasks)]

    def report(number: int, done: int, total: int) -> None:
        look()
        if done <= furthest[number]:  # work can be lost, and done again
            return
        furthest[number] = done
        if progress is not None:
            progress(number, done, total)
        if engine is not None and folder is not None and chunks:
            chunks[number].read(folder / names[number])

    def watch(number: int, simulation: Simulation) -> None:
        report(number, simulation.done, simulation.task.num_episodes)
        if chunks:
            chunks[number].tell(simulation.done, simulation.sums)

    if folder is not None:
        ensure_folder(folder)
        remove_leftovers(folder)
        for task, name in zip(tasks, names, strict=True) if recompute else ():
            drop_outdated(folder / name, Simulation(task))
    if engine is not None:
        if folder is None:
            raise ArgumentError("folder", "be a path where there is an engine", folder)
        engine.finish(tasks, folder, report, look)  # then all there is to do here is to read
    return [run_task(task, folder, partial(watch, number)) for number, task in enumerate(tasks)]


def run_task(task: Task, folder: Path | None, progress: Callable[[Simulation], None]) -> Result:
    """Result of a task, from whatever checkpoint it has in the folder."""
    path = None if folder is None else folder / checkpoint_name(task)
    return simulate_from(path, Simulation(task), progress=progress)
