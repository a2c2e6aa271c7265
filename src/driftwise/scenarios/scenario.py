"""A scenario: a problem, how its world moves, how rewards come back, and how the agent starts."""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from driftwise.base.validation import ArgumentError, nearest, require_choice, require_count
from driftwise.environments import Environment
from driftwise.environments.drift import Drift
from driftwise.scenarios.feedback import FEEDBACKS
from driftwise.scenarios.moves import MOVES, STRENGTHS, drift_of
from driftwise.scenarios.problems import KINDS, PROBLEMS

STARTS = {
    "cold": "the agent knows nothing",
    "warm": "it has played a fifth of a run's length in the first world before the run begins",
    "restarted": "it is pickled and restored in the middle of the run",
}
LEVELS = {  # all words of names, by what they say
    "problem": {name: problem.summary for name, problem in PROBLEMS.items()},
    "move": {name: move.summary for name, move in MOVES.items()},
    "strength": {"weak": "half of the way to the other world", "strong": "all of the way"},
    "feedback": {name: feedback.summary for name, feedback in FEEDBACKS.items()},
    "start": STARTS,
}


class Sizes(NamedTuple):
    """Sizes of a suite; a round is an episode of an MDP."""

    rounds: int
    runs: int
    whole: bool = False  # all scenarios of MDPs; or else three of each move, since they take longest


SUITES = {"small": Sizes(rounds=500, runs=1), "full": Sizes(rounds=10_000, runs=32, whole=True)}


@dataclass(frozen=True)
class Scenario:
    """One cell of the product of problems, moves, strengths, feedbacks and starts.

    A round of an MDP is an episode. `one_arm` is not for those in which one direction of the features pays.

    Args:
      problem: one of `PROBLEMS`.
      move: one of `MOVES`.
      strength: one of `STRENGTHS`; a world that does not move is `"strong"`.
      feedback: one of `FEEDBACKS`.
      start: one of `STARTS`.
      rounds: those that count; a warm start has more before them.
      runs: each has draws of its own.
    """

    problem: str
    move: str = "none"
    strength: str = "strong"
    feedback: str = "at_once"
    start: str = "cold"
    rounds: int = SUITES["small"].rounds
    runs: int = SUITES["small"].runs

    def __post_init__(self) -> None:
        require_choice("problem", self.problem, list(PROBLEMS))
        require_choice("move", self.move, list(MOVES))
        require_choice("strength", self.strength, list(STRENGTHS))
        require_choice("feedback", self.feedback, list(FEEDBACKS))
        require_choice("start", self.start, list(STARTS))
        require_count("rounds", self.rounds, at_least=20, bits=32)
        require_count("runs", self.runs, bits=32)
        if self.move == "none" and self.strength != "strong":
            raise ArgumentError("strength", "be 'strong' where nothing moves", self.strength)
        if not plays(self.problem, self.move):
            expected = (
                "leave something to earn, and not be 'one_arm' where one direction of the features pays"
            )
            raise ArgumentError("move", expected, self.move)

    @property
    def name(self) -> str:
        """`linear_bandit/gradual-weak/delayed/cold`."""
        moved = self.move if self.move == "none" else f"{self.move}-{self.strength}"
        return "/".join((self.problem, moved, self.feedback, self.start))

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return next(kind for kind, problems in KINDS.items() if self.problem in problems)

    @property
    def summary(self) -> str:
        """What its name says, in words."""
        told = ("problem", "move", *(["strength"] if self.move != "none" else []), "feedback", "start")
        return "; ".join(LEVELS[each][getattr(self, each)] for each in told)

    @property
    def seed(self) -> int:
        """Of all that is drawn, another for each scenario; one that restarts has that of its cold twin."""
        return zlib.crc32(self.name.replace("/restarted", "/cold").encode())

    @property
    def warm_up(self) -> int:
        """Rounds before those that count."""
        return self.rounds // 5 if self.start == "warm" else 0

    @property
    def restart(self) -> int | None:
        """The round before which the agent is restored."""
        return self.rounds // 2 if self.start == "restarted" else None

    @property
    def rests(self) -> bool:
        """Whether the world stays as it is between its jumps, if it has any; others glide."""
        return self.move == "none" or bool(self.changes)

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds in which the world jumps, counted from the first that counts."""
        changes = self._drift.changes(self.warm_up + self.rounds)
        return tuple(change - self.warm_up for change in changes)

    @property
    def _drift(self) -> Drift:
        problem, strength = PROBLEMS[self.problem], STRENGTHS[self.strength]
        return drift_of(MOVES[self.move], strength, self.rounds, self.warm_up, problem.directions)

    def environment(self) -> Environment:
        """The world, for all rounds; it depends on the scenario alone."""
        return PROBLEMS[self.problem].make(self._drift, MOVES[self.move].between)


def plays(problem: str, move: str) -> bool:
    """Whether a move has a meaning in a problem."""
    return PROBLEMS[problem].one_of_many or MOVES[move].between != "one"


def product(size: str = "small") -> dict[str, Scenario]:
    """All scenarios by their names, in the sizes of a suite of `SUITES`."""
    return {each.name: each for group in _by_move(size) for each in group}


def suite(size: str = "small") -> dict[str, Scenario]:
    """The scenarios of a suite of `SUITES` by their names.

    One that is not `whole` has three for each move of an MDP: with rewards at once from a cold start, with
    another feedback, and with that feedback from another start. These take turns from move to move.
    """
    found, chosen = _by_move(size), {}
    others = itertools.cycle(itertools.product([*STARTS][1:], [*FEEDBACKS][1:]))
    for group in found:
        if group[0].kind == "mdps" and not SUITES[size].whole:
            start, feedback = next(others)
            kept = {("at_once", "cold"), (feedback, "cold"), (feedback, start)}
            group = [each for each in group if (each.feedback, each.start) in kept]
        chosen |= {each.name: each for each in group}
    return chosen


def _by_move(size: str) -> list[list[Scenario]]:
    """All scenarios of each move in each problem."""
    sizes = SUITES[require_choice("suite", size, list(SUITES))]
    moves = [
        (move, strength) for move in MOVES for strength in STRENGTHS if move != "none" or strength == "strong"
    ]
    return [
        [
            Scenario(problem, *move, feedback, start, sizes.rounds, sizes.runs)
            for feedback, start in itertools.product(FEEDBACKS, STARTS)
        ]
        for problem, move in itertools.product(PROBLEMS, moves)
        if plays(problem, move[0])
    ]


def find_scenario(name: str, size: str = "small") -> Scenario:
    """The scenario of that name, in the sizes of a suite."""
    sizes = SUITES[require_choice("suite", size, list(SUITES))]
    try:
        problem, moved, feedback, start = name.split("/")
        move, _, strength = moved.partition("-")
        found = Scenario(problem, move, strength or "strong", feedback, start, sizes.rounds, sizes.runs)
    except (ValueError, AttributeError):
        found = None
    if found is None or found.name != name:
        expected = "be PROBLEM/MOVE-STRENGTH/FEEDBACK/START, as 'driftwise list scenarios' has them"
        raise ArgumentError("scenario", expected, name, f"{name!r}{nearest(name, product(size))}")
    return found
