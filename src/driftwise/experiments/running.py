"""Running an experiment: its study's tasks, and the outcome of every agent."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftwise.base.part import to_config
from driftwise.base.validation import ArgumentError
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.study import Cell, Group, Study, prepare
from driftwise.simulation.chunks import Chunk, OnChunk
from driftwise.simulation.results import Result, join_runs, split_points
from driftwise.simulation.tasks import Device, Task

if TYPE_CHECKING:  # what loads JAX is imported by those who run, not by those who read about experiments
    from driftwise.simulation.running import Engine, Look


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of one agent in one environment."""

    environment_label: str
    label: str
    result: Result
    name: str  # the agent's in its file
    values: Mapping[str, Any]  # those of its lists
    variation: float | None = None  # that it was told

    @property
    def seconds(self) -> float:
        """Seconds of computing; agents that ran together share them evenly."""
        return self.result.manifest["seconds"]


class Progress(NamedTuple):
    """The progress of an agent in an environment, in episodes of all its runs together."""

    environment_label: str
    label: str
    done: int
    total: int
    restored: int  # of those done, how many were not played now but read from checkpoints


Listener = Callable[[Progress], None]
Tasks = Sequence[Sequence[Task]]  # of each group


def run_experiment(
    experiment: Experiment,
    *,
    num_episodes: int | None = None,
    num_runs: int | None = None,
    seed: int | None = None,
    **options: Any,
) -> tuple[Outcome, ...]:
    """Run every agent of an experiment, at its own sizes unless others are given.

    The options are those of `run_study`.
    """
    study = prepare(experiment, num_episodes=num_episodes, num_runs=num_runs, seed=seed)
    return run_study(study, **options)


def run_study(
    study: Study,
    *,
    checkpoints: Path | None = None,
    engine: Engine | None = None,
    device: Device | None = None,
    progress: Listener | None = None,
    on_chunk: OnChunk | None = None,
    look: Look | None = None,
    recompute: bool = False,
    tasks: Tasks | None = None,
) -> tuple[Outcome, ...]:
    """Run every agent of a study.

    Args:
      checkpoints: a folder for the state of unfinished simulations and the curves of finished ones; a run
        that was stopped goes on from there, to the same bytes.
      engine: what runs the simulations, from `driftwise.simulation.engines`; it needs `checkpoints`. This
        process unless given.
      device: `"cpu"` or `"gpu"`; what JAX would take unless given.
      progress: called with a `Progress`: for every agent at the start, then after every part of its episodes.
      on_chunk: called with a `driftwise.simulation.chunks.Chunk`: the curves of every chunk of episodes, of
        one agent in one environment and at most 64 of its runs, as soon as they are known here. What
        checkpoints had already is told too. What it raises ends the run, as with `look`.
      look: called several times a second by engines, else about every second; what it raises ends the run,
        and the checkpoints have all that was played.
      recompute: compute again what other code or other versions computed, instead of refusing it.
      tasks: those of `fitting_tasks`, with the same engine and device; they are made here unless given.
    """
    from driftwise.simulation.checkpoints import lengthen
    from driftwise.simulation.running import run_tasks

    if engine is not None and checkpoints is None:
        raise ArgumentError("checkpoints", "be a folder where there is an engine", checkpoints)
    split = fitting_tasks(study, engine=engine, device=device) if tasks is None else tasks
    owners = [group for group, own in zip(study.work, split, strict=True) for _ in own]
    every = [task for own in split for task in own]
    report = _by_agent(owners, every, progress or (lambda news: None))
    options: dict[str, Any] = dict(engine=engine, recompute=recompute)
    if on_chunk is not None:
        options["on_chunk"] = _chunks_by_agent(owners, on_chunk)
    if checkpoints is not None:
        for group, task in zip(owners, every, strict=True):
            lengthen(checkpoints, task, group.shorter, recompute=recompute)
    results = iter(run_tasks(every, checkpoints, **options, progress=report, look=look))
    found: dict[Cell, list[Result]] = defaultdict(list)  # parts of a cell, in the order of their runs
    for group, own in zip(study.work, split, strict=True):
        points = split_points(join_runs([next(results) for _ in own]), len(group.points))
        for point, result in zip(group.points.values(), points, strict=True):
            found[group.cell(point)].append(result)
    return tuple(
        _outcome(group, label, found[group.cell(point)])
        for group in study.groups
        for label, point in group.points.items()
    )


def fitting_tasks(study: Study, *, engine: Engine | None = None, device: Device | None = None) -> Tasks:
    """The tasks of each group of a study; one that does not fit into memory is refused."""
    from driftwise.simulation.room import require_room_to_split

    tasks = [replace(group.task, device=device) for group in study.work]
    require_room_to_split(tasks, at_once=1 if engine is None else engine.at_once)
    return [task.split() for task in tasks]


def _outcome(group: Group, label: str, parts: Sequence[Result]) -> Outcome:
    """The outcome of a point of a group, from the results of its runs."""
    point, joined = group.points[label], join_runs(parts)
    config = to_config(point.agent)
    own = replace(joined, configs=[config], manifest={**joined.manifest, "agent": config})
    return Outcome(group.environment_label, label, own, group.name, point.values, point.variation)


def _chunks_by_agent(owners: Sequence[Group], listener: OnChunk) -> Callable[[int, Chunk], None]:
    """Chunks of numbered tasks as chunks of the agents they belong to."""

    def tell(number: int, chunk: Chunk) -> None:
        group = owners[number]
        for index, label in enumerate(group.points):
            own = chunk.point(index) if len(group.points) > 1 else chunk
            listener(own._replace(environment=group.environment_label, agent=label))

    return tell


def _by_agent(
    owners: Sequence[Group], tasks: Sequence[Task], listener: Listener
) -> Callable[[int, int, int], None]:
    """Progress of numbered tasks as progress of the agents they belong to.

    Every agent is reported at the start, so that a listener knows how much there is to do.
    """
    agents = [(group.environment_label, group.label) for group in owners]
    numbers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, agent in enumerate(agents):
        numbers[agent].append(number)
    begun, done = Counter(), Counter()

    def tell(agent: tuple[str, str]) -> None:
        runs = [tasks[number].num_runs for number in numbers[agent]]
        played, read = (np.dot([count[number] for number in numbers[agent]], runs) for count in (done, begun))
        total = tasks[numbers[agent][0]].num_episodes
        listener(Progress(*agent, int(played // sum(runs)), total, int(read // sum(runs))))

    def report(number: int, episodes: int, total: int) -> None:
        begun.setdefault(number, episodes)
        done[number] = episodes
        tell(agents[number])

    for agent in numbers:
        tell(agent)
    return report
