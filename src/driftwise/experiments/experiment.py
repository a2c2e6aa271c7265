"""An experiment is data: the content of its file, checked at the top level.

From Python, the environments and agents themselves can take the place of their tables.

The tables of environments and agents are held against signatures where they are made: see `building`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from driftwise.base.agent import Agent
from driftwise.base.making import dotted, make
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments import Environment

Table = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """Agents that meet the same drifting environments, and the sizes at which they do."""

    name: str
    summary: str  # what happens
    finding: str | None = None  # what is seen at these sizes
    episodes: int
    runs: int
    seed: int = 0
    import_: tuple[str, ...] = ()  # modules whose algorithms, environments and parts it uses
    record_every: int = 1
    environment: Table | Environment | None = None  # the only one, or
    environments: Mapping[str, Table | Environment] | None = None  # several, by what tables and figures show
    agents: Mapping[str, Table | Agent | Callable[[Environment], Agent]]  # likewise

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"\w[\w.-]*", self.name):  # a folder's name
            raise ArgumentError("name", 'be letters, digits, "_", "-" and "."', self.name)
        _require_line("summary", self.summary)
        if self.finding is not None:
            _require_line("finding", self.finding)
        for key in ("episodes", "runs", "record_every"):
            require_count(key, getattr(self, key), bits=32)  # what an address of randomness holds
        require_count("seed", self.seed, at_least=0)
        if not isinstance(self.import_, (list, tuple)):
            raise ArgumentError("import", "be a list of modules", self.import_)
        object.__setattr__(self, "import_", tuple(self.import_))
        if self.environment is None and self.environments is None:
            raise ValueError("environment is missing: an experiment needs it, or several in environments")
        if self.environment is not None and not isinstance(self.environment, Environment):
            require_table("environment", self.environment)
        if self.environments is not None:
            _require_tables("environments", self.environments, lambda value: isinstance(value, Environment))
            if self.environment:
                got = "a table environment as well"
                raise ArgumentError("environments", "be all there are", self.environments, got)
        _require_tables("agents", self.agents, lambda value: isinstance(value, Agent) or callable(value))

    @property
    def config(self) -> Table:
        """The content of its file: `experiment_of` makes the same experiment of it.

        Environments and agents that were made in Python, and not from tables, are left out.
        """
        given = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        told = {name: value for name, value in given.items() if value != getattr(Experiment, name, None)}
        return {name.removesuffix("_"): value for name, value in told.items() if _is_plain(value)}


def experiment_of(config: Mapping[str, Any]) -> Experiment:
    """The experiment that a file's content describes; a mistake at the top level is a `ValueError`."""
    return make(Experiment, config, owner="an experiment")


def require_table(path: str, value: Any) -> Table:
    """A table of the file."""
    if not isinstance(value, dict):
        raise ArgumentError(path, "be a table", value)
    return value


def _require_line(path: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ArgumentError(path, "be one line of text", value)


def _is_plain(value: Any) -> bool:
    """Whether a file could say it."""
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    return not isinstance(value, (Agent, Environment)) and not callable(value)


def _require_tables(path: str, value: Any, is_made: Callable[[Any], bool]) -> None:
    if not require_table(path, value):
        raise ArgumentError(path, "have at least one table", value, "none")
    for label, table in value.items():
        _require_line(f"a name in {path}", label)
        if label.startswith("_"):  # which keeps a curve's name out of figures
            raise ArgumentError(f"a name in {path}", "not start with '_'", label)
        if not is_made(table):
            require_table(dotted(path, label), table)
