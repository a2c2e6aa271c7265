"""Statements as data: a lemma is a function that gives both sides of its inequality on a live run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from numpy.typing import ArrayLike

from driftwise.analysis.audit.subject import Subject
from driftwise.base.types import Radius
from driftwise.base.validation import ArgumentError, nearest
from driftwise.parts.exploration import (
    RandomisedUcb,
    Thompson,
    TruncatedThompson,
    Ucb,
    Unperturbed,
)
from driftwise.parts.forgetting import (
    ExponentialWeights,
    NoForgetting,
    PeriodicRestart,
    RestartAt,
    SlidingWindow,
)
from driftwise.parts.radii import ConfidenceRadius, LocalVariationRadius

# An identity and what holds always may never fail. What is probable may fail with chance δ. What is promised
# may too, and is promised only where the radius is at least theory's.
Kind = Literal["identity", "always", "probable", "promised"]
Group = Literal["this agent", "mathematics"]  # what a violation would put in doubt
Sides = tuple[ArrayLike, ArrayLike]  # left ≤ right, of one shape or broadcast; of an identity, equals

# conditions of statements, and what to say where they are not met
CONDITIONS: dict[str, tuple[Callable[[Subject], bool], str]] = {
    "optimism": (lambda subject: isinstance(subject.agent.exploration, Ucb), "the exploration is not UCB"),
    "gram_sq": (lambda subject: subject.agent.exploration.uses_gram_sq, "the exploration makes no use of Λ̃"),
    "plays": (lambda subject: not subject.watching, "the mixture acts, not its memories"),
    "learnt_noise": (lambda subject: subject.agent.noise is not None, "its noise is not learnt"),
    "successors": (lambda subject: subject.spec.horizon > 1, "there is only one step"),
    "noise": (lambda subject: subject.noise_scale > 0, "rewards are seen without noise"),
    "exact_rewards": (lambda subject: subject.noise_scale == 0, "rewards are noisy"),
    "known_index": (
        lambda subject: isinstance(
            subject.agent.exploration, Ucb | RandomisedUcb | Thompson | TruncatedThompson | Unperturbed
        ),
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
        lambda subject: isinstance(subject.own_radius, Radius) or subject.in_noise,
        "the radius is a number, which `theory_radius` holds against theory's",
    ),
    "radius": (
        lambda subject: isinstance(
            subject.agent.exploration, Ucb | RandomisedUcb | Thompson | TruncatedThompson
        ),
        "the exploration has no radius",
    ),
    "confidence": (
        lambda subject: isinstance(subject.own_radius, ConfidenceRadius),
        "the radius is not made for a δ of its own",
    ),
    "potential": (
        lambda subject: isinstance(
            subject.forgetting,
            ExponentialWeights | NoForgetting | PeriodicRestart | RestartAt | SlidingWindow,
        ),
        "no bound on the sum of widths is known for this forgetting",
    ),
}


@dataclass(frozen=True)
class Lemma:
    """A statement, where it stands, and the function `check` that evaluates it."""

    name: str
    where: str  # in the paper
    kind: Kind
    needs: tuple[str, ...]
    group: Group
    view: type  # what `check` takes: a `Snapshot`, a `Trace`, or what there is of mixtures
    check: Callable[[Any], Sides]
    trivial: Callable[[Any], ArrayLike] | None  # a bound on the left side that needs no proof

    @property
    def formula(self) -> str:
        """The statement, the first line of the function's docstring."""
        return (self.check.__doc__ or "").strip().split("\n")[0]

    def lacks(self, subject: Subject) -> str:
        """Conditions of the statement that the subject does not meet, in words; empty if it meets all."""
        return "; ".join(why for met, why in map(CONDITIONS.__getitem__, self.needs) if not met(subject))


LEMMAS: dict[str, Lemma] = {}


def lemma(
    where: str,
    kind: Kind,
    *needs: str,
    group: Group = "this agent",
    trivial: Callable[[Any], ArrayLike] | None = None,
) -> Callable:
    """Enter a function as a statement of the paper, under its name; it is about what it is annotated with."""
    for need in needs:
        if need not in CONDITIONS:
            raise ArgumentError("needs", "name conditions", need, f"{need!r}{nearest(need, CONDITIONS)}")

    def enter(check: Callable[[Any], Sides]) -> Callable[[Any], Sides]:
        view = get_type_hints(check)["run"]
        LEMMAS[check.__name__] = Lemma(check.__name__, where, kind, needs, group, view, check, trivial)
        return check

    return enter
