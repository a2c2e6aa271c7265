"""From what an experiment file says to environments and agents; what they take, their signatures say.

Every mistake is a `ValueError` that starts with the key it is about.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from driftwise.algorithms import ALGORITHMS
from driftwise.environments import ENVIRONMENTS, LinearMdp
from driftwise.experiments.experiment import Experiment, dotted, require_table, unknown_key
from driftwise.experiments.grids import Batch, batches_of
from driftwise.parts import CONFIGURABLE
from driftwise.types import Agent
from driftwise.validation import require_choice

EPISODES = ("at", "knots", "period")  # fields of drifts that may also be percentages of the run


def make_environment(experiment: Experiment, num_episodes: int | None = None) -> LinearMdp:
    """The environment of a run of this length (the experiment's own unless given)."""
    given = dict(experiment.environment)
    make = ENVIRONMENTS[_choice("environment", "type", given, "an environment", list(ENVIRONMENTS))]
    if "drift" in given:
        given["drift"] = _make_drift(given["drift"], num_episodes or experiment.episodes)
    return _build("environment", make, given)


def make_batches(experiment: Experiment, num_episodes: int | None = None) -> tuple[Batch, ...]:
    """All agents for a run of this length, in the order of the file; those of one batch run together."""
    num_episodes = num_episodes or experiment.episodes
    environment = make_environment(experiment, num_episodes)

    @functools.cache  # the same for all who ask, and not free
    def variation() -> float:
        return environment.variation(num_episodes).total

    made: list[Batch] = []
    owners: dict[str, str] = {}
    for label, table in experiment.agents.items():
        path, given = dotted("agents", label), dict(table)
        algorithm = ALGORITHMS[_choice(path, "algorithm", given, "an agent", list(ALGORITHMS))]
        tuned = given.pop("tuned", False)
        if not isinstance(tuned, bool):
            raise ValueError(f"{path}.tuned must be true or false, got {tuned!r}")
        implied: dict[str, Any] = {"spec": environment.spec}
        if tuned:
            implied |= dict(num_episodes=num_episodes, variation=variation())
        make = algorithm.tuned if tuned else algorithm.recipe
        owner = f"{algorithm.name}.tuned" if tuned else algorithm.name
        build = functools.partial(_build_agent, path, make, owner, implied)
        for batch in batches_of(path, label, given, build, one_by_one=tuned):
            for point in batch.points:
                if point in owners:
                    raise ValueError(f"{path} must differ from {owners[point]} in name, got {point!r} twice")
                owners[point] = path
            made.append(batch)
    return tuple(made)


def _build_agent(
    path: str, make: Callable[..., Agent], owner: str, implied: Mapping[str, Any], given: Mapping[str, Any]
) -> Agent:
    return _build(path, make, given, owner=owner, implied=implied)


def _make_drift(value: Any, num_episodes: int) -> Any:
    path = "environment.drift"
    given = dict(require_table(path, value))
    drifts = {name: cls for name, cls in CONFIGURABLE.items() if hasattr(cls, "mixture")}
    make = drifts[_choice(path, "type", given, "a drift", list(drifts))]
    resolved = {
        key: _in_episodes(f"{path}.{key}", item, num_episodes) if key in EPISODES else item
        for key, item in given.items()
    }
    try:
        return _build(path, make, resolved)
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
        raise ValueError(f"{path} must be episodes, or percentages from '0%' to '100%', got {value!r}")
    return max(int(share * num_episodes / 100), int(share > 0))


def _choice(path: str, key: str, given: dict[str, Any], owner: str, known: list[str]) -> str:
    """Take the key that says what the rest of a table is about."""
    if key not in given:
        raise ValueError(f"{path}.{key} is missing: {owner} needs it, one of {', '.join(known)}")
    return require_choice(f"{path}.{key}", given.pop(key), known)


def _build(
    path: str,
    make: Callable[..., Any],
    given: Mapping[str, Any],
    *,
    owner: str = "",
    implied: Mapping[str, Any] | None = None,
) -> Any:
    """Call `make` with a table's values, held against its signature; what it refuses is told by its key."""
    owner, implied = owner or make.__name__, implied or {}
    parameters = inspect.signature(make).parameters
    known = [name for name in parameters if name not in implied]
    for key in given:
        if key not in known:
            raise unknown_key(path, key, owner, known)
    for name in known:
        if name not in given and parameters[name].default is inspect.Parameter.empty:
            raise ValueError(f"{path}.{name} is missing: {owner} needs it")
    try:
        return make(**implied, **given)
    except ValueError as error:
        word = re.match(r"\w*", str(error))
        about_a_key = word is not None and word[0] in known
        raise ValueError(f"{path}{'.' if about_a_key else ': '}{error}") from None
