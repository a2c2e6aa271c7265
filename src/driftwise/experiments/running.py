"""Running an experiment is one function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from driftwise.experiments.building import make_batches, make_environment
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.grids import split_result
from driftwise.results import Result
from driftwise.validation import require_count


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
    progress: Progress | None = None,
) -> tuple[Outcome, ...]:
    """Run every agent of an experiment, at its own sizes unless others are given.

    `progress` is called as `progress(label, episodes_done, num_episodes)`: with 0 before an agent
    starts, then after every chunk of episodes.
    """
    from driftwise.simulator import simulate  # loads JAX, which nobody needs to read about experiments

    num_episodes = (
        experiment.episodes if num_episodes is None else require_count("num_episodes", num_episodes)
    )
    environment = make_environment(experiment, num_episodes)
    outcomes = []
    for batch in make_batches(experiment, num_episodes):
        report = _report(batch.label, progress)
        report(0, num_episodes)
        result = simulate(
            batch.agent,
            environment,
            num_episodes=num_episodes,
            num_runs=experiment.runs if num_runs is None else num_runs,
            seed=experiment.seed if seed is None else seed,
            record_every=experiment.record_every,
            progress=report,
        )
        for label, single in split_result(result, batch).items():
            outcomes.append(Outcome(label, single, single.manifest["seconds"]))
    return tuple(outcomes)


def _report(label: str, progress: Progress | None) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(label, done, total)

    return report
