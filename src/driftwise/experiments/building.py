"""From what an experiment file says to environments and agents; what they take, their signatures say.

Every mistake is a `ValueError` that starts with the key it is about.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from driftwise.algorithms import ALGORITHMS
from driftwise.base.agent import Agent
from driftwise.base.making import dotted, errors_under, make
from driftwise.base.part import CONFIGURABLE, grid_of, require_single
from driftwise.base.types import Variation
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_number
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from driftwise.experiments.experiment import Experiment, require_table
from driftwise.experiments.grids import Grid, grids_of

MEMBERS = {
    "drift": "mixture",
    "path": "theta",
    "arms": "sampler",
    "detector": "detect",
}  # keys of tables, and what tells their kinds
EPISODES = ("at", "knots", "period", "rounds")  # their fields that may also be percentages of the run

OF_PAIRS = ("tabular MDP", "metric MDP")  # problems in which variation is that of the pair that moves most

Knowledge = dict[str, Callable[[], Any]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch(Grid):
    """What one call of the simulator runs: points of a grid in an environment."""

    setting: str  # what tables and figures call the environment
    environment: Environment
    num_episodes: int


def make_environments(experiment: Experiment, num_episodes: int | None = None) -> dict[str, Environment]:
    """The environments of a run of this length (the experiment's own unless given), by their labels."""
    num_episodes = num_episodes or experiment.episodes
    if not experiment.environments:
        environment = _make_environment("environment", experiment.environment, num_episodes)
        return {environment.name: environment}
    lengths = {label: run_length(experiment, label, num_episodes) for label in experiment.environments}
    if (longest := max(lengths.values())) < num_episodes:
        raise ArgumentError(
            "environments", f"have one with all {num_episodes} episodes", longest, f"{longest} at most"
        )
    return {
        label: _make_environment(
            dotted("environments", label),
            {key: value for key, value in table.items() if key != "episodes"},
            lengths[label],
        )
        for label, table in experiment.environments.items()
    }


def run_length(experiment: Experiment, label: str, num_episodes: int) -> int:
    """Episodes of a run in that environment: all, or the part that its table among several says."""
    path = dotted("environments", label, "episodes")
    given = experiment.environments.get(label, {}).get("episodes", num_episodes)
    length = require_count(path, _in_episodes(path, given, num_episodes))
    if length > num_episodes:
        raise ArgumentError(path, f"be at most the experiment's {num_episodes}", length)
    return length


def make_batches(
    experiment: Experiment, num_episodes: int | None = None, *, points_together: int | None = None
) -> tuple[Batch, ...]:
    """All agents in all environments for a run of this length, in the order of the file.

    Those of one batch run together: points of a grid of numbers, at most `points_together` of them.
    """
    num_episodes = num_episodes or experiment.episodes
    return tuple(
        batch
        for label, environment in make_environments(experiment, num_episodes).items()
        for batch in _batches_in(
            experiment, label, environment, run_length(experiment, label, num_episodes), points_together
        )
    )


def _batches_in(
    experiment: Experiment,
    setting: str,
    environment: Environment,
    num_episodes: int,
    points_together: int | None,
) -> Iterator[Batch]:
    knowledge: Knowledge = {  # what makers may ask for by name, computed once
        "spec": lambda: environment.spec,
        "num_episodes": lambda: num_episodes,
        "variations": functools.cache(lambda: environment.variation(num_episodes)),
        "variation": lambda: knowledge["variations"]().total,
        "pair_variation": functools.cache(lambda: _pair_variation(environment, num_episodes)),
        "changes": lambda: environment.changes(num_episodes),
        "diameter": lambda: _diameter(environment, num_episodes),
    }
    owners: dict[str, str] = {}
    for label, table in experiment.agents.items():
        path = dotted("agents", label)
        given, build, takes_grids = _recipe(path, table, knowledge)
        for grid in grids_of(path, label, given, build, one_by_one=not takes_grids, at_once=points_together):
            for point, agent in grid.points.items():
                with errors_under(path, grid_of(agent)):
                    require_single(agent)
                if owners.setdefault(point, path) != path:
                    raise ArgumentError(
                        path, f"differ from {owners[point]} in name", point, f"{point!r} twice"
                    )
            yield Batch(setting=setting, environment=environment, num_episodes=num_episodes, **vars(grid))


def _pair_variation(environment: Environment, num_episodes: int) -> float:
    options = {"norm": "pairs"} if isinstance(environment, LinearMdp) else {}  # others have but one norm
    return environment.variation(num_episodes, **options).total


def _diameter(environment: Environment, num_episodes: int) -> float:
    if not isinstance(environment, ContinuingMdp):
        raise ArgumentError("environment", "be without episodes, which the agent needs", environment)
    return environment.diameter(num_episodes)


def _recipe(
    path: str, table: Mapping[str, Any], knowledge: Knowledge
) -> tuple[dict[str, Any], Callable[[Mapping[str, Any]], Agent], bool]:
    """What an agent's table gives its algorithm, what builds the agent, and whether that takes grids."""
    given = dict(table)
    algorithm = ALGORITHMS[_choice(path, "algorithm", given, "an agent", list(ALGORITHMS))]
    tuned = given.pop("tuned", False)
    if not isinstance(tuned, bool):
        raise ArgumentError(f"{path}.tuned", "be true or false", tuned)
    maker = algorithm.tuned if tuned else algorithm.recipe
    parameters = inspect.signature(maker).parameters
    if "base" in given and algorithm.wraps:
        given["base"] = _make_base(f"{path}.base", given["base"], knowledge, arms=algorithm.takes_arms)
    if "detector" in given and "detector" in parameters:
        given["detector"] = _make_member(f"{path}.detector", "detector", given["detector"], 0)
    owner = f"{algorithm.name}.tuned" if tuned else algorithm.name

    def build(given: Mapping[str, Any]) -> Agent:
        known, given = dict(knowledge), dict(given)
        if algorithm.problem in OF_PAIRS:
            known["variation"] = knowledge["pair_variation"]
        if "variation_scale" in given:  # as if the world varied more, or less
            known |= _rescaled(path, given.pop("variation_scale"), known, owner, told=parameters)
        return make(maker, given, path=path, owner=owner, known=known)

    return given, build, algorithm.takes_grids and not tuned


def _rescaled(path: str, scale: Any, known: Knowledge, owner: str, *, told: Container[str]) -> Knowledge:
    """What an agent is told of a variation that is `scale` times as large."""
    scale = require_number(f"{path}.variation_scale", scale, at_least=0)
    if "variation" not in told and "variations" not in told:
        expected = "go with a form that is told the variation, such as one with tuned = true"
        raise ArgumentError(f"{path}.variation_scale", expected, scale, owner)
    total, moves = known["variation"], known["variations"]

    def variations() -> Variation:
        return Variation(scale * moves().reward, scale * moves().transition)

    return {"variation": lambda: scale * total(), "variations": variations}


def _make_base(path: str, value: Any, knowledge: Knowledge, *, arms: bool) -> Agent | tuple[Agent, ...]:
    """The agent that another one wraps; or all of them, if what is listed are `arms`, in all combinations."""
    given, build, _ = _recipe(path, require_table(path, value), knowledge)
    for key, each in given.items():
        if isinstance(each, list) and not arms:
            raise ArgumentError(f"{path}.{key}", "be a single value in a base", each)
    agents = tuple(grid.agent for grid in grids_of(path, "", given, build, one_by_one=True))
    return agents if arms else agents[0]


def _make_environment(path: str, table: Mapping[str, Any], num_episodes: int) -> Environment:
    given = dict(table)
    maker = ENVIRONMENTS[_choice(path, "type", given, "an environment", list(ENVIRONMENTS))]
    made = _make_members(path, given, num_episodes)
    return make(maker, made, path=path, known={"num_rounds": lambda: num_episodes})


def _make_members(path: str, given: Mapping[str, Any], num_episodes: int) -> dict[str, Any]:
    """What of a table is itself made from a table: drifts, paths and arms."""
    return {
        key: _make_member(f"{path}.{key}", key, value, num_episodes) if key in MEMBERS else value
        for key, value in given.items()
    }


def _make_member(path: str, kind: str, value: Any, num_episodes: int) -> Any:
    given = dict(require_table(path, value))
    makers = {name: cls for name, cls in CONFIGURABLE.items() if hasattr(cls, MEMBERS[kind])}
    maker = makers[_choice(path, "type", given, f"{'an' * (kind == 'arms') or 'a'} {kind}", list(makers))]
    given = _make_members(path, given, num_episodes)
    resolved = {
        key: _in_episodes(f"{path}.{key}", item, num_episodes) if key in EPISODES else item
        for key, item in given.items()
    }
    try:
        return make(maker, resolved, path=path)
    except ValueError as error:
        if resolved == given:
            raise
        raise ValueError(f"{error}, of a run of {num_episodes} episodes") from None


def _in_episodes(path: str, value: Any, num_episodes: int) -> Any:
    """Percentages as episodes, rounded down; above zero they are at least one."""
    if isinstance(value, list):
        return [_in_episodes(path, item, num_episodes) for item in value]
    if not isinstance(value, str):
        return value
    share = Decimal(value[:-1]) if re.fullmatch(r"[0-9]+(\.[0-9]+)?%", value) else None
    if share is None or share > 100:
        raise ArgumentError(path, "be episodes, or percentages from '0%' to '100%'", value)
    return max(int(share * num_episodes / 100), int(share > 0))


def _choice(path: str, key: str, given: dict[str, Any], owner: str, known: list[str]) -> str:
    """Take the key that says what the rest of a table is about."""
    if key not in given:
        raise ValueError(f"{path}.{key} is missing: {owner} needs it, one of {', '.join(known)}")
    return require_choice(f"{path}.{key}", given.pop(key), known)
