"""The registry: a recipe, its tuned form, and the row it has in the table of algorithms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from driftwise.base.agent import Agent
from driftwise.base.arguments import bind, call_text, signature
from driftwise.base.making import make
from driftwise.base.plugins import load_plugins, require_own_name
from driftwise.base.types import Spec
from driftwise.base.validation import (
    ArgumentError,
    computable,
    require_choice,
    require_count,
    require_kind,
    require_number,
)
from driftwise.theory.bounds.catalogue import stated_bound

P = ParamSpec("P")
A = TypeVar("A", bound=Agent)
Tuning = Callable[..., dict[str, Any]]
Parameters = dict[str, inspect.Parameter]


@dataclass(eq=False, repr=False)
class Algorithm(Generic[P, A]):
    """A recipe. Call it with explicit parameters; call `tuned` with what theory needs instead.

    It takes a spec first, the sizes of the problem (`environment.spec`); a meta-algorithm that can wrap any
    agent takes that agent first, its `base`.
    """

    recipe: Callable[P, A]
    tuned: Callable[..., A]
    problem: str
    forgetting: str
    exploration: str
    bound: str
    paper: str
    takes_grids: bool  # whether every number of the recipe may be a grid
    takes_arms: bool  # whether its base may be several agents, one for each of a grid's points
    name: str = field(init=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.recipe)
        self.name = self.recipe.__name__
        # What `help` shows of an object is its docstring alone, and the tuned form is a part of it.
        self.__doc__ = "\n\n".join(
            f"{call_text(name, form)}\n\n{inspect.cleandoc(form.__doc__ or '')}"
            for name, form in ((self.name, self.recipe), (f"{self.name}.tuned", self.tuned))
        )

    @property
    def wraps(self) -> bool:
        """Whether it takes an agent in the place of a spec."""
        return self.takes("base")

    def takes(self, parameter: str) -> bool:
        """Whether the recipe has a parameter of that name."""
        return parameter in inspect.signature(self.recipe).parameters

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> A:
        return self.recipe(*args, **kwargs)

    def __reduce__(self) -> tuple:
        return lookup, (self.name,)

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"


ALGORITHMS: dict[str, Algorithm] = {}
FAMILIES = {  # packages of this room, and the problems that their algorithms are for
    "linear_mdps": "linear MDP",
    "bandits": "linear bandit",
    "unknown_variation": "any",
    "tabular": "tabular MDP",
    "metric": "metric MDP",
    "average_reward": "average reward",
}


def lookup(name: str) -> Algorithm:
    """The algorithm of that name."""
    if name not in [*ALGORITHMS]:
        load_plugins()
    return ALGORITHMS[require_choice("algorithm", name, list(ALGORITHMS))]


def build(spec: Spec, algorithm: str, /, **parameters: Any) -> Agent:
    """An agent by the name of its algorithm.

    A `base` may be a mapping with such a name and parameters, or a list of them where it may be several.
    """
    return _build(spec, algorithm, parameters)


def _build(spec: Spec, algorithm: str, parameters: Mapping[str, Any], path: str = "") -> Agent:
    found, given = lookup(algorithm), dict(parameters)
    if found.wraps and "base" in given:
        inner = f"{path}{'.' * bool(path)}base"
        several = found.takes_arms and isinstance(given["base"], list)
        bases = [_base(spec, base, inner) for base in (given["base"] if several else [given["base"]])]
        given["base"] = bases if several else bases[0]
    return make(found.recipe, given, known={"spec": lambda: spec}, path=path)


def _base(spec: Spec, base: Any, path: str) -> Any:
    """The agent of a mapping; anything else is left to the recipe."""
    if not isinstance(base, Mapping):
        return base
    if "algorithm" not in base:
        raise ArgumentError("base", "name its algorithm", base)
    own = dict(base)
    return _build(spec, own.pop("algorithm"), own, path)


def register(
    *,
    tuning: Tuning | None = None,
    tunes: tuple[str, ...] = (),
    problem: str = "",
    forgetting: str,
    exploration: str,
    bound: str = "",
    paper: str,
    takes_grids: bool | None = None,
    takes_arms: bool = False,
) -> Callable[[Callable[P, A]], Algorithm[P, A]]:
    """Put a recipe into the table: from there the command line, the docs and the contract tests take it.

    Args:
      tuning: a function of the spec and of keywords, `num_episodes` and `variation` among them, that returns
        parameters of the recipe; None where theory has nothing to say about them.
      tunes: the parameters that are taken from what it returns.
      problem, forgetting, exploration, paper: columns of the table; the problem is the family's unless given.
      bound: another one, for an algorithm without a bound in `driftwise.theory.bounds`; else it is that.
      takes_grids: whether every number may be a grid, not where a recipe computes with it at once; those for
        an unknown variation do, unless it is given.
      takes_arms: whether the base may be several agents.
    """

    def wrap(recipe: Callable[P, A]) -> Algorithm[P, A]:
        family = recipe.__module__.rpartition(".")[0].rpartition(".")[2]
        if not problem and family not in FAMILIES:
            raise ArgumentError("problem", f"be given for {recipe.__name__}, which is in no family", problem)
        row = problem or FAMILIES[family], forgetting, exploration, _bound(recipe.__name__, bound), paper
        tuned = _tuned(recipe, tuning, tunes)
        grids = family != "unknown_variation" if takes_grids is None else takes_grids
        algorithm = Algorithm(_checked(recipe, recipe.__name__), tuned, *row, grids, takes_arms)
        require_own_name("an algorithm", ALGORITHMS, algorithm)
        ALGORITHMS[algorithm.name] = algorithm
        return algorithm

    return wrap


def _bound(algorithm: str, own: str) -> str:
    stated = stated_bound(algorithm)
    if (stated is None) == (own == ""):
        found = "neither" if stated is None else "both"
        raise ValueError(f"bound of {algorithm} must stand in the catalogue or with its recipe, got {found}")
    return own if stated is None else stated.summary


def _checked(maker: Callable[P, A], name: str) -> Callable[P, A]:
    """A maker whose arguments are held against its signature, above all the first.

    That is easily mistaken: an environment in the place of its spec is common.
    """
    expected = signature(maker)
    first = next(iter(expected.parameters))

    @functools.wraps(maker)
    def checked(*args: P.args, **kwargs: P.kwargs) -> A:
        given = bind(name, expected, *args, **kwargs)
        require_kind(first, given.arguments[first], Spec if first == "spec" else object)
        with computable(name, given.arguments):
            return maker(*given.args, **given.kwargs)

    setattr(checked, "__signature__", expected)  # noqa: B010
    return checked


def _tuned(recipe: Callable[..., A], tuning: Tuning | None, tunes: tuple[str, ...]) -> Callable[..., A]:
    """The form of a recipe that takes the run, and what the tuning asks for, instead of what it `tunes`.

    What both the tuning and the recipe take by one name is given to both.
    """
    first, *options = signature(recipe).parameters.values()
    passed: Parameters = {each.name: each for each in options if each.name not in tunes}
    asked: Parameters = dict(signature(tuning).parameters) if tuning else {}
    asked.pop("spec", None)

    def tuned(start: Any, /, **given: Any) -> A:
        if "num_episodes" in given:
            require_count("num_episodes", given["num_episodes"])
        if "variation" in given:
            require_number("variation", given["variation"], at_least=0)
        numbers = tuning(start, **_named(asked, given)) if tuning else {}
        return recipe(start, **_named(passed, given), **_named(tunes, numbers))

    parameters = {first.name: first, **RUN, **asked, **passed, **asked}
    tuned.__name__, tuned.__qualname__ = "tuned", f"{recipe.__name__}.tuned"
    tuned.__doc__ = tuning.__doc__ if tuning else f"`{recipe.__name__}`, of which nothing depends on the run."
    setattr(tuned, "__signature__", inspect.Signature(list(parameters.values())))  # noqa: B010
    return _checked(tuned, tuned.__qualname__)


RUN: Parameters = {  # what every tuned form takes, whether it uses it or not
    name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    for name, default in (("num_episodes", 1), ("variation", 0.0))
}


def _named(names: Container[str], given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}
