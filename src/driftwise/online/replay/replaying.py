"""The replay: two passes over a log, one row after the other in the second, for all policies at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from driftwise.base.validation import ArgumentError, require_choice
from driftwise.online.bandits.clocked import uses_clock
from driftwise.online.bandits.deciders import Draws
from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay.estimates import Event
from driftwise.online.replay.evaluations import Evaluation, Evaluator
from driftwise.online.replay.independence import Dependence
from driftwise.online.replay.intervals import Level, Range
from driftwise.online.replay.logs import Log
from driftwise.online.replay.models import RewardModel
from driftwise.online.replay.options import Course, Options
from driftwise.online.replay.policies import LOGGED, Given, Player, Policy, logged_event, policy_of
from driftwise.online.replay.rows import Row, Rows, rows_of

ROWS_AT_ONCE = 64  # in memory, with all their arms


@dataclass(frozen=True)
class Replay:
    """Evaluations of all policies, with their log and the options."""

    log: Log | DecisionLog
    options: Options
    rows: int
    skipped: int
    least_propensity: float
    dim: int  # features of an action
    memory: float  # of exponentially weighted means
    dependence: Dependence | None  # of a log without propensities
    logged: Evaluation
    policies: Mapping[str, Evaluation]

    @property
    def biased(self) -> bool:
        """Whether propensities are guessed although actions were found not to be random."""
        return self.dependence is not None and self.dependence.found

    @property
    def warnings(self) -> list[str]:
        """Sentences on policies that had next to nothing to learn from."""
        largest = min(1 / self.least_propensity, self.options.clip or np.inf)
        why = f": where weights may be {largest:.3g}, few are accepted"
        why = why if self.options.learn == "accepted" else ""
        return [
            f"{name} learnt from {each.learnt:,} of {self.rows:,} rows, fewer than its {self.dim:,} "
            f"features{why}"
            for name, each in self.policies.items()
            if each.learnt < self.dim
        ]

    def to_json(self) -> dict[str, Any]:
        """Plain values; numbers that are not known are NaN or None."""
        names = ("rows", "skipped", "least_propensity", "dim", "memory", "dependence", "biased")
        own = {name: getattr(self, name) for name in names}
        policies = {name: each.to_json() for name, each in self.policies.items()}
        options = dataclasses.asdict(self.options)
        return self.log.described() | options | own | {LOGGED: self.logged.to_json(), "policies": policies}


def replay(
    log: Log | DecisionLog,
    policies: Mapping[str, Given],
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
    rows = rows_of(log, shared=options.shared, assume_random=options.assume_random)
    made, course = _checked(log, policies, options, rows), Course(options, rows.number)
    span = None if options.reward_range is None else Range(*options.reward_range)
    level = Level(options.delta, 1 - 1 / course.memory, course.looks, course.events, span, options.k)
    players = {name: Player(each, rows, options, span, course.frozen) for name, each in made.items()}
    evaluators = {LOGGED: Evaluator(level._replace(k=0.0), (), rows.actions)} | {
        name: Evaluator(level, _others(name, options.against), rows.actions) for name in made
    }
    done = 0
    for done, (row, events) in enumerate(_walk(rows, players, span, options.seed), start=1):
        if done > course.frozen:
            for name, evaluator in evaluators.items():
                evaluator.add(events[name], events, row)
                if course.ends_window(done):
                    evaluator.end_window(done)
        if done % ROWS_AT_ONCE == 0 or done == rows.number:
            progress(done, rows.number)
    if done != rows.number:
        raise log.changed()
    known = rows.all_chances
    own = evaluators[LOGGED].evaluation(LOGGED, {}, 0, all_chances=known)
    found = {
        name: evaluators[name].evaluation(
            each.algorithm, each.parameters, players[name].learnt, all_chances=known
        )
        for name, each in made.items()
    }
    facts = rows.number, rows.skipped, rows.least_propensity, rows.dim, course.memory
    return Replay(log, options, *facts, rows.dependence, own, found)


def _checked(
    log: Log | DecisionLog, policies: Mapping[str, Given], options: Options, rows: Rows
) -> dict[str, Policy]:
    """The policies, if the log has all that they and the options need."""
    if not policies:
        raise ArgumentError("policies", "have at least one", policies)
    if options.against is not None:
        require_choice("against", options.against, [*policies])
    if options.k and not rows.all_chances:
        raise ArgumentError("k", f"be 0 for {log.path}, which lacks other actions' probabilities", options.k)
    made = {name: policy_of(name, each, rows.dim, options.seed) for name, each in policies.items()}
    for name, each in made.items():
        if uses_clock(each.decider.agent) and not rows.has_times:
            raise ValueError(f"{log.path} must have a column of times for {name}, which forgets by the clock")
    return made


def _walk(
    rows: Rows, players: Mapping[str, Player], span: Range | None, seed: int
) -> Iterator[tuple[Row, dict[str, Event]]]:
    """The rows, each as the estimators of every policy see it."""
    model, draws, number, coming = RewardModel(rows.dim), Draws(seed), 0, rows.read()
    while some := list(islice(coming, ROWS_AT_ONCE)):
        uniforms = draws.uniform(number + np.arange(len(some))).tolist()
        for row, uniform in zip(some, uniforms, strict=True):
            with np.errstate(all="ignore"):
                predictions = model.predict(row.arms)
                events = {LOGGED: logged_event(row, span)}
                for name, player in players.items():
                    events[name] = player.step(row, predictions, number, uniform)
                model.learn(row.arms[row.arm], row.reward)
            yield row, events
            number += 1


def _others(name: str, against: str | None) -> tuple[str, ...]:
    """Names of the policies that one is compared with."""
    return (LOGGED,) if against in (None, name) else (LOGGED, against)
