"""A study: an experiment with the environments, agents and tasks that it describes."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from driftwise.base.agent import Agent
from driftwise.base.files import compact_json
from driftwise.base.part import get_grids, require_single, stack_parts
from driftwise.base.plugins import load_plugins
from driftwise.base.schema import join_keys, prefix_errors
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments import Environment
from driftwise.experiments import building
from driftwise.experiments.experiment import ConfigTable, Experiment, find_experiment
from driftwise.simulation import tasks
from driftwise.simulation.tasks import Task

CellKey = tuple[str, str, str]  # an environment, an agent, and the values of its lists


@dataclass(frozen=True, eq=False)
class TaskGroup:
    """Points of an agent's grid that run as one program in an environment."""

    environment_label: str
    name: str  # the agent's in its file
    label: str  # for progress
    points: Mapping[str, building.Point]  # by what tables and figures show
    task: Task  # of all its points and runs

    def cell(self, point: building.Point) -> CellKey:
        """Return a key of the point that does not depend on the order in the file."""
        return self.environment_label, self.name, compact_json(point.values)

    def restrict(self, points: Mapping[str, building.Point], first_run: int, num_runs: int) -> Self:
        """Return the group of some points in some runs."""
        agent = stacked([point.agent for point in points.values()])
        task = replace(self.task, agent=agent, first_run=first_run, num_runs=num_runs)
        return replace(self, points=points, task=task)


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment with everything that a run needs."""

    experiment: Experiment
    num_episodes: int
    num_runs: int
    seed: int
    environments: Mapping[str, Environment]  # by their labels
    lengths: Mapping[str, int]  # episodes of a run in each environment
    groups: tuple[TaskGroup, ...]  # all agents in all environments, in the order of the file
    work: tuple[TaskGroup, ...]  # groups as they are run: in a folder that grew, a cell may be in several
    requests: tuple[ConfigTable, ...] = ()  # to its folder, as the claim has them


def prepare(
    experiment: Experiment,
    *,
    num_episodes: int | None = None,
    num_runs: int | None = None,
    seed: int | None = None,
) -> Study:
    """Make all that an experiment describes, after its plugins, at its own sizes unless others are given."""
    sizes: Any = {"num_episodes": experiment.episodes, "num_runs": experiment.runs, "seed": experiment.seed}
    for name, value in (("num_episodes", num_episodes), ("num_runs", num_runs), ("seed", seed)):
        if value is not None:
            sizes[name] = require_count(name, value, **tasks.COUNTS[name])
    load_plugins(experiment.import_)
    places = [*_environments(experiment, sizes["num_episodes"])]  # first, for their errors
    runs = sizes["num_runs"], sizes["seed"]
    groups = tuple(group for place in places for group in _groups(experiment, *place, *runs))
    environments = {label: environment for label, environment, _ in places}
    lengths = {label: length for label, _, length in places}
    return Study(experiment, **sizes, environments=environments, lengths=lengths, groups=groups, work=groups)


def _environments(experiment: Experiment, num_episodes: int) -> Iterator[tuple[str, Environment, int]]:
    """Yield the label of each environment, the environment, and the episodes of a run in it."""
    if not experiment.environments:
        environment = building.make_environment("environment", experiment.environment or {}, num_episodes)
        yield environment.name, environment, num_episodes
        return
    lengths = {}
    for label, table in experiment.environments.items():
        path = join_keys("environments", label, "episodes")
        own = num_episodes if isinstance(table, Environment) else table.get("episodes", num_episodes)
        lengths[label] = require_count(path, building.in_episodes(path, own, num_episodes))
        if lengths[label] > num_episodes:
            raise ArgumentError(path, f"be at most the experiment's {num_episodes}", lengths[label])
    if (longest := max(lengths.values())) < num_episodes:
        expected = f"have one with all {num_episodes} episodes"
        raise ArgumentError("environments", expected, longest, f"{longest} at most")
    for label, table in experiment.environments.items():
        path, length = join_keys("environments", label), lengths[label]
        if not isinstance(table, Environment):
            table = {key: value for key, value in table.items() if key != "episodes"}
        yield label, building.make_environment(path, table, length), length


def _groups(
    experiment: Experiment, place: str, environment: Environment, num_episodes: int, num_runs: int, seed: int
) -> Iterator[TaskGroup]:
    """Yield the groups of all agents in an environment, by the label of the place."""
    facts, at_most = building.Facts(environment, num_episodes), max(1, tasks.RUNS_OF_A_TASK // num_runs)
    owners: dict[str, str] = {}
    for name, given in experiment.agents.items():
        path = join_keys("agents", name)
        if isinstance(given, Mapping):
            table = building.read_agent_table(path, given, facts)
            grids = building.grids_of_table(path, name, table, at_most=at_most)
        else:
            agent = given if isinstance(given, Agent) else given(environment)
            if not isinstance(agent, Agent):
                expected = "be an agent, a table, or a function from an environment to an agent"
                raise ArgumentError(path, expected, agent, f"a function that gave {agent!r}")
            grids = building.grids_of_agent(path, name, agent, at_most=at_most)
        for label, points in grids:
            for point_label, point in points.items():
                with prefix_errors(path, get_grids(point.agent)):
                    require_single(point.agent)
                if (owner := owners.setdefault(point_label, path)) != path:
                    got = f"{point_label!r} twice"
                    raise ArgumentError(path, f"differ from {owner} in name", point_label, got)
            with prefix_errors(path):
                agent, title = stacked([point.agent for point in points.values()]), f"{label} in {place}"
                runs: Any = dict(num_episodes=num_episodes, num_runs=num_runs, seed=seed)
                task = Task(agent, environment, **runs, record_every=experiment.record_every, name=title)
            yield TaskGroup(place, name, label, points, task)


def stacked(agents: Sequence[Agent]) -> Agent:
    """Return one agent with the numbers of all agents as a grid."""
    return stack_parts(agents) if len(agents) > 1 else agents[0]


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Return the experiment in a file, after its environments and agents were made, to find mistakes."""
    return find_study(Path(path)).experiment


def find_study(file_or_name: str | Path, **sizes: Any) -> Study:
    """Return the study of a file or a name, at the sizes of `prepare`; its plugins may be beside the file."""
    experiment, path = find_experiment(file_or_name), Path(file_or_name)
    with prefix_errors(os.fspath(file_or_name)):
        folder = path.resolve().parent if path.is_file() else Path.cwd()
        load_plugins(experiment.import_, [str(folder)])
        return prepare(experiment, **sizes)
