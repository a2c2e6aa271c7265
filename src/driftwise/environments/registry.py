"""The registry of environments: a maker's name and arguments become the environment's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from driftwise.base.arguments import bind, checked, checks_of
from driftwise.base.making import make
from driftwise.base.part import from_config, to_config
from driftwise.base.plugins import load_plugins, require_own_name
from driftwise.base.validation import computable, require_choice
from driftwise.environments.environment import Environment

P = ParamSpec("P")
E = TypeVar("E", bound=Environment)

Listener = Callable[[str, Callable[..., Environment]], None]

ENVIRONMENTS: dict[str, Callable[..., Environment]] = {}
_listeners: list[Listener] = []


def for_each_environment(listen: Listener) -> None:
    """Call a function with the name and the maker of every environment, whenever it is registered."""
    for name, maker in ENVIRONMENTS.items():
        listen(name, maker)
    _listeners.append(listen)


def build(name: str, **parameters: Any) -> Environment:
    """An environment by its maker's name; parts may be given as `to_config` describes them."""
    if name not in [*ENVIRONMENTS]:
        load_plugins()
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

    require_own_name("an environment", ENVIRONMENTS, make)
    ENVIRONMENTS[make.__name__] = made
    for listen in _listeners:
        listen(make.__name__, made)
    return made
