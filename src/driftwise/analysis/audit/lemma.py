"""Statements as data: a lemma is a function that returns both sides of its inequality on a recorded run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from numpy.typing import ArrayLike

from driftwise.analysis.audit.subject import Subject, Unweighted
from driftwise.base.types import Radius
from driftwise.base.validation import ArgumentError, suggest_name
from driftwise.parts import (
    ConfidenceRadius,
    ExponentialWeights,
    LocalVariationRadius,
    RandomisedUcb,
    SlidingWindow,
    Thompson,
    TruncatedThompson,
    Ucb,
    Unperturbed,
)

# "identity" and "always" may never fail; "probable" may fail with probability δ; "promised" may too, and is
# promised only where the radius is at least theory's.
StatementKind = Literal["identity", "always", "probable", "promised"]
StatementGroup = Literal["this agent", "mathematics"]  # what a violation calls into question
Sides = tuple[ArrayLike, ArrayLike]  # left ≤ right, of one shape or broadcast; of an identity, equals
_WithRadius = Ucb | RandomisedUcb | Thompson | TruncatedThompson

# conditions of statements, each with the reason given where it is not met
CONDITIONS: dict[str, tuple[Callable[[Subject], bool], str]] = {
    "optimism": (lambda subject: isinstance(subject.agent.exploration, Ucb), "the exploration is not UCB"),
    "gram_sq": (lambda subject: subject.agent.exploration.uses_gram_sq, "the exploration makes no use of Λ̃"),
    "plays": (lambda subject: not subject.is_memory, "the mixture acts, not its memories"),
    "learnt_noise": (lambda subject: subject.agent.noise is not None, "its noise is not learnt"),
    "successors": (lambda subject: subject.spec.horizon > 1, "there is only one step"),
    "noise": (lambda subject: subject.noise_scale > 0, "rewards are seen without noise"),
    "exact_rewards": (lambda subject: subject.noise_scale == 0, "rewards are noisy"),
    "known_index": (
        lambda subject: isinstance(subject.agent.exploration, _WithRadius | Unperturbed),
        "no formula of this exploration's index is known here",
    ),
    "known_radius": (
        lambda subject: (
            isinstance(subject.own_radius, ConfidenceRadius | LocalVariationRadius)
            or not isinstance(subject.own_radius, Radius)
        ),
        "no formula of its radius is known here",
    ),
    "formula": (
        lambda subject: isinstance(subject.own_radius, Radius) or subject.agent.noise is not None,
        "the radius is a number, which `theory_radius` compares with theory's",
    ),
    "radius": (
        lambda subject: isinstance(subject.agent.exploration, _WithRadius),
        "the exploration has no radius",
    ),
    "confidence": (
        lambda subject: isinstance(subject.own_radius, ConfidenceRadius),
        "the radius is not made for a δ of its own",
    ),
    "potential": (
        lambda subject: isinstance(subject.forgetting, ExponentialWeights | Unweighted | SlidingWindow),
        "no bound on the sum of widths is known for this forgetting",
    ),
}


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
    trivial: Callable[[Any], ArrayLike] | None  # a bound on the left side that needs no proof

    @property
    def formula(self) -> str:
        """The statement: the first line of the function's docstring."""
        return (self.check.__doc__ or "").strip().split("\n")[0]

    def unmet_conditions(self, subject: Subject) -> str:
        """Return the conditions that the subject does not meet, in words; empty if it meets all."""
        return "; ".join(why for met, why in map(CONDITIONS.__getitem__, self.needs) if not met(subject))


LEMMAS: dict[str, Lemma] = {}


def lemma(
    where: str,
    kind: StatementKind,
    *needs: str,
    group: StatementGroup = "this agent",
    trivial: Callable[[Any], ArrayLike] | None = None,
) -> Callable:
    """Register a function as a statement under its name; the annotation of `run` is its view."""
    for need in needs:
        if need not in CONDITIONS:
            raise ArgumentError("needs", "name conditions", need, f"{need!r}{suggest_name(need, CONDITIONS)}")

    def register(check: Callable[[Any], Sides]) -> Callable[[Any], Sides]:
        view = get_type_hints(check)["run"]
        LEMMAS[check.__name__] = Lemma(check.__name__, where, kind, needs, group, view, check, trivial)
        return check

    return register
