"""The registry of environments: a maker's name and arguments become the environment's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from driftwise.base.making import make
from driftwise.base.part import from_config, to_config
from driftwise.base.validation import require_choice
from driftwise.environments.environment import Environment

P = ParamSpec("P")
E = TypeVar("E", bound=Environment)

ENVIRONMENTS: dict[str, Callable[..., Environment]] = {}


def build(name: str, **parameters: Any) -> Environment:
    """An environment by its maker's name; parts may be given as `to_config` describes them."""
    maker = ENVIRONMENTS[require_choice("environment", name, list(ENVIRONMENTS))]
    return make(maker, {key: from_config(value) for key, value in parameters.items()})


def register(make: Callable[P, E]) -> Callable[P, E]:
    """Put a maker into the table, and into every environment it makes how that was made."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> E:
        environment = make(*args, **kwargs)
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        config = {name: to_config(value) for name, value in given.arguments.items()}
        return environment.described(make.__name__, config)

    ENVIRONMENTS[make.__name__] = made
    return made
