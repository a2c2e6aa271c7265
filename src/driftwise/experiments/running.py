"""Running an experiment is one function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from driftwise.base.validation import ArgumentError, require_count
from driftwise.experiments.building import Batch, make_batches
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.grids import split_result
from driftwise.simulation.results import Result, join_runs
from driftwise.simulation.tasks import RUNS_OF_A_TASK, Device, Task

if TYPE_CHECKING:  # what loads JAX is imported by those who run, not by those who read about experiments
    from driftwise.simulation.engines import Engine
    from driftwise.simulation.running import Look


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one agent did in one environment, and how long that took, compilation included."""

    setting: str  # what tables and figures call the environment
    label: str
    result: Result
    seconds: float  # agents that ran together share their time evenly
    name: str = ""  # the agent's in its file
    point: Mapping[str, Any] = field(default_factory=dict)  # what its lists have here


class Standing(NamedTuple):
    """How far an agent is in an environment, in episodes of all its runs together."""

    setting: str
    label: str
    done: int
    total: int
    restored: int  # of those done, how many were not played now but read from checkpoints


Progress = Callable[[Standing], None]


def run_experiment(
    experiment: Experiment,
    *,
    num_episodes: int | None = None,
    num_runs: int | None = None,
    seed: int | None = None,
    checkpoints: Path | None = None,
    engine: Engine | None = None,
    device: Device | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> tuple[Outcome, ...]:
    """Run every agent of an experiment, at its own sizes unless others are given.

    Args:
      checkpoints: a folder for the state of unfinished simulations and the curves of finished ones; a run
        that was stopped goes on from there, to the same bytes.
      engine: what runs the simulations, from `driftwise.simulation.engines`; it needs `checkpoints`. This
        process unless given.
      device: `"cpu"` or `"gpu"`; what JAX would take unless given.
      progress: called with a `Standing`: for every agent at the start, then after every chunk of episodes.
      look: called several times a second by engines, else after every chunk; what it raises ends the run, and
        the checkpoints stay.
    """
    from driftwise.simulation.running import run_tasks

    if engine is not None and checkpoints is None:
        raise ArgumentError("checkpoints", "be a folder where there is an engine", checkpoints)
    num_episodes = (
        experiment.episodes if num_episodes is None else require_count("num_episodes", num_episodes)
    )
    num_runs = experiment.runs if num_runs is None else require_count("num_runs", num_runs)
    points_together = max(1, RUNS_OF_A_TASK // num_runs)
    batches = make_batches(experiment, num_episodes, points_together=points_together)
    tasks = [
        Task(
            batch.agent,
            batch.environment,
            num_episodes=batch.num_episodes,
            num_runs=num_runs,
            seed=experiment.seed if seed is None else seed,
            record_every=experiment.record_every,
            device=device,
            name=f"{batch.label} in {batch.setting}",
        ).split()
        for batch in batches
    ]
    report = _by_agent(batches, tasks, progress or (lambda standing: None))
    together = [task for group in tasks for task in group]
    results = iter(run_tasks(together, checkpoints, engine=engine, progress=report, look=look))
    outcomes = []
    for batch, group in zip(batches, tasks, strict=True):
        joined = join_runs([next(results) for _ in group])
        for label, single in split_result(joined, batch).items():
            seconds, point = single.manifest["seconds"], batch.values[label]
            outcomes.append(Outcome(batch.setting, label, single, seconds, batch.name, point))
    return tuple(outcomes)


def _by_agent(
    batches: Sequence[Batch], tasks: Sequence[Sequence[Task]], progress: Progress
) -> Callable[[int, int, int], None]:
    """Progress of numbered tasks as progress of the agents they belong to.

    Every agent is told of at the start, so that a listener knows how much there is to do.
    """
    agents = [(batch.setting, batch.label) for batch in batches]
    owner = [(agent, task) for agent, group in zip(agents, tasks, strict=True) for task in group]
    runs, done, restored = Counter(), Counter(), Counter()
    seen: dict[int, int] = {}
    lengths = {agent: task.num_episodes for agent, task in owner}
    for agent, task in owner:
        runs[agent] += task.num_runs

    def tell(agent: tuple[str, str], total: int) -> None:
        played, read = (count[agent] // runs[agent] for count in (done, restored))
        progress(Standing(*agent, done=played, total=total, restored=read))

    def report(number: int, episodes: int, total: int) -> None:
        agent, task = owner[number]
        if number not in seen:
            restored[agent] += episodes * task.num_runs
        done[agent] += (episodes - seen.get(number, 0)) * task.num_runs
        seen[number] = episodes
        tell(agent, total)

    for agent in runs:
        tell(agent, lengths[agent])
    return report
