"""Make environments and agents of the tables of an experiment file, checked against signatures.

A list of values in an agent's table is an axis of a grid. Mistakes are `ValueError`s that name the key.
"""

import functools
import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from driftwise.algorithms import ALGORITHMS
from driftwise.algorithms.algorithm import RUN, Algorithm
from driftwise.base.agent import Agent
from driftwise.base.part import CONFIGURABLE, expand_grid, extract_parameters, to_config
from driftwise.base.schema import build_from_table
from driftwise.base.types import Forgetting, Variation
from driftwise.base.validation import ArgumentError, require_choice, require_number
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from driftwise.environments.drift import Drift
from driftwise.environments.models.linear_bandit import Corruption
from driftwise.environments.paths import ParameterPath
from driftwise.experiments.experiment import require_table
from driftwise.parts import Exploration

# Keys of tables, and their kinds: a class, or the attribute that tells who keeps a protocol
_MEMBERS = {"drift": Drift, "path": ParameterPath, "arms": "sampler", "corruption": Corruption}
_MEMBERS |= {"detector": "detect", "forgetting": Forgetting, "exploration": Exploration}
_PAIR_PROBLEMS = ("tabular MDP", "metric MDP")  # whose variation is that of the pair that moves most

_Kind = TypeVar("_Kind")
_PLACE = re.compile(r"(?P<after>\+)?(?P<share>\d+(\.\d+)?)%(?P<more>[+-]\d+)?|\+(?P<distance>\d+)", re.ASCII)
_AS = "as '50%' or '50%+1', and after another one '+1'"
EXPECTED_EPISODES = f"be episodes, or percentages from '0%' to '100%' {_AS}"


def make_environment(path: str, table: Mapping[str, Any] | Environment, num_episodes: int) -> Environment:
    """Return the environment of a table, for a run of this length; one that was made already is returned."""
    if isinstance(table, Environment):
        return table
    values = dict(table)
    maker = ENVIRONMENTS[_choice(path, "type", values, "an environment", ENVIRONMENTS)]
    members = _make_members(path, values, num_episodes)
    return build_from_table(maker, members, path=path, known={"num_rounds": lambda: num_episodes})


def _make_members(path: str, table: Mapping[str, Any], num_episodes: int) -> dict[str, Any]:
    """Return a table in which the tables of drifts, paths and arms are made."""
    members = dict(table)
    for key, value in table.items():
        if key == "drifts" and isinstance(value, list):
            places = ((f"{path}.{key}.{k}", own) for k, own in enumerate(value))
            members[key] = [_make_member(place, "drift", own, num_episodes) for place, own in places]
        elif key in _MEMBERS:
            members[key] = _make_member(f"{path}.{key}", key, value, num_episodes)
    return members


def parts_of(kind: str) -> dict[str, type]:
    """Return the registered parts that a table of this key may name, by their names."""
    required: Any = _MEMBERS[kind]
    fits: Callable[[type, Any], bool] = hasattr if isinstance(required, str) else issubclass
    return {name: cls for name, cls in CONFIGURABLE.items() if fits(cls, required)}


def _make_member(path: str, kind: str, value: Any, num_episodes: int) -> Any:
    values, makers = dict(require_table(path, value)), parts_of(kind)
    maker = makers[_choice(path, "type", values, f"{'an' * (kind == 'arms') or 'a'} {kind}", makers)]
    values = _make_members(path, values, num_episodes)
    resolved = dict(values)
    if issubclass(maker, (Drift, ParameterPath)):
        for key, item in values.items():  # those that it names count episodes, or all with percentages
            if _is_place(item) if maker.episode_fields is None else key in maker.episode_fields:
                resolved[key] = in_episodes(f"{path}.{key}", item, num_episodes)
    try:
        return build_from_table(maker, resolved, path=path)
    except ValueError as error:
        if resolved == values:
            raise
        raise ValueError(f"{error}, of a run of {num_episodes} episodes") from None


class Facts:
    """Facts about a run that makers of agents may ask for by the names of their arguments."""

    def __init__(self, environment: Environment, num_episodes: int) -> None:
        self.environment, self.num_episodes = environment, num_episodes
        self._variation = functools.cache(functools.partial(environment.variation, num_episodes))

    def known(self, problem: str, scale: float) -> dict[str, Callable[[], Any]]:
        """Return the facts for an algorithm of that problem, with `scale` times the variation."""
        environment, linear = self.environment, isinstance(self.environment, LinearMdp)
        options = {"norm": "pairs"} if problem in _PAIR_PROBLEMS and linear else {}  # others have one norm
        moves = functools.partial(self._variation, **options)

        def needed(kind: type[_Kind], expected: str) -> _Kind:
            if not isinstance(environment, kind):
                raise ArgumentError("environment", f"{expected}, which the agent needs", environment)
            return environment

        return {
            "spec": lambda: environment.spec,
            "num_episodes": lambda: self.num_episodes,
            "variations": lambda: Variation(scale * moves().reward, scale * moves().transition),
            "variation": lambda: scale * moves().total,
            "changes": lambda: environment.changes(self.num_episodes),
            "diameter": lambda: needed(ContinuingMdp, "be without episodes").diameter(self.num_episodes),
            "mu_bound": lambda: environment.mu_bound if isinstance(environment, LinearMdp) else None,
            "num_kernels": lambda: len(needed(LinearMdp, "have kernels of anchors").mu),
        }


class AgentTable(NamedTuple):
    """An agent's table, and how to make an agent of it."""

    values: Mapping[str, Any]  # those of its algorithm, lists among them
    build: Callable[[Mapping[str, Any]], tuple[Agent, float | None]]  # and the variation it is tuned by
    takes_grids: bool  # whether points that differ in numbers run together


def read_agent_table(path: str, content: Mapping[str, Any], facts: Facts) -> AgentTable:
    """Return an agent's table, in which the tables of its parts are made."""
    given = dict(content)
    algorithm = ALGORITHMS[_choice(path, "algorithm", given, "an agent", ALGORITHMS)]
    _require_problem(f"{path}.algorithm", algorithm, facts.environment)
    tuned = given.pop("tuned", False)
    if not isinstance(tuned, bool):
        raise ArgumentError(f"{path}.tuned", "be true or false", tuned)
    maker = algorithm.tuned if tuned else algorithm.recipe
    owner = f"{algorithm.name}.tuned" if tuned else algorithm.name
    parameters = inspect.signature(maker).parameters
    unused = RUN["variation"]
    uses_variation = "variations" in parameters or parameters.get("variation", unused) != unused
    variation = None
    if "base" in given and algorithm.wraps:  # one agent, or `arms`: all combinations of listed values
        base_path = f"{path}.base"
        table = read_agent_table(base_path, require_table(base_path, given["base"]), facts)
        lists = lists_in(base_path, table.values)
        for key, values in lists.items():
            if not algorithm.takes_arms:
                raise ArgumentError(f"{base_path}.{key}", "be a single value in a base", values)
        bases = [table.build({**table.values, **chosen}) for chosen in _combinations(lists)]
        given["base"] = tuple(agent for agent, _ in bases) if algorithm.takes_arms else bases[0][0]
        variation = bases[0][1]
    for kind in ("detector", "forgetting", "exploration"):
        if kind in parameters and isinstance(given.get(kind), dict):
            given[kind] = _make_member(f"{path}.{kind}", kind, given[kind], facts.num_episodes)

    def build(values: Mapping[str, Any]) -> tuple[Agent, float | None]:
        values, key = dict(values), f"{path}.variation_scale"
        scale = require_number(key, values.pop("variation_scale", 1.0), at_least=0)
        if "variation_scale" in given and not uses_variation:
            expected = "go with a form that needs the variation, such as one with tuned = true"
            raise ArgumentError(key, expected, scale, owner)
        known = facts.known(algorithm.problem, scale)
        agent = build_from_table(maker, values, path=path, owner=owner, known=known)
        return agent, known["variation"]() if uses_variation else variation

    return AgentTable(given, build, algorithm.takes_grids and not tuned)


def _require_problem(path: str, algorithm: Algorithm, environment: Environment) -> None:
    """Refuse an algorithm for bandits in an MDP, and name the most similar one for MDPs."""
    if algorithm.problem != "linear bandit" or environment.spec.num_states == environment.spec.horizon == 1:
        return
    problem = "average reward" if isinstance(environment, ContinuingMdp) else "linear MDP"

    def likeness(other: Algorithm) -> tuple[bool, ...]:
        alike = other.forgetting == algorithm.forgetting, other.exploration == algorithm.exploration
        return *alike, other.forgetting != "none"

    alike = max((other for other in ALGORITHMS.values() if other.problem == problem), key=likeness)
    got = f"{algorithm.name!r}, which is for bandits"
    raise ArgumentError(path, f"be one for MDPs, such as {alike.name!r}", algorithm.name, got)


def _choice(path: str, key: str, given: dict[str, Any], owner: str, known: Mapping[str, Any]) -> str:
    """Remove and return the key that names the maker of a table."""
    if key not in given:
        raise ValueError(f"{path}.{key} is missing: {owner} needs it, one of {', '.join(known)}")
    return require_choice(f"{path}.{key}", given.pop(key), list(known))


def in_episodes(path: str, value: Any, num_episodes: int, before: Any = None) -> Any:
    """Return a field with percentages as episodes, rounded down; above zero they are at least one.

    `"50%+1"` is one episode more. In a list, `"+1"` is one episode after the one `before`, `"+10%"` a share.
    """
    if isinstance(value, list):
        numbers: list[Any] = []
        for item in value:
            numbers.append(in_episodes(path, item, num_episodes, *numbers[-1:]))
        return numbers
    if not isinstance(value, str):
        return value
    match = _PLACE.fullmatch(value)
    if match is None or Decimal(match["share"] or 0) > 100:
        raise ArgumentError(path, EXPECTED_EPISODES, value)
    start = before if match["after"] or match["distance"] else 0
    if not isinstance(start, (int, float)):
        raise ArgumentError(path, EXPECTED_EPISODES, value, f"{value!r} after nothing")
    if match["distance"]:
        return start + int(match["distance"])
    share = Decimal(match["share"])
    return start + max(Fraction(share) * num_episodes // 100, int(share > 0)) + int(match["more"] or 0)


def _is_place(value: Any) -> bool:
    """Return whether a value has percentages or distances."""
    if isinstance(value, list):
        return any(map(_is_place, value))
    return isinstance(value, str) and _PLACE.fullmatch(value) is not None


class Point(NamedTuple):
    """One agent of a grid."""

    agent: Agent
    values: Mapping[str, Any]  # one of each list
    variation: float | None = None  # that its tuning used


Grids = Iterator[tuple[str, dict[str, Point]]]  # points that run as one program, by their labels


def grids_of_table(path: str, label: str, table: AgentTable, *, at_most: int) -> Grids:
    """Yield all combinations of the listed values; `at_most` so many run together."""
    lists = lists_in(path, table.values)
    numeric = {key for key, values in lists.items() if {type(value) for value in values} <= {int, float}}
    numbers = {key: values for key, values in lists.items() if table.takes_grids and key in numeric}
    for chosen in _combinations({key: values for key, values in lists.items() if key not in numbers}):
        points = [{key: (chosen | point)[key] for key in lists} for point in _combinations(numbers)]
        for first in range(0, len(points), at_most):
            grid = {}
            for values in points[first : first + at_most]:
                agent, variation = table.build({**table.values, **values})
                grid[_label(label, values)] = Point(agent, values, variation)
            yield _label(label, chosen), grid


def grids_of_agent(path: str, label: str, agent: Agent, *, at_most: int) -> Grids:
    """Yield the points of an agent with a grid in its numbers, as `grids_of_table` does."""
    agents = expand_grid(agent)
    tables = [extract_parameters(to_config(point)) for point in agents]
    varied = [name for name in tables[0] if len({table[name] for table in tables}) > 1]
    values = ({name: table[name] for name in varied} for table in tables)
    by_label = {_label(label, own): Point(point, own) for point, own in zip(agents, values, strict=True)}
    if len(by_label) < len(agents):
        raise ArgumentError(path, "be a grid of different agents", agent)
    for first in range(0, len(by_label), at_most):
        yield label, dict([*by_label.items()][first : first + at_most])


def lists_in(path: str, table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of a table, after a check of their values."""
    lists = {key: value for key, value in table.items() if isinstance(value, list)}
    for key, values in lists.items():
        if not values or any(isinstance(value, (list, dict)) for value in values):
            raise ArgumentError(f"{path}.{key}", "be a value, or a list of values to try", values)
        if any(value in values[:index] for index, value in enumerate(values)):
            raise ArgumentError(f"{path}.{key}", "list different values", values)
    return lists


def _combinations(lists: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield all combinations of one value of each list; the last list changes fastest."""
    return (dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values()))


def _label(label: str, chosen: Mapping[str, Any]) -> str:
    """`OPT-WLSVI (rate=0.98, radius=0.3)`."""
    return f"{label} ({', '.join(f'{key}={value}' for key, value in chosen.items())})" if chosen else label
