"""The replay: two passes over a log, one row after the other in the second, for all policies at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from driftwise.base.validation import (
    ArgumentError,
    require_choice,
    require_count,
    require_instance,
    require_number,
)
from driftwise.online.deciders import RoundDraws, uses_clock
from driftwise.online.decision_log import DecisionLog
from driftwise.online.limits import require_reward_range
from driftwise.online.replay.estimates import Event
from driftwise.online.replay.evaluations import Evaluator, Level, PolicyEvaluation, RewardScale
from driftwise.online.replay.independence import Dependence, require_random
from driftwise.online.replay.logged_rows import LoggedRow, LoggedRows, read_rows
from driftwise.online.replay.policy_replay import (
    LOGGED,
    PolicyDescription,
    PolicyReplay,
    ReplayedPolicy,
    RewardModel,
    logged_event,
    make_policy,
)
from driftwise.online.replay.table_log import TableLog

_ROWS_AT_ONCE = 64  # in memory, with all their arms
_LEARN = ("accepted", "all")
_WINDOWS = 50  # by default
_MAX_WINDOWS = 10_000  # they are kept


@dataclass(frozen=True)
class Options:
    """Options of a replay.

    Args:
      learn: the rows that agents learn from. `accepted`: those that are accepted as if the agent had acted
        itself; this evaluates the agent learning only from these. `all`: every row; this evaluates the
        policies that the agent makes of the log as it is.
      clip: the largest weight `ρ`; larger ones are cut to it. That lowers variance and brings a bias.
      reward_range: the lowest and the highest reward that there can be. Without it there are no intervals
        that hold at all times.
      delta: the probability at which an interval may fail.
      memory: rows, 1/(1−η), of the exponentially weighted means; by default a tenth of those estimated on.
      k: how much of the reward model goes into the intervals, which are then doubly robust: 0 is none. It
        needs the range, and the probabilities of all actions.
      against: the name of a policy that the others are compared with, besides the logged one.
      assume_random: whether to take the shares of actions for propensities although the actions of the log
        are found not to be random. All estimates are then biased.
      shared: whether actions of a table share the weights of the context, see `ActionEncoding`.
      frozen_after: learn from that many rows, then keep the policies and estimate on the others.
      every: rows of a window; by default a fiftieth of all.
      seed: of the agents' draws and of acceptance.
    """

    learn: Literal["accepted", "all"] = "accepted"
    clip: float | None = None
    reward_range: tuple[float, float] | None = None
    delta: float = 0.05
    memory: float | None = None
    k: float = 0.0
    against: str | None = None
    assume_random: bool = False
    shared: bool = False
    frozen_after: int | None = None
    every: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("learn", self.learn, _LEARN)
        if self.clip is not None:
            require_number("clip", self.clip, above=0)
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", require_reward_range(self.reward_range))
        require_number("delta", self.delta, above=0, at_most=0.5)
        if self.memory is not None:
            require_number("memory", self.memory, at_least=1)
        if require_number("k", self.k, at_least=0) and self.reward_range is None:
            raise ArgumentError("k", "be 0 without a reward_range, as the intervals that it is for", self.k)
        for name in ("assume_random", "shared"):
            require_instance(name, getattr(self, name), bool)
        for name in ("frozen_after", "every"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_count("seed", self.seed, at_least=0)


class ReplaySchedule:
    """The lengths of a replay: of its windows, of its memory, and of the rows that it estimates on."""

    def __init__(self, options: Options, rows: int) -> None:
        self.frozen = options.frozen_after or 0
        if self.frozen >= rows:
            expected = f"leave rows of the {rows:,} to estimate on"
            raise ArgumentError("frozen_after", expected, self.frozen, f"{self.frozen:,}")
        self.every = options.every or max(1, rows // _WINDOWS)
        if rows > _MAX_WINDOWS * self.every:
            expected = f"give at most {_MAX_WINDOWS:,} windows of {rows:,} rows"
            raise ArgumentError("every", expected, self.every)
        self.rows, self.events = rows, rows - self.frozen
        self.memory = options.memory or max(1.0, self.events / 10)

    @property
    def looks(self) -> int:
        """The number of windows, at whose ends intervals are looked at."""
        return -(-self.rows // self.every) - self.frozen // self.every

    def ends_window(self, row: int) -> bool:
        """Whether a window ends after so many rows."""
        return row % self.every == 0 or row == self.rows


@dataclass(frozen=True)
class Replay:
    """PolicyEvaluations of all policies, with their log and the options."""

    log: TableLog | DecisionLog
    options: Options
    rows: int
    skipped: int
    least_propensity: float
    dim: int  # features of an action
    memory: float  # of exponentially weighted means
    dependence: Dependence | None  # of a log without propensities
    logged: PolicyEvaluation
    policies: Mapping[str, PolicyEvaluation]

    @property
    def biased(self) -> bool:
        """Whether propensities are guessed although actions were found not to be random."""
        return self.dependence is not None and self.dependence.found

    @property
    def warnings(self) -> list[str]:
        """Sentences on policies that had next to nothing to learn from."""
        largest = min(1 / self.least_propensity, self.options.clip or np.inf)
        why = f": where weights may be {largest:.3g}, few are accepted" * (self.options.learn == "accepted")
        return [
            f"{name} learnt from {policy.learnt:,} of {self.rows:,} rows, fewer than its {self.dim:,} "
            f"features{why}"
            for name, policy in self.policies.items()
            if policy.learnt < self.dim
        ]

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values; numbers that are not known are NaN or None."""
        names = ("rows", "skipped", "least_propensity", "dim", "memory", "dependence", "biased")
        facts = {name: getattr(self, name) for name in names}
        policies = {name: policy.to_json() for name, policy in self.policies.items()}
        options = dataclasses.asdict(self.options)
        return self.log.describe() | options | facts | {LOGGED: self.logged.to_json(), "policies": policies}


def replay(
    log: TableLog | DecisionLog,
    policies: Mapping[str, PolicyDescription],
    options: Options | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Replay:
    r"""Estimate the mean reward of policies in the place of the one that wrote the log.

    Row $t$ has a context $x$, the logged action $a$, its reward $r$ and its propensity $p$. A policy
    $\pi_t$ depends on earlier rows alone, and $\rho = \pi_t(a\mid x)/p$. With a reward model $q$ fitted to
    all earlier rows:

    $$\text{IPS} = \tfrac1n\sum\rho r, \qquad \text{SNIPS} = \frac{\sum\rho r}{\sum\rho}, \qquad
      \text{DR} = \tfrac1n\sum\Bigl(\sum_b \pi_t(b\mid x)q(x,b) + \rho\,(r - q(x,a))\Bigr).$$

    An agent learns from all rows, or from those that are accepted, with probability
    $\pi_t(a\mid x)\,p_{\min}/p$: they are distributed as if it had acted itself, and their mean reward is the
    `replay` estimate.

    Args:
      log: the decisions: a table with a context in each row, or a `DecisionLog` with the features of all
        arms, which are taken as they are and may be others in every row.
      policies: by their names. Each is a table with the `algorithm` and its parameters, and a `Bandit`'s
        `epsilon` and `num_draws`; or a `Bandit`, which goes on from where it is. The policy that wrote the
        log is `logged`.
      options: see `Options`.
      progress: called as `progress(rows_done, rows)`.

    Reference: Li, Chu, Langford & Wang, "Unbiased Offline Evaluation of Contextual-bandit-based News Article
    Recommendation Algorithms", WSDM 2011, Algorithm 2, which this is where propensities are all the same;
    Dudík, Langford & Li, "Doubly Robust Policy Evaluation and Learning", ICML 2011; Swaminathan & Joachims,
    "The Self-Normalized Estimator for Counterfactual Learning", NeurIPS 2015.
    """
    options = Options() if options is None else options
    rows = read_rows(log, shared=options.shared)
    dependence = _require_estimable(log, rows, options)
    replayed = _make_policies(log, policies, options, rows)
    schedule = ReplaySchedule(options, rows.number)
    scale = None if options.reward_range is None else RewardScale(*options.reward_range)
    rate = 1 - 1 / schedule.memory
    level = Level(options.delta, rate, schedule.looks, schedule.events, scale, options.k)
    settings: dict[str, Any] = dict(learn_all=options.learn == "all", clip=options.clip, k=options.k)
    settings |= dict(frozen=schedule.frozen, least_propensity=rows.least_propensity)
    replays = {name: PolicyReplay(policy, scale, **settings) for name, policy in replayed.items()}
    evaluators = {LOGGED: Evaluator(level._replace(k=0.0), (), rows.actions)}
    for name in replayed:
        others = (LOGGED,) if options.against in (None, name) else (LOGGED, options.against)
        evaluators[name] = Evaluator(level, others, rows.actions)
    done = 0
    for done, (row, events) in enumerate(_replay_rows(rows, replays, scale, options.seed), start=1):
        if done > schedule.frozen:
            for name, evaluator in evaluators.items():
                evaluator.add(events[name], events, row)
                if schedule.ends_window(done):
                    evaluator.end_window(done)
        if done % _ROWS_AT_ONCE == 0 or done == rows.number:
            progress(done, rows.number)
    if done != rows.number:
        raise log.changed_error()

    def evaluate(name: str, algorithm: str, parameters: Mapping[str, Any], learnt: int) -> PolicyEvaluation:
        return evaluators[name].evaluation(algorithm, parameters, learnt, all_chances=rows.has_chances)

    facts = rows.number, rows.skipped, rows.least_propensity, rows.dim, schedule.memory
    evaluations = {
        name: evaluate(name, policy.algorithm, policy.parameters, replays[name].learnt)
        for name, policy in replayed.items()
    }
    return Replay(log, options, *facts, dependence, evaluate(LOGGED, LOGGED, {}, 0), evaluations)


def _require_estimable(log: TableLog | DecisionLog, rows: LoggedRows, options: Options) -> Dependence | None:
    """Refuse a log of one action, or of unknown propensities that are not constant; return the evidence."""
    if isinstance(log, DecisionLog):
        if rows.most_arms < 2:
            raise ValueError(f"{log.path}: some decision must have at least two arms, got one in all of them")
        return None
    if rows.most_arms < 2:
        problem = f"must have at least two different values, got {[*rows.actions]}"
        raise ValueError(f"{log.path}: {log.action or 'action'} {problem}")
    assert rows.survey is not None
    return require_random(log, rows.survey, assume_random=options.assume_random)


def _make_policies(
    log: TableLog | DecisionLog, policies: Mapping[str, PolicyDescription], options: Options, rows: LoggedRows
) -> dict[str, ReplayedPolicy]:
    """Return the policies, if the log has all that they and the options need."""
    if not policies:
        raise ArgumentError("policies", "have at least one", policies)
    if options.against is not None:
        require_choice("against", options.against, [*policies])
    if options.k and not rows.has_chances:
        raise ArgumentError("k", f"be 0 for {log.path}, which lacks other actions' probabilities", options.k)
    replayed = {
        name: make_policy(name, description, rows.dim, options.seed) for name, description in policies.items()
    }
    for name, policy in replayed.items():
        if uses_clock(policy.decider.agent) and not rows.has_times:
            raise ValueError(f"{log.path} must have a column of times for {name}, which forgets by the clock")
    return replayed


def _replay_rows(
    rows: LoggedRows, replays: Mapping[str, PolicyReplay], scale: RewardScale | None, seed: int
) -> Iterator[tuple[LoggedRow, dict[str, Event]]]:
    """Yield the rows, each as the estimators of every policy see it."""
    model, draws, number, remaining = RewardModel(rows.dim), RoundDraws(seed), 0, rows.read()
    while block := list(islice(remaining, _ROWS_AT_ONCE)):
        uniforms = draws.uniform(number + np.arange(len(block))).tolist()
        for row, uniform in zip(block, uniforms, strict=True):
            arms = row.arms()
            with np.errstate(all="ignore"):
                predictions = model.predict(arms)
                events = {LOGGED: logged_event(row, len(arms), scale)}
                for name, policy in replays.items():
                    events[name] = policy.step(row, arms, predictions, number, uniform)
                model.learn(arms[row.arm], row.reward)
            yield row, events
            number += 1
