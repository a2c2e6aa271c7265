"""Statements as data: a lemma is a function that returns both sides of its inequality on a recorded run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from numpy.typing import ArrayLike

from driftwise import parts
from driftwise.analysis.audit.subject import Subject, Unweighted
from driftwise.base.types import Radius

# "identity" and "always" may never fail; "probable" may fail with probability δ; "promised" may too, and is
# promised only where the radius is at least theory's.
StatementKind = Literal["identity", "always", "probable", "promised"]
StatementGroup = Literal["this agent", "mathematics"]  # what a violation calls into question
# Left ≤ right, or left = right of an identity, of one shape or broadcast; and where there is one, a bound on
# the left side that needs no proof.
Sides = tuple[ArrayLike, ArrayLike] | tuple[ArrayLike, ArrayLike, ArrayLike]
_WITH_RADIUS = parts.Ucb, parts.RandomisedUcb, parts.Thompson, parts.TruncatedThompson


def unmet_conditions(subject: Subject) -> dict[str, str]:
    """Return the conditions of statements that a subject does not meet, with the reason given for each."""
    agent, radius = subject.agent, subject.own_radius
    of_confidence, is_part = isinstance(radius, parts.ConfidenceRadius), isinstance(radius, Radius)
    known_radius = of_confidence or isinstance(radius, parts.LocalVariationRadius) or not is_part
    known_index = isinstance(agent.exploration, (*_WITH_RADIUS, parts.Unperturbed))
    bounded = parts.ExponentialWeights | Unweighted | parts.SlidingWindow
    conditions = {
        "optimism": (isinstance(agent.exploration, parts.Ucb), "the exploration is not UCB"),
        "gram_sq": (agent.exploration.uses_gram_sq, "the exploration makes no use of Λ̃"),
        "plays": (not subject.is_memory, "the mixture acts, not its memories"),
        "learnt_noise": (agent.noise is not None, "its noise is not learnt"),
        "successors": (subject.spec.horizon > 1, "there is only one step"),
        "noise": (subject.noise_scale > 0, "rewards are seen without noise"),
        "exact_rewards": (subject.noise_scale == 0, "rewards are noisy"),
        "known_index": (known_index, "no formula of this exploration's index is known here"),
        "known_radius": (known_radius, "no formula of its radius is known here"),
        "formula": (
            is_part or agent.noise is not None,
            "the radius is a number, which `theory_radius` compares with theory's",
        ),
        "radius": (isinstance(agent.exploration, _WITH_RADIUS), "the exploration has no radius"),
        "confidence": (of_confidence, "the radius is not made for a δ of its own"),
        "potential": (
            isinstance(subject.forgetting, bounded),
            "no bound on the sum of widths is known for this forgetting",
        ),
    }
    return {name: why for name, (met, why) in conditions.items() if not met}


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

    @property
    def formula(self) -> str:
        """The statement: the first line of the function's docstring."""
        return (self.check.__doc__ or "").strip().split("\n")[0]


LEMMAS: dict[str, Lemma] = {}


def lemma(where: str, kind: StatementKind, *needs: str, group: StatementGroup = "this agent") -> Callable:
    """Register a function as a statement that needs these conditions; its view is the annotation of `run`."""

    def register(check: Callable[[Any], Sides]) -> Callable[[Any], Sides]:
        view = get_type_hints(check)["run"]
        LEMMAS[check.__name__] = Lemma(check.__name__, where, kind, needs, group, view, check)
        return check

    return register
