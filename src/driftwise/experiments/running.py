"""Running an experiment is one function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.experiments.building import Batch, make_batches
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.grids import split_result
from driftwise.results import Result
from driftwise.validation import require_count

if TYPE_CHECKING:  # what loads JAX is imported by those who run, not by those who read about experiments
    from driftwise.engines import Engine
    from driftwise.simulator import Device
    from driftwise.sweep import Cell


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one agent did in one environment, and how long that took, compilation included."""

    setting: str  # what tables and figures call the environment
    label: str
    result: Result
    seconds: float  # agents that ran together share their time evenly


Progress = Callable[[str, int, int], None]


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
) -> tuple[Outcome, ...]:
    """Run every agent of an experiment, at its own sizes unless others are given.

    Args:
      checkpoints: a folder for the state of unfinished simulations and the curves of finished ones; a run
        that was stopped goes on from there, to the same bytes.
      engine: what runs the simulations, from `driftwise.engines`; it needs `checkpoints`. This process unless
        given.
      device: `"cpu"` or `"gpu"`; what JAX would take unless given.
      progress: called as `progress(label, episodes_done, num_episodes)`: with 0 for all agents at the start,
        then after every chunk of episodes.
    """
    from driftwise.sweep import RUNS_OF_A_CELL, Cell, join_runs, run_cells

    if engine is not None and checkpoints is None:
        raise ValueError(f"checkpoints must be a folder where there is an engine, got {checkpoints!r}")
    num_episodes = (
        experiment.episodes if num_episodes is None else require_count("num_episodes", num_episodes)
    )
    num_runs = experiment.runs if num_runs is None else require_count("num_runs", num_runs)
    points_together = max(1, RUNS_OF_A_CELL // num_runs)
    batches = make_batches(experiment, num_episodes, points_together=points_together)
    cells = [
        Cell(
            batch.agent,
            batch.environment,
            num_episodes=num_episodes,
            num_runs=num_runs,
            seed=experiment.seed if seed is None else seed,
            record_every=experiment.record_every,
            device=device,
        ).in_batches()
        for batch in batches
    ]
    report = _by_label(batches, cells, progress or (lambda label, done, total: None))
    together = [cell for group in cells for cell in group]
    results = iter(run_cells(together, checkpoints, engine=engine, progress=report))
    outcomes = []
    for batch, group in zip(batches, cells, strict=True):
        joined = join_runs([next(results) for _ in group])
        for label, single in split_result(joined, batch).items():
            outcomes.append(Outcome(batch.setting, label, single, single.manifest["seconds"]))
    return tuple(outcomes)


def _by_label(
    batches: Sequence[Batch], cells: Sequence[Sequence[Cell]], progress: Progress
) -> Callable[[int, int, int], None]:
    """Progress of numbered cells as progress of the agents they belong to, in episodes of all their runs.

    Every agent is told of at the start, so that a listener knows how much there is to do.
    """
    several = len({batch.setting for batch in batches}) > 1
    labels = [f"{batch.setting}: {batch.label}" if several else batch.label for batch in batches]
    owner = [(label, cell) for label, group in zip(labels, cells, strict=True) for cell in group]
    work, played, seen = Counter(), Counter(), [0] * len(owner)
    for label, cell in owner:
        work[label] += cell.num_runs
    for label in work:
        progress(label, 0, owner[0][1].num_episodes)

    def report(number: int, done: int, total: int) -> None:
        label, cell = owner[number]
        played[label] += (done - seen[number]) * cell.num_runs
        seen[number] = done
        progress(label, played[label] // work[label], total)

    return report
