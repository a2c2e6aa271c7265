"""Running many tasks, one after the other or on an engine, with the same bytes either way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from driftwise.base.files import ensure_folder
from driftwise.base.validation import ArgumentError
from driftwise.simulation.checkpoints import checkpoint_name, drop_outdated, simulate_from
from driftwise.simulation.files import remove_leftovers
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
    look: Look | None = None,
    recompute: bool = False,
) -> list[Result]:
    """Results of all tasks, going on from whatever checkpoints `folder` has; without one, all anew.

    Args:
      engine: from `driftwise.simulation.engines`; None runs the tasks here, one after the other.
      progress: hears where each task begins and what it comes to, never less than before.
      recompute: compute again what other code or other versions computed, instead of refusing it.
      look: called several times a second by engines, else about every second; what it raises ends the run.
    """
    look, furthest = look or (lambda: None), dict.fromkeys(range(len(tasks)), -1)

    def report(number: int, done: int, total: int) -> None:
        look()
        if progress is not None and done > furthest[number]:  # work can be lost, and done again
            furthest[number] = done
            progress(number, done, total)

    if folder is not None:
        ensure_folder(folder)
        remove_leftovers(folder)
        for task in tasks if recompute else ():
            drop_outdated(folder / checkpoint_name(task), Simulation(task))
    if engine is not None:
        if folder is None:
            raise ArgumentError("folder", "be a path where there is an engine", folder)
        engine.finish(tasks, folder, report, look)  # then all there is to do here is to read
    return [run_task(task, folder, functools.partial(report, number)) for number, task in enumerate(tasks)]


def run_task(task: Task, folder: Path | None, report: Callable[[int, int], None]) -> Result:
    """Result of a task, from whatever checkpoint it has in the folder."""
    path = None if folder is None else folder / checkpoint_name(task)
    return simulate_from(path, Simulation(task), progress=report)
