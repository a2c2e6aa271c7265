"""The registry: a recipe, its tuned form, and the row it has in the table of algorithms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from driftwise.base.agent import Agent
from driftwise.base.making import make
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_choice, require_kind

P = ParamSpec("P")
Q = ParamSpec("Q")
A = TypeVar("A", bound=Agent)


@dataclass(eq=False, repr=False)
class Algorithm(Generic[P, Q, A]):
    """A recipe. Call it with explicit parameters; call `tuned` with what theory needs instead.

    It takes a spec first; a meta-algorithm that can wrap any agent takes that agent first, its `base`.
    """

    recipe: Callable[P, A]
    tuned: Callable[Q, A]
    problem: str
    forgetting: str
    exploration: str
    bound: str
    paper: str
    takes_arms: bool = False  # whether its base may be several agents, one for each of a grid's points
    name: str = field(init=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.recipe)
        self.name = self.recipe.__name__

    @property
    def takes_grids(self) -> bool:
        """Whether every number of the recipe may be a grid: not where theory computes with them at once."""
        return self.tuned is not self.recipe

    @property
    def wraps(self) -> bool:
        """Whether it takes an agent in the place of a spec."""
        return "base" in inspect.signature(self.recipe).parameters

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


def build(spec: Spec, algorithm: str, /, **parameters: Any) -> Agent:
    """An agent by the name of its algorithm; a `base` may be a mapping with such a name and parameters."""
    return _build(spec, algorithm, parameters)


def _build(spec: Spec, algorithm: str, parameters: Mapping[str, Any], path: str = "") -> Agent:
    found, given = lookup(algorithm), dict(parameters)
    if found.wraps and isinstance(given.get("base"), Mapping):
        base = dict(given["base"])
        if "algorithm" not in base:
            raise ArgumentError("base", "name its algorithm", base)
        given["base"] = _build(spec, base.pop("algorithm"), base, f"{path}{'.' * bool(path)}base")
    return make(found.recipe, given, known={"spec": lambda: spec}, path=path)


def _first_checked(make: Callable[P, A]) -> Callable[P, A]:
    """What comes first is easily mistaken: an environment in the place of its spec is common."""
    first = next(iter(inspect.signature(make).parameters))
    kind = Spec if first == "spec" else object

    @functools.wraps(make)
    def checked(*args: P.args, **kwargs: P.kwargs) -> A:
        for given in (*args[:1], *(kwargs[name] for name in (first,) if name in kwargs)):
            require_kind(first, given, kind)
        return make(*args, **kwargs)

    return checked


def register(
    *,
    tuned: Callable[Q, A] | None = None,
    problem: str,
    forgetting: str,
    exploration: str,
    bound: str,
    paper: str,
    takes_arms: bool = False,
) -> Callable[[Callable[P, A]], Algorithm[P, Q, A]]:
    """Put a recipe into the table: from there the command line, the docs and the contract tests take it.

    Without a `tuned` form of its own, the recipe asks for nothing but what theory needs, and is it.
    """

    def wrap(recipe: Callable[P, A]) -> Algorithm[P, Q, A]:
        make = _first_checked(recipe)
        best: Any = make if tuned is None else _first_checked(tuned)
        algorithm = Algorithm(make, best, problem, forgetting, exploration, bound, paper, takes_arms)
        ALGORITHMS[algorithm.name] = algorithm
        return algorithm

    return wrap
