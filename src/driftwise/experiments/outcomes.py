"""Run the tasks of a study, show their progress, and return outcomes of agents, with their best points."""

import contextlib
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.part import to_config
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.study import CellKey, Study, TaskGroup, prepare
from driftwise.simulation.results import Result, join_runs, select_holdout, select_runs, split_grid
from driftwise.simulation.tasks import Chunk, Device, Engine, OnChunk, Poll, Task


@dataclass(frozen=True, eq=False)
class AgentOutcome:
    """The result of one agent in one environment."""

    environment_label: str
    label: str
    result: Result
    name: str  # the agent's in its file
    values: Mapping[str, Any]  # those of its lists
    variation: float | None  # that its tuning used
    seconds: float  # of computing; agents that ran together share them evenly


class Progress(NamedTuple):
    """The progress of an agent in an environment, in episodes of all its runs together."""

    environment_label: str
    label: str
    done: int
    total: int
    restored: int  # episodes that were read from checkpoints


MARK = "*"  # ends the label of a grid
_SECONDS_BETWEEN_LINES = 10  # of progress
_LINES_ON_A_TERMINAL = 20
ProgressListener = Callable[[Progress], None]
OwnedTasks = Sequence[tuple[TaskGroup, Task]]  # tasks, and the groups that they belong to


def run_experiment(experiment: Experiment, **options: Any) -> tuple[AgentOutcome, ...]:
    """Run every agent of an experiment, with the sizes that `prepare` takes, and options of `run_study`."""
    sizes = {name: options.pop(name) for name in ("num_episodes", "num_runs", "seed") if name in options}
    return run_study(prepare(experiment, **sizes), **options)


def run_study(
    study: Study,
    *,
    checkpoints: Path | None = None,
    engine: Engine | None = None,
    device: Device | None = None,
    progress: ProgressListener | None = None,
    on_chunk: OnChunk | None = None,
    poll: Poll | None = None,
    recompute: bool = False,
    tasks: OwnedTasks | None = None,
) -> tuple[AgentOutcome, ...]:
    """Run every agent of a study.

    Args:
      checkpoints: a folder from which a run that was stopped goes on, to the same bytes.
      engine: from `driftwise.simulation.engines`; it needs `checkpoints`. This process unless given.
      device: `"cpu"` or `"gpu"`; what JAX would take unless given.
      progress: called with a `Progress`: for every agent at the start, then after every part of its episodes.
      on_chunk: called with a `driftwise.simulation.tasks.Chunk`: the curves of every chunk of episodes, of
        one agent in one environment and at most 64 of its runs, those of checkpoints too. What it raises
        ends the run, as with `poll`.
      poll: called about every second, or more often; what it raises ends the run, and nothing played is lost.
      recompute: compute again what other code or other versions computed, instead of refusing it.
      tasks: those of `fitting_tasks`, with the same engine and device; they are made here unless given.
    """
    from driftwise.simulation.running import run_tasks

    owned = fitting_tasks(study, engine=engine, device=device) if tasks is None else tasks

    tasks_of: dict[tuple[str, str], list[int]] = defaultdict(list)  # numbers of the tasks of each agent
    for number, (group, _) in enumerate(owned):
        tasks_of[group.environment_label, group.label].append(number)
    begun, done = Counter(), Counter()  # episodes of each task

    def report_agent(listener: ProgressListener, number: int, episodes: int, total: int) -> None:
        """Report the progress of the agent that a task belongs to."""
        begun.setdefault(number, episodes)
        done[number] = episodes
        group, _ = owned[number]
        agent = group.environment_label, group.label
        runs = {number: owned[number][1].num_runs for number in tasks_of[agent]}
        played, read = (
            sum(counts[number] * own for number, own in runs.items()) // sum(runs.values())
            for counts in (done, begun)
        )
        listener(Progress(*agent, played, total, read))

    def pass_on(listener: OnChunk, number: int, chunk: Chunk) -> None:
        """Pass a chunk of a task on as chunks of agents."""
        group, _ = owned[number]
        for index, label in enumerate(group.points):
            own = chunk.point(index) if len(group.points) > 1 else chunk
            listener(own._replace(environment=group.environment_label, agent=label))

    options: dict[str, Any] = dict(engine=engine, poll=poll, recompute=recompute)
    if progress is not None:
        for agent, numbers in tasks_of.items():
            progress(Progress(*agent, 0, owned[numbers[0]][1].num_episodes, 0))
    report = None if progress is None else partial(report_agent, progress)
    chunks = None if on_chunk is None else partial(pass_on, on_chunk)
    results = run_tasks([task for _, task in owned], checkpoints, progress=report, on_chunk=chunks, **options)
    parts: dict[CellKey, list[Result]] = defaultdict(list)  # of a cell, in the order of their runs
    for (group, _), result in zip(owned, results, strict=True):
        for point, own in zip(group.points.values(), split_grid(result, len(group.points)), strict=True):
            parts[group.cell(point)].append(own)
    outcomes = []
    for owner, label, point in ((group, *own) for group in study.groups for own in group.points.items()):
        joined, config = join_runs(parts[owner.cell(point)]), to_config(point.agent)
        own = replace(joined, configs=[config], manifest={**joined.manifest, "agent": config})
        facts = owner.name, point.values, point.variation, joined.manifest["seconds"]
        outcomes.append(AgentOutcome(owner.environment_label, label, own, *facts))
    return tuple(outcomes)


def fitting_tasks(study: Study, *, engine: Engine | None = None, device: Device | None = None) -> OwnedTasks:
    """Return the tasks of a study; a task that does not fit into memory is refused."""
    from driftwise.simulation.memory_budget import require_task_memory

    tasks = [replace(group.task, device=device) for group in study.work]
    require_task_memory(tasks, at_once=1 if engine is None else engine.at_once, split=True)
    return [(group, own) for group, task in zip(study.work, tasks, strict=True) for own in task.split()]


@contextlib.contextmanager
def show_progress(quiet: bool = False) -> Iterator[ProgressListener]:
    """Give a listener for `run_study` that shows bars on a terminal, and writes lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda news: None
    elif console.is_jupyter or (sys.stderr.isatty() and not console.is_dumb_terminal):
        with _bars(console) as listener:
            yield listener
    else:
        work, last = Workload(), time.monotonic()

        def report(news: Progress) -> None:
            nonlocal last
            line = f"{work.add(news)}: {news.done} of {news.total} episodes"
            if news.done < news.total:
                if time.monotonic() - last <= _SECONDS_BETWEEN_LINES:
                    return
                left = work.time_left()
                line += f"; {100 * work.done // work.total} % of all" + f", {left}" * bool(left)
            print(line, file=sys.stderr, flush=True)
            last = time.monotonic()

        yield report


@contextlib.contextmanager
def _bars(console: Any) -> Iterator[ProgressListener]:
    from rich import progress
    from rich.table import Column

    folded = Column(overflow="fold")  # a long name takes lines, not the width of other columns
    label = progress.TextColumn("{task.description}", markup=False, table_column=folded)  # may have brackets
    columns = label, progress.BarColumn(bar_width=20), progress.TaskProgressColumn()
    times = progress.TimeElapsedColumn(), progress.TextColumn("{task.fields[left]}")
    with progress.Progress(*columns, *times, console=console) as bars:
        work, known, tasks = Workload(), set(), {}
        overall = bars.add_task("all", total=None, left="")

        def report(news: Progress) -> None:
            name = work.add(news)
            bars.update(overall, completed=work.done, total=work.total, left=work.time_left())
            agent, done, total = news[:2], news.done, news.total
            if agent in known and agent not in tasks:  # with its second report it begins
                tasks[agent] = bars.add_task(name, left="")
            known.add(agent)
            if agent in tasks:
                shown = done < total or len(tasks) <= _LINES_ON_A_TERMINAL
                left = "compiling" if done == news.restored < total else ""
                bars.update(tasks[agent], completed=done, total=total, visible=shown, left=left)

        yield report


@dataclass
class Workload:
    """The episodes of all agents, and the time that they take at the pace of those that were played."""

    done: int = 0
    total: int = 0
    agents: dict[tuple[str, str], Progress] = field(default_factory=dict)  # their last reports
    begun: float = field(default_factory=lambda: time.monotonic())

    def add(self, news: Progress) -> str:
        """Add a report, and return the agent's label, after that of the environment if there are several."""
        self.agents[news.environment_label, news.label] = news
        self.done = sum(own.done for own in self.agents.values())
        self.total = sum(own.total for own in self.agents.values())
        several = len({environment for environment, _ in self.agents}) > 1
        return f"{news.environment_label}: {news.label}" if several else news.label

    def time_left(self) -> str:
        """Return `about 2 min left`, or nothing where no episode was played or none is left."""
        played = self.done - sum(news.restored for news in self.agents.values())
        if not played or self.done == self.total:
            return ""
        seconds = (time.monotonic() - self.begun) * (self.total - self.done) / played
        if seconds < 100:
            return f"about {seconds:.0f} s left"
        minutes = seconds / 60
        return f"about {minutes:.0f} min left" if minutes < 100 else f"about {minutes / 60:.1f} h left"


class ReportedAgent(NamedTuple):
    """An agent in figures and tables, represented by one of its points."""

    best: str  # label of the point that represents it
    result: Result  # of that point
    others: Mapping[str, Result]  # of all its other points by their labels
    points: Mapping[str, Result]  # of all its points, in the runs that are shown


class Selection(NamedTuple):
    """The agents of an environment by their labels, and the numbers of the runs they are shown in."""

    agents: Mapping[str, ReportedAgent]
    runs: np.ndarray


def choose_best_points(points: Mapping[str, Result], names: Mapping[str, str]) -> Selection:
    """Return every agent of an environment with the point that represents it, of points and names by labels.

    The label of a grid is its name and a mark. Its best point has the lowest mean final regret over the runs
    held back, or over all of them where none can be. All agents are shown in the same runs, so that they stay
    paired: where nothing is a grid, that is every run.
    """
    agents: dict[str, dict[str, Result]] = {}
    for label, result in points.items():
        agents.setdefault(names[label], {})[label] = result
    num_runs = min(len(result.returns) for result in points.values())
    choosing = select_holdout(num_runs) & (len(agents) < len(points))
    reported = {}
    for name, own in agents.items():
        label = f"{name}{MARK}" if len(own) > 1 else next(iter(own))
        if label in reported:
            raise ValueError(f"two agents are called {label!r}: rename one of them")
        runs = choosing if choosing.any() else ~choosing
        finals = {point: result.cumulative_regret[runs, -1].mean() for point, result in own.items()}
        results = {point: select_runs(result, ~choosing) for point, result in own.items()}
        best = min(finals, key=finals.__getitem__)
        others = {point: result for point, result in results.items() if point != best}
        reported[label] = ReportedAgent(best, results[best], others, results)
    return Selection(reported, np.flatnonzero(~choosing))
