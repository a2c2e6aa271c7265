"""A scenario: a problem, how its world moves, how rewards come back, and how the agent starts."""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from driftwise.base.validation import ArgumentError, nearest, require_choice, require_count
from driftwise.environments import Environment
from driftwise.scenarios.feedback import FEEDBACKS
from driftwise.scenarios.moves import MOVES, STRENGTHS, drift_of
from driftwise.scenarios.problems import BANDITS, KINDS, MDPS, bandit

STARTS = {
    "cold": "the agent knows nothing",
    "warm": "it has played a fifth of a run's length in the first world before the run begins",
    "restarted": "it is pickled and restored in the middle of the run",
}
PROBLEMS = {**BANDITS, **{name: summary for name, (summary, _) in MDPS.items()}}
LEVELS = {  # all words of names, by what they say
    "problem": PROBLEMS,
    "move": {name: move.summary for name, move in MOVES.items()},
    "strength": {"weak": "half of the way to the other world", "strong": "all of the way"},
    "feedback": {name: feedback.summary for name, feedback in FEEDBACKS.items()},
    "start": STARTS,
}


class Sizes(NamedTuple):
    """Sizes of a suite; a round is an episode of an MDP."""

    rounds: int
    runs: int


SUITES = {"small": Sizes(rounds=500, runs=1), "full": Sizes(rounds=10_000, runs=32)}


@dataclass(frozen=True)
class Scenario:
    """One cell of the product of problems, moves, strengths, feedbacks and starts.

    MDPs have feedback at once, and neither a move of one arm nor a restart.

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
        if self.problem in MDPS:
            if MOVES[self.move].between != "worlds":
                raise ArgumentError("move", "be one of whole worlds for an MDP", self.move)
            if self.feedback != "at_once":
                raise ArgumentError("feedback", "be 'at_once' for an MDP", self.feedback)
            if self.start == "restarted":
                raise ArgumentError("start", "be 'cold' or 'warm' for an MDP", self.start)

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
    def changes(self) -> tuple[int, ...]:
        """The rounds in which the world jumps, counted from the first that counts."""
        changes = self.environment().changes(self.warm_up + self.rounds)
        return tuple(change - self.warm_up for change in changes)

    def environment(self) -> Environment:
        """The world, for all rounds; it depends on the scenario alone."""
        move = MOVES[self.move]
        drift = drift_of(move, STRENGTHS[self.strength], self.rounds, self.warm_up)
        if self.problem in MDPS:
            _, make = MDPS[self.problem]
            return make(drift)
        return bandit(self.problem, drift, move.between)


def suite(size: str = "small") -> dict[str, Scenario]:
    """All scenarios of a suite of `SUITES` by their names."""
    sizes = SUITES[require_choice("suite", size, list(SUITES))]
    moves = [
        (move, strength) for move in MOVES for strength in STRENGTHS if move != "none" or strength == "strong"
    ]
    bandits = itertools.product(BANDITS, moves, FEEDBACKS, STARTS)
    whole = [pair for pair in moves if MOVES[pair[0]].between == "worlds"]
    mdps = itertools.product(MDPS, whole, ("at_once",), ("cold", "warm"))
    made = (
        Scenario(problem, *move, feedback, start, *sizes)
        for problem, move, feedback, start in (*bandits, *mdps)
    )
    return {each.name: each for each in made}


def find_scenario(name: str, size: str = "small") -> Scenario:
    """The scenario of that name in a suite."""
    found = suite(size)
    if name not in found:
        expected = "be PROBLEM/MOVE-STRENGTH/FEEDBACK/START, as 'driftwise list scenarios' has them"
        raise ArgumentError("scenario", expected, name, f"{name!r}{nearest(name, found)}")
    return found[name]
