"""From the tables of an experiment file to environments and agents, each held against a signature.

Every mistake is a `ValueError` that starts with the key it is about.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from driftwise.algorithms import ALGORITHMS
from driftwise.algorithms.registry import RUN, Algorithm
from driftwise.base.making import make
from driftwise.base.part import CONFIGURABLE
from driftwise.base.types import Forgetting, Variation
from driftwise.base.validation import ArgumentError, require_choice, require_number
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from driftwise.environments.corruption import Corruption
from driftwise.environments.drift import Drift
from driftwise.environments.paths import ParameterPath
from driftwise.experiments.experiment import require_table
from driftwise.experiments.grids import Built, combinations, lists_in
from driftwise.experiments.places import in_episodes, is_place
from driftwise.parts.exploration import Exploration

MEMBERS = {
    "drift": Drift,
    "path": ParameterPath,
    "arms": "sampler",
    "corruption": Corruption,
    "detector": "detect",
    "forgetting": Forgetting,
    "exploration": Exploration,
}  # keys of tables, and their kinds: a class, or the attribute that tells who keeps a protocol

OF_PAIRS = ("tabular MDP", "metric MDP")  # problems in which variation is that of the pair that moves most


def make_environment(path: str, table: Mapping[str, Any] | Environment, num_episodes: int) -> Environment:
    """The environment of a table, for a run of this length; or as it is, if it was made already."""
    if isinstance(table, Environment):
        return table
    given = dict(table)
    maker = ENVIRONMENTS[_choice(path, "type", given, "an environment", list(ENVIRONMENTS))]
    made = _make_members(path, given, num_episodes)
    return make(maker, made, path=path, known={"num_rounds": lambda: num_episodes})


def _make_members(path: str, given: Mapping[str, Any], num_episodes: int) -> dict[str, Any]:
    """A table with the tables in it made: drifts, also a list of them, paths and arms."""
    made = dict(given)
    for key, value in given.items():
        where = f"{path}.{key}"
        if key in MEMBERS:
            made[key] = _make_member(where, key, value, num_episodes)
        elif key == "drifts" and isinstance(value, list):
            made[key] = [
                _make_member(f"{where}.{number}", "drift", each, num_episodes)
                for number, each in enumerate(value)
            ]
    return made


def parts_of(kind: str) -> dict[str, type]:
    """The registered parts that a table of this key may name, by their names."""
    told = MEMBERS[kind]
    return {
        name: cls
        for name, cls in CONFIGURABLE.items()
        if (hasattr(cls, told) if isinstance(told, str) else issubclass(cls, told))
    }


def _make_member(path: str, kind: str, value: Any, num_episodes: int) -> Any:
    given = dict(require_table(path, value))
    makers = parts_of(kind)
    maker = makers[_choice(path, "type", given, f"{'an' * (kind == 'arms') or 'a'} {kind}", list(makers))]
    given = _make_members(path, given, num_episodes)
    resolved = {
        key: in_episodes(f"{path}.{key}", item, num_episodes) if _in_episodes(maker, key, item) else item
        for key, item in given.items()
    }
    try:
        return make(maker, resolved, path=path)
    except ValueError as error:
        if resolved == given:
            raise
        raise ValueError(f"{error}, of a run of {num_episodes} episodes") from None


def _in_episodes(maker: type, key: str, value: Any) -> bool:
    """Whether a field counts episodes; of a drift or path that names none, each that says so does."""
    if not issubclass(maker, (Drift, ParameterPath)):
        return False
    return is_place(value) if maker.episode_fields is None else key in maker.episode_fields


class Facts:
    """Facts about a run that makers of agents may ask for by the names of their arguments."""

    def __init__(self, environment: Environment, num_episodes: int) -> None:
        self.environment, self.num_episodes = environment, num_episodes
        self._variation = functools.cache(functools.partial(environment.variation, num_episodes))

    def known(self, problem: str, scale: float) -> dict[str, Callable[[], Any]]:
        """The facts for an algorithm of that problem, as if the world varied `scale` times as much."""
        of_pairs = problem in OF_PAIRS and isinstance(self.environment, LinearMdp)  # others have but one norm
        options = {"norm": "pairs"} if of_pairs else {}
        return {
            "spec": lambda: self.environment.spec,
            "num_episodes": lambda: self.num_episodes,
            "variations": lambda: _scaled(self._variation(**options), scale),
            "variation": lambda: scale * self._variation(**options).total,
            "changes": lambda: self.environment.changes(self.num_episodes),
            "diameter": self._diameter,
            "mu_bound": self._mu_bound,
            "num_kernels": self._num_kernels,
        }

    def _diameter(self) -> float:
        if not isinstance(self.environment, ContinuingMdp):
            expected = "be without episodes, which the agent needs"
            raise ArgumentError("environment", expected, self.environment)
        return self.environment.diameter(self.num_episodes)

    def _mu_bound(self) -> float | None:
        return self.environment.mu_bound if isinstance(self.environment, LinearMdp) else None

    def _num_kernels(self) -> int:
        if not isinstance(self.environment, LinearMdp):
            raise ArgumentError(
                "environment", "have kernels of anchors, which the agent needs", self.environment
            )
        return len(self.environment.mu)


def _scaled(variation: Variation, scale: float) -> Variation:
    return Variation(scale * variation.reward, scale * variation.transition)


class AgentTable(NamedTuple):
    """An agent's table, and how to make an agent of it."""

    values: Mapping[str, Any]  # those of its algorithm, lists among them
    build: Callable[[Mapping[str, Any]], Built]  # from one value for each list
    takes_grids: bool  # whether points that differ in numbers run together


def read_agent(path: str, table: Mapping[str, Any], facts: Facts) -> AgentTable:
    """An agent's table with its algorithm found and the tables in it made."""
    given = dict(table)
    algorithm = ALGORITHMS[_choice(path, "algorithm", given, "an agent", list(ALGORITHMS))]
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
    if "base" in given and algorithm.wraps:
        bases = _make_bases(f"{path}.base", given["base"], facts, arms=algorithm.takes_arms)
        given["base"] = tuple(each.agent for each in bases) if algorithm.takes_arms else bases[0].agent
        variation = bases[0].variation
    for kind in ("detector", "forgetting", "exploration"):
        if kind in parameters and isinstance(given.get(kind), dict):
            given[kind] = _make_member(f"{path}.{kind}", kind, given[kind], facts.num_episodes)

    def build(values: Mapping[str, Any]) -> Built:
        values, key = dict(values), f"{path}.variation_scale"
        scale = require_number(key, values.pop("variation_scale", 1.0), at_least=0)
        if "variation_scale" in given and not uses_variation:
            expected = "go with a form that needs the variation, such as one with tuned = true"
            raise ArgumentError(key, expected, scale, owner)
        known = facts.known(algorithm.problem, scale)
        agent = make(maker, values, path=path, owner=owner, known=known)
        return Built(agent, known["variation"]() if uses_variation else variation)

    return AgentTable(given, build, algorithm.takes_grids and not tuned)


def _require_problem(path: str, algorithm: Algorithm, environment: Environment) -> None:
    """Refuse an algorithm for bandits in an MDP, and name the one for it that is most alike."""
    sizes = environment.spec.num_states, environment.spec.horizon
    if algorithm.problem != "linear bandit" or sizes == (1, 1):
        return
    problem = "average reward" if isinstance(environment, ContinuingMdp) else "linear MDP"
    alike = max(
        (each for each in ALGORITHMS.values() if each.problem == problem),
        key=lambda each: (
            each.forgetting == algorithm.forgetting,
            each.exploration == algorithm.exploration,
            each.forgetting != "none",
        ),
    )
    found = f"{algorithm.name!r}, which is for bandits"
    raise ArgumentError(path, f"be one for MDPs, such as {alike.name!r}", algorithm.name, found)


def _make_bases(path: str, value: Any, facts: Facts, *, arms: bool) -> list[Built]:
    """The agent that another one wraps; or all of them, if what is listed are `arms`, in all combinations."""
    table = read_agent(path, require_table(path, value), facts)
    lists = lists_in(path, table.values)
    for key, values in lists.items():
        if not arms:
            raise ArgumentError(f"{path}.{key}", "be a single value in a base", values)
    return [table.build({**table.values, **chosen}) for chosen in combinations(lists)]


def _choice(path: str, key: str, given: dict[str, Any], owner: str, known: list[str]) -> str:
    """Take the key that says what the rest of a table is about."""
    if key not in given:
        raise ValueError(f"{path}.{key} is missing: {owner} needs it, one of {', '.join(known)}")
    return require_choice(f"{path}.{key}", given.pop(key), known)
