"""Running an experiment is one function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.experiments.building import make_batches, make_environment
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.grids import Batch, split_result
from driftwise.results import Result
from driftwise.validation import require_count

if TYPE_CHECKING:  # what loads JAX is imported by those who run, not by those who read about experiments
    from driftwise.sweep import Cell


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one agent of an experiment did, and how long that took, compilation included."""

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
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Outcome, ...]:
    """Run every agent of an experiment, at its own sizes unless others are given.

    Args:
      checkpoints: a folder for the state of unfinished simulations and the curves of finished ones; a run
        that was stopped goes on from there, to the same bytes.
      workers: processes to run in; more than one needs `checkpoints`.
      progress: called as `progress(label, episodes_done, num_episodes)`: with 0 before an agent starts, then
        after every chunk of episodes.
    """
    from driftwise.sweep import Cell, join_runs, run_cells

    require_count("workers", workers)
    if workers > 1 and checkpoints is None:
        raise ValueError(f"checkpoints must be a folder where there are several workers, got {checkpoints!r}")
    num_episodes = (
        experiment.episodes if num_episodes is None else require_count("num_episodes", num_episodes)
    )
    environment = make_environment(experiment, num_episodes)
    batches = make_batches(experiment, num_episodes)
    cells = [
        Cell(
            batch.agent,
            environment,
            num_episodes=num_episodes,
            num_runs=experiment.runs if num_runs is None else num_runs,
            seed=experiment.seed if seed is None else seed,
            record_every=experiment.record_every,
        ).in_batches()
        for batch in batches
    ]
    report = _by_label(batches, cells, progress)
    together = [cell for group in cells for cell in group]
    results = iter(run_cells(together, checkpoints, workers=workers, progress=report))
    outcomes = []
    for batch, group in zip(batches, cells, strict=True):
        joined = join_runs([next(results) for _ in group])
        for label, single in split_result(joined, batch).items():
            outcomes.append(Outcome(label, single, single.manifest["seconds"]))
    return tuple(outcomes)


def _by_label(
    batches: Sequence[Batch], cells: Sequence[Sequence[Cell]], progress: Progress | None
) -> Callable[[int, int, int], None]:
    """Progress of numbered cells as progress of the agents they belong to, in episodes of all their runs."""
    owner = [(index, cell) for index, group in enumerate(cells) for cell in group]
    played = [0] * len(owner)

    def report(number: int, done: int, total: int) -> None:
        if progress is None:
            return
        played[number] = done
        index = owner[number][0]
        mine = [(played[i], cell.num_runs) for i, (other, cell) in enumerate(owner) if other == index]
        runs = sum(count for _, count in mine)
        progress(batches[index].label, sum(episodes * count for episodes, count in mine) // runs, total)

    return report
