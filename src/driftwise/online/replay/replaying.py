"""The replay: two passes over a log, one row after the other in the second, for all policies at once."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.algorithms import ALGORITHMS, build
from driftwise.base.schema import prefix_errors
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_choice, require_instance
from driftwise.online.bandit import Bandit
from driftwise.online.deciders import RoundDraws, make_decider
from driftwise.online.deciders.clock_decider import uses_clock
from driftwise.online.decision_log import DecisionLog
from driftwise.online.intervals import pseudo_outcome
from driftwise.online.named_bandit import NamedBandit
from driftwise.online.replay.evaluations import Evaluator, Event, PolicyEvaluation
from driftwise.online.replay.logged_rows import (
    INDEPENDENCE_LEVEL,
    Dependence,
    LoggedRow,
    LoggedRows,
    measure_dependence,
    read_rows,
)
from driftwise.online.replay.options import Options, ReplaySchedule
from driftwise.online.replay.table_log import TableLog

_ROWS_AT_ONCE = 64  # whose uniform numbers are drawn together
LOGGED = "logged"  # the policy that wrote the log
PolicyDescription = Mapping[str, Any] | Bandit | NamedBandit


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
    def evaluations(self) -> dict[str, PolicyEvaluation]:
        """The logged policy and all others, by name."""
        return {LOGGED: self.logged, **self.policies}

    @property
    def biased(self) -> bool:
        """Whether shares of actions stand for propensities although actions were not random."""
        return self.dependence is not None and self.dependence.is_significant

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

    Rows are accepted with probability $\pi_t(a\mid x)\,p_{\min}/p$, and are then distributed as if the agent
    had acted itself. Their mean reward is the `replay` estimate.

    Args:
      log: a table with a context in each row, or a `DecisionLog` with the features of all arms.
      policies: by their names. Each is a table with the `algorithm` and its parameters, and a `Bandit`'s
        `epsilon` and `num_draws`; or a `Bandit`, which goes on from where it is.
      progress: called as `progress(rows_done, rows)`.

    References: Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2; Dudík, Langford & Li, ICML 2011.
    """
    options = Options() if options is None else options
    rows = read_rows(log, shared=options.shared)
    if rows.most_arms < 2:
        problem = "some decision must have at least two arms, got one in all of them"
        if isinstance(log, TableLog):
            values = f"must have at least two different values, got {[*rows.numbers]}"
            problem = f"{log.action or 'action'} {values}"
        raise ValueError(f"{log.path}: {problem}")
    dependence = None
    if isinstance(log, TableLog) and log.propensity is None:
        dependence = measure_dependence(log, rows)
        if dependence.is_significant and not options.assume_random:
            raise ValueError(
                f"{log.path}: the actions must have propensities (--propensity), since they were not drawn "
                f"at random: they depend on {dependence.on} (level {INDEPENDENCE_LEVEL:g}); "
                "assume_random = true goes on, with estimates that are biased"
            )
    schedule = ReplaySchedule(options, rows.number)
    if not policies:
        raise ArgumentError("policies", "have at least one", policies)
    if options.against is not None:
        require_choice("against", options.against, [*policies])
    if options.k and isinstance(log, TableLog) and log.propensity is not None:
        raise ArgumentError("k", f"be 0 for {log.path}, which lacks other actions' probabilities", options.k)
    evaluators = {LOGGED: Evaluator(schedule, rows, (), 0.0)}
    replays = dict[str, _PolicyReplay]()
    for name, description in policies.items():
        replays[name] = _PolicyReplay(name, description, schedule, rows)
        if isinstance(log, TableLog) and log.time is None and uses_clock(replays[name].decider.agent):
            raise ValueError(f"{log.path} must have a column of times for {name}, which forgets by the clock")
        others = (LOGGED,) if options.against in (None, name) else (LOGGED, options.against)
        evaluators[name] = Evaluator(schedule, rows, others, options.k)
    draws, firsts = RoundDraws(options.seed), itertools.count(0, _ROWS_AT_ONCE)
    blocks = (draws.uniform(first + np.arange(_ROWS_AT_ONCE)).tolist() for first in firsts)
    uniforms = itertools.chain.from_iterable(blocks)
    weights, inverse = np.zeros(rows.dim), np.eye(rows.dim)  # of the reward model, ridge regression
    with np.errstate(all="ignore"):
        for number, (row, uniform) in enumerate(zip(rows.read(), uniforms, strict=False)):
            done, predictions, scaled, gains = number + 1, row.arms @ weights, None, None
            if options.reward_range is not None:
                low, high = options.reward_range
                if not low <= row.reward <= high:
                    expected = f"rewards of the log must lie in reward_range, from {low:g} to {high:g}"
                    raise ValueError(f"{expected}, got {row.reward:g}")
                scaled = (row.reward - low) / (high - low)
                gains = scaled, 1 - scaled
            chosen = (np.arange(len(row.arms)) == row.arm).astype(np.float64)
            events = {LOGGED: Event(row.reward, 1.0, 0.0, row.reward, False, chosen, gains, gains)}
            for name, policy in replays.items():
                events[name] = policy.step(row, predictions, scaled, number, uniform)
            features = row.arms[row.arm]
            direction = inverse @ features
            gain = direction / (1 + features @ direction)
            weights += gain * (row.reward - features @ weights)
            inverse -= np.outer(gain, direction)
            for name, evaluator in evaluators.items() if done > schedule.frozen else ():
                evaluator.add(events[name], events, row, done)
            if done % _ROWS_AT_ONCE == 0 or done == rows.number:
                progress(done, rows.number)
    logged = evaluators[LOGGED].evaluation(LOGGED, {}, 0)
    evaluations = {
        name: evaluators[name].evaluation(policy.algorithm, policy.parameters, policy.learnt)
        for name, policy in replays.items()
    }
    facts = rows.number, rows.skipped, rows.least_propensity, rows.dim, schedule.memory, dependence
    return Replay(log, options, *facts, logged, evaluations)


class _PolicyReplay:
    """A policy that meets the rows of a log one after the other, and learns from those that it may.

    Rows are accepted with probability `min(ρ, M)/M`, where `M` is the largest possible weight, the same for
    all contexts. With a bound of each context's own, contexts would be accepted by how alike the policies
    are there, and have another distribution than in the log.
    """

    def __init__(
        self, name: str, description: PolicyDescription, schedule: ReplaySchedule, rows: LoggedRows
    ) -> None:
        require_instance("policies", name, str)
        if name == LOGGED:
            raise ArgumentError("policies", f"have names other than {LOGGED!r}, which the log has", name)
        bandit = description.bandit if isinstance(description, NamedBandit) else description
        self._options, self._frozen, self.learnt = schedule.options, schedule.frozen, 0
        self.parameters = dict[str, Any]()
        with prefix_errors(f"policy {name}"):
            if isinstance(bandit, Bandit):
                if (dim := bandit.agent.spec.dim) != rows.dim:
                    raise ValueError(f"it must have the {rows.dim} features of the log's actions, got {dim}")
            else:
                self.parameters |= bandit
                algorithm = self.parameters.pop("algorithm", name)
                takes = ALGORITHMS.find(algorithm).takes
                exploring = [option for option in ("epsilon", "num_draws") if not takes(option)]
                needed = {key: value for key, value in self.parameters.items() if key not in exploring}
                build(Spec.bandit(dim=rows.dim, num_arms=1), algorithm, **needed)  # a bandit has more options
                bandit = Bandit(algorithm, dim=rows.dim, seed=self._options.seed, **self.parameters)
        settings = bandit.settings
        self.algorithm, self._epsilon = settings.algorithm, settings.epsilon
        self.decider = make_decider(bandit.agent, settings.seed, settings.num_draws)
        self.decider.state = bandit.state
        self._clip = np.inf if self._options.clip is None else self._options.clip
        self._share = max(rows.least_propensity, 1 / self._clip)  # 1/M

    def step(
        self, row: LoggedRow, predictions: np.ndarray, scaled: float | None, number: int, uniform: float
    ) -> Event:
        """Return a row as the policy's estimators see it, before the policy learns from it."""
        arm, learn_all, k = row.arm, self._options.learn == "all", self._options.k
        try:
            offer = self.decider.offer(row.arms, number, row.time).with_floor(self._epsilon)
            chances = offer.chances
            full_weight = chances.item(arm) / row.propensity
            weight = min(full_weight, self._clip)
            accepted = not learn_all and uniform < weight * self._share
            if (accepted or learn_all) and not 0 < self._frozen <= number:
                if learn_all:  # as if it had been the only arm, since somebody else chose it
                    offer, arm = self.decider.offer(row.arms[arm : arm + 1], number, row.time), 0
                self.decider.learn(offer.choice(arm), row.reward, row.time)
                self.learnt += 1
        except FloatingPointError as error:
            raise ValueError(str(error)) from None
        doubly_robust = float(chances @ predictions) + weight * (row.reward - float(predictions[row.arm]))
        gains = None if scaled is None else (weight * scaled, weight * (1 - scaled))
        outcomes = gains
        if k and scaled is not None and row.chances is not None:
            low, high = self._options.reward_range or (0.0, 1.0)
            weights = np.divide(chances, row.chances, out=np.zeros(len(chances)), where=row.chances > 0)
            weights = np.minimum(weights, self._clip)
            predicted = np.clip((predictions - low) / (high - low), 0.0, 1.0)
            sides = (scaled, predicted), (1 - scaled, 1 - predicted)
            up, down = (pseudo_outcome(r, row.arm, row.chances, weights, q, k) for r, q in sides)
            outcomes = up, down
        excess = full_weight - weight
        return Event(row.reward, weight, excess, doubly_robust, accepted, chances, gains, outcomes)
