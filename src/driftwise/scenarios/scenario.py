"""Scenarios: a problem, a drift, the feedback of rewards, and the start of the policy."""

import itertools
import zlib
from dataclasses import dataclass
from typing import NamedTuple

from driftwise.base.validation import ArgumentError, require_choice, require_count, suggest_name
from driftwise.environments import Environment
from driftwise.environments.drift import Constant, Drift, Sum, Then
from driftwise.scenarios.problems import BANDIT_PROBLEMS, DRIFT_MOVES, SCENARIO_PROBLEMS


class Feedback(NamedTuple):
    """The way of rewards back to a policy; those of an episode of an MDP stay together."""

    summary: str
    delay: int = 0  # rounds
    lost: float = 0.0  # share
    mirrored: float = 0.0  # share of the rewards of best arms or actions


FEEDBACKS = {
    "at_once": Feedback("every reward comes at once"),
    "delayed": Feedback("every reward comes 50 rounds later", delay=50),
    "lost": Feedback("half of the rewards never come", lost=0.5),
    "poisoned": Feedback("three in ten rewards of best arms or actions come as 1 − reward", mirrored=0.3),
}
LEVELS = {  # all words of names, with their meanings
    "problem": {name: problem.summary for name, problem in SCENARIO_PROBLEMS.items()},
    "move": {name: move.summary for name, move in DRIFT_MOVES.items()},
    "strength": {"weak": "half of the way to the other world", "strong": "all of the way"},
    "feedback": {name: feedback.summary for name, feedback in FEEDBACKS.items()},
    "start": {
        "cold": "the agent knows nothing",
        "warm": "it has played a fifth of a run's length in the first world before the run begins",
        "restarted": "it is pickled and restored in the middle of the run",
    },
}


class Sizes(NamedTuple):
    """Sizes of a suite; a round is an episode of an MDP."""

    rounds: int
    runs: int
    whole: bool = False  # all scenarios of MDPs; or else three of each move, since they take longest


SUITES = {"small": Sizes(rounds=500, runs=1), "full": Sizes(rounds=10_000, runs=32, whole=True)}


@dataclass(frozen=True)
class Scenario:
    """A cell of the product of problems, moves, strengths, feedbacks and starts: see `LEVELS`.

    Each of the `runs` has `rounds`, episodes in an MDP, after those of a warm start. A world that does not
    move is `"strong"`; `one_arm` needs more than one direction of the features that pays.
    """

    problem: str
    move: str = "none"
    strength: str = "strong"
    feedback: str = "at_once"
    start: str = "cold"
    rounds: int = SUITES["small"].rounds
    runs: int = SUITES["small"].runs

    def __post_init__(self) -> None:
        for level, words in LEVELS.items():
            require_choice(level, vars(self)[level], list(words))
        require_count("rounds", self.rounds, at_least=20, bits=32)
        require_count("runs", self.runs, bits=32)
        if self.move == "none" and self.strength != "strong":
            raise ArgumentError("strength", "be 'strong' where nothing moves", self.strength)
        if not _plays(self.problem, self.move):
            expected = "leave something to earn: not be 'one_arm' where one direction of the features pays"
            raise ArgumentError("move", expected, self.move)

    @property
    def name(self) -> str:
        """`linear_bandit/gradual-weak/delayed/cold`."""
        moved = self.move if self.move == "none" else f"{self.move}-{self.strength}"
        return f"{self.problem}/{moved}/{self.feedback}/{self.start}"

    @property
    def kind(self) -> str:
        """One of `PROBLEM_KINDS`."""
        return "bandits" if self.problem in BANDIT_PROBLEMS else "mdps"

    @property
    def summary(self) -> str:
        """The meanings of the words of its name."""
        meanings = {level: words[vars(self)[level]] for level, words in LEVELS.items()}
        return "; ".join(meanings[level] for level in meanings if level != "strength" or self.move != "none")

    @property
    def seed(self) -> int:
        """The seed of all draws: a scenario that restarts shares it with its cold twin."""
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
        """Whether the model is constant between jumps, if there are any."""
        return self.move == "none" or bool(self.changes)

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds in which the model jumps, counted from the first after the warm-up."""
        changes = self._drift.changes(self.warm_up + self.rounds)
        return tuple(change - self.warm_up for change in changes)

    @property
    def _drift(self) -> Drift:
        drift = DRIFT_MOVES[self.move].drift(self.rounds, SCENARIO_PROBLEMS[self.problem].directions)
        if self.strength == "weak":
            drift = Sum((Constant(), drift), shares=(0.5, 0.5))
        return Then((Constant(), drift), at=(self.warm_up,)) if self.warm_up else drift

    def environment(self) -> Environment:
        """Return the environment for all rounds; it depends on the scenario alone."""
        return SCENARIO_PROBLEMS[self.problem].make(self._drift, DRIFT_MOVES[self.move].between)


def _plays(problem: str, move: str) -> bool:
    """Return whether a move has a meaning in a problem."""
    return SCENARIO_PROBLEMS[problem].one_of_many or DRIFT_MOVES[move].between != "one"


def all_scenarios(size: str = "small") -> dict[str, Scenario]:
    """Return all scenarios by their names, in the sizes of a suite of `SUITES`."""
    sizes = SUITES[require_choice("suite", size, list(SUITES))]
    scenarios = (
        Scenario(problem, move, strength, feedback, start, sizes.rounds, sizes.runs)
        for problem, move, strength, feedback, start in itertools.product(*LEVELS.values())
        if _plays(problem, move) and (move != "none" or strength == "strong")
    )
    return {scenario.name: scenario for scenario in scenarios}


def suite(size: str = "small") -> dict[str, Scenario]:
    """Return the scenarios of a suite of `SUITES` by their names.

    One that is not `whole` has three for each move of an MDP: with rewards at once from a cold start, with
    another feedback, and with that feedback from another start. These take turns from move to move.
    """
    scenarios = all_scenarios(size)
    if SUITES[size].whole:
        return scenarios
    chosen = {name: scenario for name, scenario in scenarios.items() if scenario.kind == "bandits"}
    others = itertools.cycle(itertools.product([*LEVELS["start"]][1:], [*FEEDBACKS][1:]))
    of_mdps = [name for name in scenarios if name not in chosen]
    moves = itertools.groupby(of_mdps, key=lambda name: name.split("/")[:2])
    for (_, names), (start, feedback) in zip(moves, others, strict=False):
        endings = ("at_once/cold", f"{feedback}/cold", f"{feedback}/{start}")
        chosen |= {name: scenarios[name] for name in names if name.endswith(endings)}
    return chosen


def find_scenario(name: str, size: str = "small") -> Scenario:
    """Return the scenario of that name, in the sizes of a suite."""
    scenarios = all_scenarios(size)
    if name not in scenarios:
        expected = "be PROBLEM/MOVE-STRENGTH/FEEDBACK/START, as 'driftwise list scenarios' has them"
        raise ArgumentError("scenario", expected, name, f"{name!r}{suggest_name(name, scenarios)}")
    return scenarios[name]
