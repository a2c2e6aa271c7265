"""An experiment is data; running it is one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from driftwise.environments.linear_mdp import LinearMdp
from driftwise.results import Result
from driftwise.types import Agent, Spec


@dataclass(frozen=True)
class Experiment:
    """Agents that meet the same drifting environment, and the sizes at which they do."""

    name: str
    summary: str  # what happens, in one line
    finding: str  # what is seen at these sizes, in one line
    environment: Callable[[int], LinearMdp]  # of num_episodes: changes keep their place in a longer run
    agents: Mapping[str, Callable[[Spec], Agent]]  # by the label that tables and figures show
    num_episodes: int
    num_runs: int
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one agent of an experiment did, and how long that took, compilation included."""

    label: str
    result: Result
    seconds: float


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

    num_episodes = experiment.num_episodes if num_episodes is None else num_episodes
    environment = experiment.environment(num_episodes)
    outcomes = []
    for label, make in experiment.agents.items():
        report = _report(label, progress)
        report(0, num_episodes)
        result = simulate(
            make(environment.spec),
            environment,
            num_episodes=num_episodes,
            num_runs=experiment.num_runs if num_runs is None else num_runs,
            seed=experiment.seed if seed is None else seed,
            progress=report,
        )
        outcomes.append(Outcome(label, result, result.manifest["seconds"]))
    return tuple(outcomes)


def _report(label: str, progress: Progress | None) -> Callable[[int, int], None]:
    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(label, done, total)

    return report
