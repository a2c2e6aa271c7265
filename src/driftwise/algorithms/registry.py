"""The registry: a recipe, its tuned form, and the row it has in the table of algorithms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, ParamSpec, TypeVar

from driftwise.types import Agent

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

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"


ALGORITHMS: dict[str, Algorithm] = {}


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
        algorithm = Algorithm(recipe, tuned, problem, forgetting, exploration, bound, paper)
        ALGORITHMS[algorithm.name] = algorithm
        return algorithm

    return wrap
