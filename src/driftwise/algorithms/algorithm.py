"""Algorithms: a recipe, its tuned form, and its row in the table of algorithms."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from driftwise.base import Agent, ArgumentError, Spec
from driftwise.base.plugins import Registry
from driftwise.base.schema import bind_arguments, build_from_table, format_call, get_group, get_signature
from driftwise.base.validation import overflow_errors, require_count, require_instance, require_number
from driftwise.theory.bounds import stated_bound

P = ParamSpec("P")
A = TypeVar("A", bound=Agent)
Tuning = Callable[..., dict[str, Any]]  # from the spec and the run to parameters of a recipe

RUN = {  # every tuned form takes these, whether it uses them or not
    name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    for name, default in (("num_episodes", 1), ("variation", 0.0))
}
FAMILIES = {  # the packages below this one, and the problems that their algorithms are for
    "linear_mdps": "linear MDP",
    "bandits": "linear bandit",
    "unknown_variation": "any",
    "tabular": "tabular MDP",
    "metric": "metric MDP",
    "average_reward": "average reward",
}
_COMMON_ARGUMENTS = r"""Args:
  num_episodes: $K$, episodes of the run, or rounds of a bandit.
  rate: $\eta \in (0, 1]$, often $\gamma$ in papers; 1 never forgets.
  length: $W$, the newest rounds, episodes or steps that count.
  period: $E$, rounds or episodes from one restart to the next.
  radius: $\beta \ge 0$.
  ridge: $\lambda > 0$.
  delta: $\delta$, the chance of failure.
  noise_scale: $\sigma \ge 0$.
  norm_bound: $S \ge \|\theta\|$.
  mu_bound: $C_\mu$ of the radius, `LinearMdp.mu_bound`; without it $\sqrt d$.
  radius_scale: a factor of $\beta_t$.
  beta_scale: $c$ of the radius, see `driftwise.theory.tuning`.
  norm: `"sandwich"` as above; `"single"` is the norm of $V_t^{-1}$, never smaller.
  information: `"count"` is $\ell_t$ of `lin_ucb`; `"determinant"` is what it bounds, smaller and dearer.
  clip: of values; `"tight"` clips step h to $[0, H-h+1]$, the others as above.
  epsilon: $\varepsilon \in [0, 1]$.
  scale: $c \ge 0$, one in the paper.
  log_term: $\iota > 0$, a logarithm in $1/\delta$, see the tuned form.
  drift_bonus: $b_\Delta \ge 0$, $\Delta_r + H\Delta_p$ for the variation in an epoch; 0 if unknown.
  low: the mean reward of a step that counts as 0.
  high: the mean reward of a step that counts as 1.
  base: any agent.
"""
_ARGUMENT = re.compile(r"^  ([\w, ]+): (.*(?:\n    .*)*)", re.MULTILINE)
_CITED = re.compile(r"^Reference: (.+? \d{4})", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"\n+(?=Args:\n|(?:When to use|When not|Reference|Deviations from the papers?): )")


@dataclass(eq=False, repr=False)
class Algorithm(Generic[P, A]):
    """A recipe. Call it with explicit parameters; call `tuned` with what theory needs instead.

    It takes a spec first, `environment.spec`, or the agent that it wraps, its `base`.
    """

    recipe: Callable[P, A]
    problem: str
    forgetting: str
    exploration: str
    bound: str
    paper: str
    takes_grids: bool  # whether every number of the recipe may be a grid
    takes_arms: bool  # whether its base may be several agents, one for each of a grid's points
    name: str = field(init=False)
    tuned: Callable[..., A] = field(init=False)

    def __post_init__(self) -> None:
        functools.update_wrapper(self, self.recipe)
        self.name = self.recipe.__name__
        self.set_tuning(None, ())

    def set_tuning(self, tuning: Tuning | None, names: tuple[str, ...]) -> Algorithm[P, A]:
        """Take the parameters `names` of the tuned form from a tuning; see `tuned_by`."""
        self.tuned = _tuned_form(inspect.unwrap(self.recipe), tuning, names)
        # `help` shows only the docstring of an object, so the tuned form is part of it.
        self.__doc__ = "\n\n".join(
            f"{format_call(name, form)}\n\n{inspect.cleandoc(form.__doc__ or '')}"
            for name, form in ((self.name, self.recipe), (f"{self.name}.tuned", self.tuned))
        )
        return self

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
        return find_algorithm, (self.name,)

    def __repr__(self) -> str:
        return f"<algorithm {self.name}>"


ALGORITHMS: Registry[Algorithm] = Registry("algorithm")


def find_algorithm(name: str) -> Algorithm:
    """Return the algorithm of that name, as what pickles hold of it."""
    return ALGORITHMS.find(name)


def build(spec: Spec, algorithm: str, /, **parameters: Any) -> Agent:
    """Return an agent by the name of its algorithm.

    A `base` may be a mapping with such a name and parameters, or a list of them where it may be several.
    """
    return _build(spec, algorithm, parameters)


def _build(spec: Spec, name: str, parameters: Mapping[str, Any], path: str = "") -> Agent:
    algorithm, arguments = ALGORITHMS.find(name), dict(parameters)
    if algorithm.wraps and "base" in arguments:
        base, inner = arguments["base"], f"{path}{'.' * bool(path)}base"
        several = algorithm.takes_arms and isinstance(base, list)
        arguments["base"] = [_base(spec, arm, inner) for arm in base] if several else _base(spec, base, inner)
    return build_from_table(algorithm.recipe, arguments, known={"spec": lambda: spec}, path=path)


def _base(spec: Spec, base: Any, path: str) -> Any:
    """Return the agent of a mapping; anything else is left to the recipe."""
    if not isinstance(base, Mapping):
        return base
    if "algorithm" not in base:
        raise ArgumentError("base", "name its algorithm", base)
    parameters = dict(base)
    return _build(spec, parameters.pop("algorithm"), parameters, path)


def register(
    forgetting: str,
    exploration: str,
    paper: str = "",
    bound: str = "",
    *,
    problem: str = "",
    takes_grids: bool | None = None,
    takes_arms: bool = False,
) -> Callable[[Callable[P, A]], Algorithm[P, A]]:
    """Register a recipe: the command line, the docs and the contract tests take it from the registry.

    Sections of its docstring need no blank lines between them; arguments that it leaves out are described as
    their group of keywords describes them.

    Args:
      forgetting, exploration, paper, bound, problem: columns of the table. By default the paper is the first
        of the section `Reference:`, the bound that of `driftwise.theory.bounds`, the problem the family's.
      takes_grids: whether every number may be a grid; by default not for an unknown variation.
      takes_arms: whether the base may be several agents.
    """

    def wrap(recipe: Callable[P, A]) -> Algorithm[P, A]:
        family = recipe.__module__.rpartition(".")[0].rpartition(".")[2]
        recipe.__doc__ = _complete_docstring(recipe)
        if not problem and family not in FAMILIES:
            raise ArgumentError("problem", f"be given for {recipe.__name__}, which is in no family", problem)
        papers = [paper] if paper else _CITED.findall(recipe.__doc__ or "")
        if not papers:
            raise ArgumentError("paper", f"be given for {recipe.__name__}, which has no reference", paper)
        stated = stated_bound(recipe.__name__)
        if (stated is None) == (bound == ""):
            given = f"bound of {recipe.__name__} must stand in the catalogue or with its recipe"
            raise ValueError(f"{given}, got {'neither' if stated is None else 'both'}")
        row = problem or FAMILIES[family], forgetting, exploration, stated.summary if stated else bound
        cited = paper or " ".join(papers[0].split())
        is_grid = family != "unknown_variation" if takes_grids is None else takes_grids
        algorithm = Algorithm(_validated(recipe, recipe.__name__), *row, cited, is_grid, takes_arms)
        ALGORITHMS.add(algorithm)
        return algorithm

    return wrap


def tuned_by(tuning: Tuning, *names: str) -> Callable[[Algorithm[P, A]], Algorithm[P, A]]:
    """Give a recipe a tuning, a function of the spec and the run that returns its parameters `names`."""
    return lambda algorithm: algorithm.set_tuning(tuning, names)


def _complete_docstring(recipe: Callable[..., Any]) -> str | None:
    """Return a docstring with its sections apart and the arguments it leaves out, from the group unpacked."""
    if recipe.__doc__ is None:
        return None
    text, group = _SECTION.sub("\n\n", inspect.cleandoc(recipe.__doc__)), get_group(recipe)
    shared = _arguments(_COMMON_ARGUMENTS) | _arguments(inspect.getdoc(group) or "" if group else "")
    own = _arguments(text)
    missing = [name for name in get_signature(recipe).parameters if name in shared and name not in own]
    if missing and not own:
        text = text.replace("When to use:", "Args:\n\nWhen to use:", 1)
    before, heading, after = text.partition("Args:")
    arguments, gap, rest = after.partition("\n\n")
    lines = "".join(f"\n  {name}: {shared[name]}" for name in missing)
    return f"{before}{heading}{arguments}{lines}{gap}{rest}"


def _arguments(docstring: str) -> dict[str, str]:
    """Return the descriptions of arguments by name, from lines `a, b: text` and their continuations."""
    entries = _ARGUMENT.findall(docstring.partition("Args:\n")[2].partition("\n\n")[0])
    return {name.strip(): description for names, description in entries for name in names.split(",")}


def _validated(maker: Callable[P, A], name: str) -> Callable[P, A]:
    """Return a maker that checks its arguments, above all the first: an environment is no spec."""
    expected = get_signature(maker)
    first = next(iter(expected.parameters))

    @functools.wraps(maker)
    def validated(*args: P.args, **kwargs: P.kwargs) -> A:
        bound = bind_arguments(name, expected, *args, **kwargs)
        require_instance(first, bound.arguments[first], Spec if first == "spec" else object)
        with overflow_errors(name, bound.arguments):
            return maker(*bound.args, **bound.kwargs)  # pyright: ignore[reportCallIssue]

    setattr(validated, "__signature__", expected)  # noqa: B010
    return validated


def _tuned_form(recipe: Callable[..., A], tuning: Tuning | None, names: tuple[str, ...]) -> Callable[..., A]:
    """Return the form of a recipe that takes the run, and what the tuning asks for, instead of `names`."""
    first, *options = get_signature(recipe).parameters.values()
    passed = {option.name: option for option in options if option.name not in names}
    of_tuning = get_signature(tuning).parameters if tuning else {}
    asked = {name: parameter for name, parameter in of_tuning.items() if name != "spec"}

    def tuned(start: Any, /, **arguments: Any) -> A:
        if "num_episodes" in arguments:
            require_count("num_episodes", arguments["num_episodes"])
        if "variation" in arguments:
            require_number("variation", arguments["variation"], at_least=0)
        chosen = {name: value for name, value in arguments.items() if name in passed}
        if tuning:
            numbers = tuning(start, **{name: value for name, value in arguments.items() if name in asked})
            chosen |= {name: value for name, value in numbers.items() if name in names}
        return recipe(start, **chosen)

    parameters = {first.name: first, **RUN, **asked, **passed, **asked}
    tuned.__name__, tuned.__qualname__ = "tuned", f"{recipe.__name__}.tuned"
    tuned.__doc__ = tuning.__doc__ if tuning else f"Same as `{recipe.__name__}`; needs no tuning."
    setattr(tuned, "__signature__", inspect.Signature(list(parameters.values())))  # noqa: B010
    return _validated(tuned, tuned.__qualname__)
