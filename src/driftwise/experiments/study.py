"""A study: an experiment with its environments, agents and tasks made, once, at the sizes of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from driftwise.base.agent import Agent
from driftwise.base.making import dotted, errors_under
from driftwise.base.part import grid_of, require_single, stack
from driftwise.base.plugins import load_plugins
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments import Environment
from driftwise.experiments.building import Facts, make_environment, read_agent
from driftwise.experiments.experiment import Experiment, Table
from driftwise.experiments.grids import Point, grids_of, grids_of_agent
from driftwise.experiments.places import in_episodes
from driftwise.simulation import tasks
from driftwise.simulation.files import compact_json
from driftwise.simulation.tasks import Task

Cell = tuple[str, str, str]  # an environment, an agent, and the values of its lists


@dataclass(frozen=True, eq=False)
class Group:
    """Points of an agent's grid that run as one program in an environment."""

    environment_label: str
    name: str  # the agent's in its file
    label: str  # for progress
    points: Mapping[str, Point]  # by what tables and figures show
    task: Task  # of all its points and runs
    shorter: tuple[int, ...] = ()  # episodes that its task had in a folder that grew

    def cell(self, point: Point) -> Cell:
        """What tells a point from all others, whatever the order in its file."""
        return self.environment_label, self.name, compact_json(point.values)


@dataclass(frozen=True)
class Stage:
    """What a folder was asked for at one time."""

    begun: str
    episodes: int
    runs: int
    seed: int
    experiment: Table  # what its file says, but for words and sizes; environments by their labels

    def of(self, experiment: Experiment, num_episodes: int) -> Study:
        """The study of this stage, with runs of another length."""
        tables = {key: self.experiment[key] for key in ("environments", "agents")}
        own = replace(experiment, environment=None, **tables)
        return prepare(own, num_episodes=num_episodes, num_runs=self.runs, seed=self.seed)


@dataclass(frozen=True, eq=False)
class Study:
    """An experiment with everything made that a run needs."""

    experiment: Experiment
    num_episodes: int
    num_runs: int
    seed: int
    groups: tuple[Group, ...]  # all agents in all environments, in the order of the file
    stages: tuple[Stage, ...] = ()  # in which its folder was asked for
    parts: tuple[Group, ...] = ()  # what each of the stages adds

    @property
    def work(self) -> tuple[Group, ...]:
        """The groups whose tasks are run; of a cell that grew, each has other runs."""
        return self.parts or self.groups

    @property
    def environments(self) -> dict[str, Environment]:
        """The environments by their labels."""
        return {group.environment_label: group.task.environment for group in self.groups}

    @property
    def lengths(self) -> dict[str, int]:
        """Episodes of a run in each environment."""
        return {group.environment_label: group.task.num_episodes for group in self.groups}


def prepare(
    experiment: Experiment,
    *,
    num_episodes: int | None = None,
    num_runs: int | None = None,
    seed: int | None = None,
) -> Study:
    """Make all that an experiment describes, at its own sizes unless others are given; nothing is run.

    Plugins of installed packages, and the modules that it names, are imported first.
    """

    def size(name: str, given: int | None, own: int, **limits: int) -> int:
        return own if given is None else require_count(name, given, **limits)

    sizes: dict[str, Any] = dict(
        num_episodes=size("num_episodes", num_episodes, experiment.episodes, bits=32),
        num_runs=size("num_runs", num_runs, experiment.runs, bits=32),
        seed=size("seed", seed, experiment.seed, at_least=0),
    )
    load_plugins(experiment.import_)
    places = [*_environments(experiment, sizes["num_episodes"])]
    groups = tuple(
        group
        for label, environment, length in places
        for group in _groups(experiment, label, environment, {**sizes, "num_episodes": length})
    )
    return Study(experiment, **sizes, groups=groups)


def _environments(experiment: Experiment, num_episodes: int) -> Iterator[tuple[str, Environment, int]]:
    """Label, environment and episodes of a run in it, which its table may give, for each environment."""
    if not experiment.environments:
        environment = make_environment("environment", experiment.environment or {}, num_episodes)
        yield environment.name, environment, num_episodes
        return
    lengths = {}
    for label, table in experiment.environments.items():
        path = dotted("environments", label, "episodes")
        own = num_episodes if isinstance(table, Environment) else table.get("episodes", num_episodes)
        given = in_episodes(path, own, num_episodes)
        lengths[label] = require_count(path, given)
        if given > num_episodes:
            raise ArgumentError(path, f"be at most the experiment's {num_episodes}", given)
    if (longest := max(lengths.values())) < num_episodes:
        expected = f"have one with all {num_episodes} episodes"
        raise ArgumentError("environments", expected, longest, f"{longest} at most")
    for label, table in experiment.environments.items():
        path, length = dotted("environments", label), lengths[label]
        if not isinstance(table, Environment):
            table = {key: value for key, value in table.items() if key != "episodes"}
        yield label, make_environment(path, table, length), length


def _groups(
    experiment: Experiment, environment_label: str, environment: Environment, sizes: Mapping[str, Any]
) -> Iterator[Group]:
    facts = Facts(environment, sizes["num_episodes"])
    at_most = max(1, tasks.RUNS_OF_A_TASK // sizes["num_runs"])
    owners: dict[str, str] = {}
    for name, given in experiment.agents.items():
        path = dotted("agents", name)
        for label, points in _grids(path, name, given, facts, at_most):
            for point, made in points.items():
                with errors_under(path, grid_of(made.agent)):
                    require_single(made.agent)
                if owners.setdefault(point, path) != path:
                    got = f"{point!r} twice"
                    raise ArgumentError(path, f"differ from {owners[point]} in name", point, got)
            agents = [made.agent for made in points.values()]
            with errors_under(path):
                stacked = stack(agents) if len(agents) > 1 else agents[0]
                task = Task(
                    stacked,
                    environment,
                    **sizes,
                    record_every=experiment.record_every,
                    name=f"{label} in {environment_label}",
                )
            yield Group(environment_label, name, label, points, task)


def _grids(
    path: str, name: str, given: Any, facts: Facts, at_most: int
) -> Iterator[tuple[str, dict[str, Point]]]:
    """The points of an agent by their labels, in grids that run as one program; see `grids_of`."""
    if isinstance(given, Mapping):
        values, build, together = read_agent(path, given, facts)
        yield from grids_of(path, name, values, build, together=together, at_most=at_most)
    else:
        agent = given if isinstance(given, Agent) else given(facts.environment)
        if not isinstance(agent, Agent):
            expected = "be an agent, a table, or a function from an environment to an agent"
            raise ArgumentError(path, expected, agent, f"a function that gave {agent!r}")
        yield from grids_of_agent(path, name, agent, at_most=at_most)
