"""An experiment is data: this is what its file says, checked by a schema.

The schema knows the top level. What an environment, a drift or an algorithm takes, its own signature says;
that is checked where it is built: see `building`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError, ValidationInfo, model_validator

from driftwise.base.making import dotted, unknown_key
from driftwise.base.validation import ArgumentError, require_count


def require_table(path: str, value: Any) -> dict[str, Any]:
    """A table of the file."""
    if not isinstance(value, dict):
        raise ArgumentError(path, "be a table", value)
    return value


def _require_line(path: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ArgumentError(path, "be one line of text", value)
    return value


def _require_name(path: str, value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\w[\w.-]*", value):  # it becomes a folder's name
        raise ArgumentError(path, 'be letters, digits, "_", "-" and "."', value)
    return value


def _require_tables(path: str, value: Any) -> dict[str, dict[str, Any]]:
    tables = require_table(path, value)
    if not tables:
        raise ArgumentError(path, "have at least one table", tables, "none")
    for label, table in tables.items():
        _require_line(f"a name in {path}", label)
        if label.startswith("_"):  # which keeps a curve's name out of figures
            raise ArgumentError(f"a name in {path}", "not start with '_'", label)
        require_table(dotted(path, label), table)
    return tables


def _checked(require: Callable[[str, Any], Any]) -> PlainValidator:
    def check(value: Any, info: ValidationInfo) -> Any:
        return require(str(info.field_name), value)

    return PlainValidator(check)


Line = Annotated[str, _checked(_require_line)]
Tables = Annotated[dict[str, dict[str, Any]], _checked(_require_tables)]
Count = Annotated[int, _checked(partial(require_count, bits=32))]  # what an address of randomness holds


class Experiment(BaseModel):
    """Agents that meet the same drifting environments, and the sizes at which they do."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, _checked(_require_name)]
    summary: Line  # what happens
    finding: Line = ""  # what is seen at these sizes
    episodes: Count
    runs: Count
    seed: Annotated[int, _checked(partial(require_count, at_least=0))] = 0
    record_every: Count = 1
    environment: Annotated[dict[str, Any], _checked(require_table)] = {}  # the only one, or
    environments: Tables = {}  # several, by what tables and figures show
    agents: Tables  # likewise

    @property
    def config(self) -> dict[str, Any]:
        """What its file says: `experiment_of` makes the same experiment of it."""
        return self.model_dump(exclude_unset=True)

    @model_validator(mode="after")
    def _some_environment(self) -> Experiment:
        if self.environment and self.environments:
            raise ArgumentError(
                "environments", "be all there are", self.environments, "a table environment as well"
            )
        if "environment" not in self.model_fields_set and not self.environments:
            raise ValueError("environment is missing: an experiment needs it, or several in environments")
        return self


def experiment_of(config: Mapping[str, Any]) -> Experiment:
    """The experiment that a file's content describes; a mistake at the top level is a `ValueError`."""
    try:
        return Experiment.model_validate(dict(config))
    except ValidationError as error:
        found = error.errors()
    # A misspelt key is also a missing one: the former says more.
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")
    key = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        raise unknown_key("", key, "an experiment", list(Experiment.model_fields))
    if first["type"] == "missing":
        raise ValueError(f"{key} is missing: an experiment needs it")
    raise ValueError(str(first.get("ctx", {}).get("error", first["msg"])))
