"""Running tasks: one as a call of `simulate`, or many with checkpoints, here or on an engine."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.extras import ProgressCallback, report_progress
from driftwise.base.files import ensure_folder, remove_leftovers
from driftwise.base.part import grid_shape
from driftwise.base.validation import ArgumentError
from driftwise.environments.environment import Environment
from driftwise.simulation.checkpoints import checkpoint_name, drop_outdated, lengthen, resume
from driftwise.simulation.memory_budget import require_task_memory
from driftwise.simulation.results import CURVES, DIAGNOSTIC, Result, average_curves
from driftwise.simulation.simulator import SECONDS_AT_ONCE, Simulation
from driftwise.simulation.tasks import CHUNK, Chunk, Device, Engine, Job, OnChunk, OnProgress, Precision, Task


class ChunkReporter:
    """Calls a listener with every finished chunk of a task, once and in order, wherever it was played."""

    def __init__(self, task: Task, listener: OnChunk) -> None:
        self._task, self._listener = task, listener
        self._reported = 0  # episodes
        self._regret: np.ndarray | float = 0.0  # cumulative, after them

    def report(self, done: int, sums: Mapping[str, np.ndarray]) -> None:
        """Report all chunks within the first `done` episodes; `sums` are those of `Simulation`."""
        task, every = self._task, self._task.record_every
        while self._reported < (end := min(self._reported + task.chunk_size, task.num_episodes)) <= done:
            first = self._reported // every
            last = -(-end // every) if end == task.num_episodes else end // every
            self._reported = end
            if first == last:  # no point is finished yet
                continue
            borders = np.minimum(np.arange(first, last + 1) * every, task.num_episodes)
            names = [name for name in sums if name in CURVES or name.startswith(DIAGNOSTIC)]
            own = {name: sums[name][first:last] for name in names}
            curves = average_curves(own, np.diff(borders), grid_shape(task.agent))
            result = Result(**curves, state=None, manifest={}, signed=task.environment.continuing)
            steps = result.regret * result.lengths
            steps[..., 0] += self._regret
            cumulative = np.cumsum(steps, axis=-1)
            self._regret = cumulative[..., -1]
            values = result.returns, result.regret, cumulative, result.diagnostics
            self._listener(Chunk("", "", task.first_run, task.num_episodes, borders[1:], *values))


def simulate(
    agent: Agent,
    environment: Environment,
    *,
    num_episodes: int,
    num_runs: int = 1,
    seed: int = 0,
    record_every: int = 1,
    precision: Precision = "float64",
    device: Device | None = None,
    chunk_size: int = CHUNK,
    first_run: int = 0,
    keep_state: bool = False,
    progress: bool | ProgressCallback = False,
    on_chunk: OnChunk | None = None,
) -> Result:
    """Simulate `num_runs` independent runs of an agent, of `num_episodes` episodes each.

    Every number is addressed by (seed, run, episode, step, purpose): up to rounding, a run's numbers depend
    neither on how many runs there are nor on chunks or grids, and all agents meet the same environment draws.

    Args:
      agent: from `driftwise.algorithms`. Numeric parameters may be arrays; they broadcast against each
        other, and their common shape leads the result's arrays.
      environment: from `driftwise.environments`, or your own `LinearMdp` or `LinearBandit`.
      record_every: keep one point for this many episodes: the mean over them. Cumulative regret is
        exact at every kept point, whatever the stride.
      precision: of all arithmetic.
      device: "cpu" or "gpu"; None takes JAX's default. Runs are split over all devices of the kind.
      chunk_size: most episodes of one call of the compiled program, which returns after about a second.
      first_run: number of the first run; runs 8 to 15 are those that a simulation of 16 has there.
      keep_state: also return the agents' states after the last episode.
      progress: True shows a bar, which also says when the program is compiled; a function is called as
        `progress(episodes_done, num_episodes)` whenever the program comes back.
      on_chunk: called with a `driftwise.simulation.tasks.Chunk`, the curves of every `chunk_size` episodes,
        as soon as they are played; an exception that it raises ends the simulation.

    Returns:
      A `Result`; `regret` and `cumulative_regret` have shape `[*grid, num_runs, points]`, and so have the
      `diagnostics` of agents that have some.
    """
    if on_chunk is not None and not callable(on_chunk):
        raise ArgumentError("on_chunk", "be a function", on_chunk)
    runs: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, first_run=first_run, seed=seed)
    options: dict[str, Any] = dict(precision=precision, device=device, chunk_size=chunk_size)
    task = Task(agent, environment, **runs, record_every=record_every, **options)
    require_task_memory([task])
    simulation = Simulation(task)
    chunks = None if on_chunk is None else ChunkReporter(task, on_chunk)
    with report_progress(progress, "episode {} of {}".format, first="compiling") as watch:
        while not simulation.finished:
            simulation.advance(SECONDS_AT_ONCE)
            watch(simulation.done, task.num_episodes)
            if chunks is not None:
                chunks.report(simulation.done, simulation.sums)
    return simulation.result(keep_state=keep_state)


def run_tasks(
    tasks: Sequence[Job],
    folder: Path | None,
    *,
    engine: Engine | None = None,
    progress: OnProgress | None = None,
    on_chunk: Callable[[int, Chunk], None] | None = None,
    poll: Callable[[], None] | None = None,
    recompute: bool = False,
) -> list[Any]:
    """Return the results of all tasks, continuing from the checkpoints in `folder` if it is given.

    Args:
      engine: from `driftwise.simulation.engines`; None runs the tasks here, one after the other.
      progress: called with the episodes of a task that are finished, at its beginning and whenever they grow.
      on_chunk: called with the number of a task and each of its chunks, those of an earlier call too.
      poll: called several times a second by engines, else about every second; what it raises ends the run.
      recompute: replace checkpoints of other code or other versions, instead of refusing them.
    """
    poll = poll or (lambda: None)
    furthest: dict[int, int] = {}
    chunks = {
        number: ChunkReporter(task, partial(on_chunk, number))
        for number, task in enumerate(tasks)
        if on_chunk is not None and isinstance(task, Task)
    }

    def report(number: int, done: int, total: int) -> None:
        poll()
        if done <= furthest.get(number, -1):  # work can be lost and repeated
            return
        furthest[number] = done
        if progress is not None:
            progress(number, done, total)
        if engine is not None and folder is not None and number in chunks:
            path = folder / checkpoint_name(tasks[number])
            with contextlib.suppress(FileNotFoundError), np.load(path) as arrays:
                chunks[number].report(int(arrays["done"]), arrays)

    def watch(number: int, work: Any) -> None:
        report(number, work.done, work.task.num_episodes)
        if number in chunks:
            chunks[number].report(work.done, work.sums)

    if folder is not None:
        ensure_folder(folder)
        remove_leftovers(folder)
        for task in tasks:
            if recompute:
                drop_outdated(folder / checkpoint_name(task), task.begin())
            if isinstance(task, Task):
                lengthen(folder, task, recompute=recompute)
    if engine is not None:
        if folder is None:
            raise ArgumentError("checkpoints", "be a folder where there is an engine", folder)
        engine.finish(tasks, folder, report, poll)
    return [run_task(task, folder, partial(watch, number)) for number, task in enumerate(tasks)]


def run_task(task: Job, folder: Path | None, progress: Callable[[Any], None]) -> Any:
    """Return the result of a task, continuing from its checkpoint in the folder."""
    return resume(folder and folder / checkpoint_name(task), task.begin(), progress=progress)
