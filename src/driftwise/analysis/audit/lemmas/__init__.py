"""Statements as data: a lemma is a function that returns both sides of its inequality on a recorded run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from numpy.typing import ArrayLike

# "identity" and "always" may never fail; "probable" may fail with probability δ; "promised" may too, and is
# promised only where the radius is at least theory's.
StatementKind = Literal["identity", "always", "probable", "promised"]
StatementGroup = Literal["this agent", "mathematics"]  # what a violation calls into question
# Left ≤ right, or left = right of an identity, of one shape or broadcast; and where there is one, a bound on
# the left side that needs no proof.
Sides = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Lemma:
    """A statement, its place in the paper, and the function `check` that evaluates it."""

    name: str
    where: str  # in the paper
    kind: StatementKind
    needs: tuple[str, ...]
    group: StatementGroup
    view: type  # the argument of `check`: `Snapshot`, `Trace`, `MixtureSnapshot` or `MixtureTrace`
    check: Callable[[Any], Sides]
    formula: str  # the first line of the docstring of `check`


LEMMAS: dict[str, Lemma] = {}


def lemma(where: str, kind: StatementKind, *needs: str, group: StatementGroup = "this agent") -> Callable:
    """Register a function as a statement that needs these conditions; its view is the annotation of `run`."""

    def register(check: Callable[[Any], Sides]) -> Callable[[Any], Sides]:
        view, formula = get_type_hints(check)["run"], (check.__doc__ or "").strip().split("\n")[0]
        LEMMAS[check.__name__] = Lemma(check.__name__, where, kind, needs, group, view, check, formula)
        return check

    return register


# Each module registers its statements when it is imported, in the order of tables.
from driftwise.analysis.audit.lemmas import updates_and_plans, inequalities, memories_of_mixtures, mathematics  # noqa: E402, F401, I001
