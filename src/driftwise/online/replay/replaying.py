"""The replay: two passes over a log, one row after the other in the second, for all policies at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, require_choice
from driftwise.online.deciders import RoundDraws, uses_clock
from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay.estimates import Event
from driftwise.online.replay.evaluations import Evaluator, PolicyEvaluation
from driftwise.online.replay.independence import Dependence, require_random
from driftwise.online.replay.logged_rows import LoggedRow, LoggedRows, read_rows
from driftwise.online.replay.options import Options, ReplaySchedule, RewardScale
from driftwise.online.replay.policy_replay import (
    LOGGED,
    PolicyDescription,
    PolicyReplay,
    RewardModel,
    logged_event,
)
from driftwise.online.replay.table_log import TableLog, changed_error

_ROWS_AT_ONCE = 64  # in memory, with all their arms


@dataclass(frozen=True)
class Replay:
    """Evaluations of all policies, with their log and the options."""

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
        """Whether shares of actions stand for propensities although actions were not random."""
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
    schedule = ReplaySchedule(options, rows.number)
    replays = _make_policies(log, policies, schedule, rows)
    evaluators = {LOGGED: Evaluator(schedule, rows, (), k=0.0)}
    for name in replays:
        others = (LOGGED,) if options.against in (None, name) else (LOGGED, options.against)
        evaluators[name] = Evaluator(schedule, rows, others, k=options.k)
    done = 0
    for done, (row, events) in enumerate(_replay_rows(rows, replays, schedule.scale, options.seed), start=1):
        if done > schedule.frozen:
            for name, evaluator in evaluators.items():
                evaluator.add(events[name], events, row)
                if schedule.ends_window(done):
                    evaluator.end_window(done)
        if done % _ROWS_AT_ONCE == 0 or done == rows.number:
            progress(done, rows.number)
    if done != rows.number:
        raise changed_error(log)
    facts = rows.number, rows.skipped, rows.least_propensity, rows.dim, schedule.memory, dependence
    logged = evaluators[LOGGED].evaluation(LOGGED, {}, 0)
    evaluations = {
        name: evaluators[name].evaluation(policy.algorithm, policy.parameters, policy.learnt)
        for name, policy in replays.items()
    }
    return Replay(log, options, *facts, logged, evaluations)


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
    log: TableLog | DecisionLog,
    policies: Mapping[str, PolicyDescription],
    schedule: ReplaySchedule,
    rows: LoggedRows,
) -> dict[str, PolicyReplay]:
    """Return the policies, if the log has all that they and the options need."""
    options = schedule.options
    if not policies:
        raise ArgumentError("policies", "have at least one", policies)
    if options.against is not None:
        require_choice("against", options.against, [*policies])
    if options.k and not rows.has_chances:
        raise ArgumentError("k", f"be 0 for {log.path}, which lacks other actions' probabilities", options.k)
    replays = {
        name: PolicyReplay(name, description, schedule, rows) for name, description in policies.items()
    }
    for name, policy in replays.items():
        if uses_clock(policy.decider.agent) and not rows.has_times:
            raise ValueError(f"{log.path} must have a column of times for {name}, which forgets by the clock")
    return replays


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
