"""How the world of a scenario moves: a drift for runs of any length, how strong it is, and between what."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

from driftwise.environments.drift import Abrupt, Constant, Drift, Gradual, Periodic, RandomWalk, Sum, Then

Between = Literal["worlds", "one", "turns"]  # two worlds; two that differ in one direction; one turned round


class Move(NamedTuple):
    """A drift, for a run of so many rounds in a world of so many directions, and what its anchors are.

    Directions of the features pay: an arm has one of its own.
    """

    summary: str
    drift: Callable[[int, int], Drift]
    between: Between = "worlds"


MOVES = {
    "none": Move("the world stays as it is", lambda rounds, _: Constant()),
    "abrupt_rare": Move(
        "it jumps after a third and after two thirds, and is back then",
        lambda rounds, _: Abrupt(_jumps(rounds, 3), num_anchors=2),
    ),
    "abrupt_frequent": Move(
        "it jumps nine times, to and fro", lambda rounds, _: Abrupt(_jumps(rounds, 10), num_anchors=2)
    ),
    "gradual": Move(
        "it moves in a straight line in the second and third quarter",
        lambda rounds, _: Gradual((rounds // 4, 3 * rounds // 4)),
    ),
    "periodic": Move("it swings to and fro four times", lambda rounds, _: Periodic(rounds / 4)),
    "random_walk": Move("it wanders by chance", lambda rounds, _: RandomWalk(3 / math.sqrt(rounds))),
    "one_arm": Move(
        "the best arm, or direction of the features, alone becomes the worst after a third, and is back "
        "after two thirds",
        lambda rounds, _: Abrupt(_jumps(rounds, 3), num_anchors=2),
        "one",
    ),
    "rotating": Move(
        "every arm, or direction of the features, is the best in turn, twice",
        lambda rounds, directions: Periodic(rounds / 2, directions),
        "turns",
    ),
}
STRENGTHS = {"weak": 0.5, "strong": 1.0}  # the share of the way to another anchor


def drift_of(move: Move, strength: float, rounds: int, warm_up: int, directions: int) -> Drift:
    """The drift of a move after so many rounds without one."""
    drift = move.drift(rounds, directions)
    if strength < 1:
        drift = Sum((Constant(), drift), shares=(1 - strength, strength))
    return Then((Constant(), drift), at=(warm_up,)) if warm_up else drift


def _jumps(rounds: int, segments: int) -> tuple[int, ...]:
    return tuple(k * rounds // segments for k in range(1, segments))
