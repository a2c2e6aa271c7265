"""Play a scenario with any policy: one run, or all runs as a task of an engine."""

import json
import math
import pickle
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from driftwise.base.provenance import digest_code, provenance
from driftwise.base.schema import require_shape
from driftwise.base.validation import ArgumentError
from driftwise.scenarios.contestants import PolicyMaker, policy_named
from driftwise.scenarios.rounds import BanditRounds, MdpRounds, Rounds
from driftwise.scenarios.scenario import Scenario
from driftwise.simulation.tasks import read_progress

_ROUNDING = 1e-9  # by which the regret of a round may be below 0


class ScenarioRun(NamedTuple):
    """A run of a policy, in the rounds after the warm-up, `[T]`; an episode of an MDP is a round."""

    values: np.ndarray  # the mean reward of the arm that was taken, or the value of the policy
    optimal: np.ndarray  # that of the best one
    taken: np.ndarray  # arms, or chances of actions [T, H, S, A]
    alarms: np.ndarray | None  # whether the policy raised one; None if it never said so or otherwise
    frozen: np.ndarray  # at each change, the value of the last decision made without it
    rounds: Rounds  # in which it was played

    @property
    def regret(self) -> float:
        """The sum over rounds of the best value less the value."""
        return float(np.sum(self.optimal - self.values))


def play_policy(make: PolicyMaker, scenario: Scenario, *, run: int = 0) -> ScenarioRun:
    """Play one run of a policy, which `make(spec, run)` makes, in a scenario.

    Contexts, noise and losses depend on the scenario, the run and the round alone, not on the policy.
    """
    rounds: Rounds = (BanditRounds if scenario.kind == "bandits" else MdpRounds)(scenario, run)
    policy: Any = make(rounds.spec, run)
    alarms, decisions, detects = np.zeros(rounds.num_rounds, dtype=bool), [], False
    for t in range(rounds.num_rounds):
        if t == scenario.restart:
            try:
                policy = pickle.loads(pickle.dumps(policy))
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                expected = "be one that can be pickled, for a restart"
                raise ArgumentError("policy", expected, policy, str(error)) from None
        decisions.append(rounds.require_decision(policy.decide(rounds.context(t))))
        arriving = t - rounds.feedback.delay  # the round whose observation comes now
        if arriving >= 0 and not rounds.lost[arriving]:
            answer = policy.learn(rounds.observation(arriving, decisions[arriving]))
            if isinstance(answer, bool | np.bool):
                alarms[t], detects = answer, True
    counting, taken = np.arange(scenario.warm_up, rounds.num_rounds), np.array(decisions)
    values, optimal = rounds.values(taken[counting], counting, counting)
    changes = np.array(scenario.changes, dtype=int) + scenario.warm_up
    frozen, _ = rounds.values(taken[changes - rounds.frozen_lag], changes, changes)
    raised = alarms[counting] if detects else None
    return ScenarioRun(values, optimal, taken[counting], raised, frozen, rounds)


class ScenarioOutcome(NamedTuple):
    """The regret and the scores of all runs of a policy in a scenario, or why it could not play."""

    regret: np.ndarray  # [runs]
    scores: tuple[Mapping[str, Any], ...]  # of each run, its regret among them
    error: str = ""


@dataclass(frozen=True)
class ScenarioTask:
    """All runs of a named policy in a scenario; see `simulation.tasks.Job`."""

    agent: str
    scenario: Scenario
    score: Callable[[ScenarioRun, Scenario], Mapping[str, Any]]  # of a run, in plain values
    code: str  # digest of the code of driftwise and of the policy
    device: Any = "cpu"

    @classmethod
    def of(cls, agent: str, scenario: Scenario, score: Callable[..., Any]) -> Self:
        return cls(agent, scenario, score, digest_code(policy_named(agent, scenario.kind)))

    @property
    def name(self) -> str:
        return f"{self.agent} in {self.scenario.name}"

    @property
    def num_episodes(self) -> int:
        return self.scenario.runs * (self.scenario.warm_up + self.scenario.rounds)

    def identity(self) -> dict[str, Any]:
        score = f"{self.score.__module__}.{self.score.__qualname__}"
        facts = {**vars(self.scenario), "score": score, "code": self.code, "numpy": np.__version__}
        return {"agent": self.agent, **facts}

    def on(self, device: Any) -> Self:
        return self  # policies play on the CPU

    def begin(self) -> "ScenarioWork":
        return ScenarioWork(self)


class ScenarioWork:
    """A scenario task in progress, one run after the other; see `simulation.tasks.Work`."""

    platform = "cpu"

    def __init__(self, task: ScenarioTask) -> None:
        self.task, self.seconds, self.error = task, 0.0, ""
        self.sources: dict[str, str] = dict(provenance()["sources"])
        self._runs: list[Mapping[str, Any]] = []  # scores, and the regret
        self._before: str | None = None  # the origin of a checkpoint that was read

    @property
    def done(self) -> int:
        """Rounds that are finished; a policy that fails ends its task."""
        whole = self.task.num_episodes
        return whole if self.error else whole // self.task.scenario.runs * len(self._runs)

    @property
    def finished(self) -> bool:
        return self.done == self.task.num_episodes

    def advance(self, seconds: float | None = None) -> None:
        """Play the next run; for about so many seconds, if they are given."""
        started, task = time.perf_counter(), self.task
        make = policy_named(task.agent, task.scenario.kind)
        while not self.finished:
            try:
                run = play_policy(make, task.scenario, run=len(self._runs))
            except Exception as error:  # of a user's policy
                self._runs, self.error = [], f"{type(error).__name__}: {error}"
                break
            self._runs.append({**task.score(run, task.scenario), "regret": run.regret})
            if seconds is None or time.perf_counter() - started >= seconds:
                break
        self.seconds += time.perf_counter() - started

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return all that `restore` needs."""
        origin = {"device": platform.processor(), **provenance(), "sources": self.sources}
        origin = self._before or json.dumps(origin, sort_keys=True)
        runs = json.dumps(self._runs)
        arrays = dict(done=self.done, seconds=self.seconds, error=self.error, runs=runs, origin=origin)
        return {name: np.asarray(value) for name, value in arrays.items()}

    def restore(self, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Continue from a checkpoint of the same task."""
        done, seconds = read_progress(checkpoint, self.task.num_episodes)
        origin, stored, error = (str(checkpoint[name]) for name in ("origin", "runs", "error"))
        runs, rounds = json.loads(stored), self.task.num_episodes // self.task.scenario.runs
        require_shape("runs", runs, [{"regret": (float,)}], whole=True)
        regret = [run["regret"] for run in runs]
        if not all(-_ROUNDING * rounds <= own < math.inf for own in regret):
            raise ArgumentError("regret", "be finite and not negative", regret)
        if done != (self.task.num_episodes if error else rounds * len(runs)) or (error and runs):
            raise ArgumentError("runs", f"be of the {done} rounds that were played", runs)
        self.seconds, self._before, self._runs, self.error = seconds, origin, runs, error

    def result(self) -> ScenarioOutcome:
        """Return the outcome of all finished runs."""
        return ScenarioOutcome(np.array([run["regret"] for run in self._runs]), tuple(self._runs), self.error)
