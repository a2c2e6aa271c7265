"""The registry of environments: a maker's name and arguments become the environment's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from driftwise.base.arguments import bind, checked, checks_of
from driftwise.base.making import make
from driftwise.base.part import from_config, to_config
from driftwise.base.validation import computable, require_choice
from driftwise.environments.environment import Environment

P = ParamSpec("P")
E = TypeVar("E", bound=Environment)

ENVIRONMENTS: dict[str, Callable[..., Environment]] = {}


def build(name: str, **parameters: Any) -> Environment:
    """An environment by its maker's name; parts may be given as `to_config` describes them."""
    maker = ENVIRONMENTS[require_choice("environment", name, list(ENVIRONMENTS))]
    return make(maker, {key: from_config(value) for key, value in parameters.items()})


def register(make: Callable[P, E]) -> Callable[P, E]:
    """Put a maker into the table; its arguments are checked, and kept in every environment it makes.

    Makers take keywords only. What their annotations say is checked: see `driftwise.base.arguments`.
    """
    signature, checks = inspect.signature(make), checks_of(make)

    @functools.wraps(make)
    def made(*args: P.args, **kwargs: P.kwargs) -> E:
        given = bind(make.__name__, signature, *args, **kwargs)
        with computable(make.__name__, given.arguments):
            environment = make(**checked(checks, given.arguments))  # pyright: ignore[reportCallIssue]
        given.apply_defaults()
        config = {name: to_config(value) for name, value in given.arguments.items()}
        return environment.described(make.__name__, config)

    ENVIRONMENTS[make.__name__] = made
    return made
