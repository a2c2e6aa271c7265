"""The registry: a recipe, its tuned form, and the row it has in the table of algorithms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, TypeVar

from driftwise.types import Agent, Spec
from driftwise.validation import require_choice, require_kind

P = ParamSpec("P")
Q = ParamSpec("Q")
A = TypeVar("A", bound=Agent)


@dataclass(eq=False, repr=False)
class Algorithm(Generic[P, Q, A]):
    """A recipe. Call it with explicit parameters; call `tuned` with what theory needs instead."""

    recipe: Callable[P, A]
    tuned: Callable[Q, A]
    problem: str
    forgetting: str
    exploration: str
    bound: str
    paper: str
    name: str = field(init=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.recipe)
        self.name = self.recipe.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> A:
        return self.recipe(*args, **kwargs)

    def __reduce__(self) -> tuple:
        return lookup, (self.name,)

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"


ALGORITHMS: dict[str, Algorithm] = {}


def lookup(name: str) -> Algorithm:
    """The algorithm of that name."""
    return ALGORITHMS[require_choice("algorithm", name, list(ALGORITHMS))]


def _first_a_spec(build: Callable[P, A]) -> Callable[P, A]:
    """Whatever else an algorithm takes, it takes a spec first; an environment in its place is common."""

    @functools.wraps(build)
    def checked(*args: P.args, **kwargs: P.kwargs) -> A:
        for spec in (*args[:1], *(kwargs[name] for name in ("spec",) if name in kwargs)):
            require_kind("spec", spec, Spec)
        return build(*args, **kwargs)

    return checked


def register(
    *,
    tuned: Callable[Q, A],
    problem: str,
    forgetting: str,
    exploration: str,
    bound: str,
    paper: str,
) -> Callable[[Callable[P, A]], Algorithm[P, Q, A]]:
    """Put a recipe into the table: from there the command line, the docs and the contract tests take it."""

    def wrap(recipe: Callable[P, A]) -> Algorithm[P, Q, A]:
        algorithm = Algorithm(
            _first_a_spec(recipe), _first_a_spec(tuned), problem, forgetting, exploration, bound, paper
        )
        ALGORITHMS[algorithm.name] = algorithm
        return algorithm

    return wrap
