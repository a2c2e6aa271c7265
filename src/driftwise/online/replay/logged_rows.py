"""Rows of a table or of a log of decisions: the features of all arms, the one taken, and its reward."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.decision_log import DecisionLog, LoggedDecision
from driftwise.online.encoding import Encoder
from driftwise.online.named_arms import ArmBlocks
from driftwise.online.replay.table_log import Survey, TableLog, changed_error, number_actions

MAX_WEIGHTS = 500  # a row takes time in their cube: then some hundredths of a second


@dataclass(frozen=True)
class ActionEncoding:
    """Features of the actions in a context `x`, of which an encoder makes `c(x)`.

    Every action has weights of its own, `φ(x, a) = e_a ⊗ c`; with `shared` they have a level of their own and
    the rest in common, `φ(x, a) = (c, e_a)/√2`. Norms are at most one.
    """

    encoder: Encoder
    num_actions: int
    shared: bool = False

    @property
    def dim(self) -> int:
        own = 1 if self.shared else self.encoder.dim
        return self.shared * self.encoder.dim + self.num_actions * own

    def contexts(self, features: Any) -> np.ndarray:
        """Return `c` of rows, in any form that an encoder takes: `[n, p]`."""
        return self.encoder.rows(features)

    def actions(self, context: np.ndarray) -> np.ndarray:
        """Return `φ` of all actions in one context: `[num_actions, dim]`."""
        return self.taken(np.tile(context, (self.num_actions, 1)), np.arange(self.num_actions))

    def taken(self, contexts: np.ndarray, actions: np.ndarray) -> np.ndarray:
        """Return `φ` of one action in each of many contexts `[n, p]`: `[n, dim]`."""
        shared, own = (contexts, np.ones((len(actions), 1))) if self.shared else (None, contexts)
        return ArmBlocks(shared, own, actions.tolist(), self.num_actions).features


class LoggedRow(NamedTuple):
    """One decision with its reward."""

    arms: Callable[[], np.ndarray]  # makes the features of all arms: [num_arms, dim]
    arm: int
    taken: np.ndarray  # [dim] the features of the arm that was taken
    reward: float
    propensity: float
    chances: np.ndarray | None  # [num_arms] the probabilities that all arms had, if known
    numbers: np.ndarray  # [num_arms] of the arms among all actions
    time: float  # in seconds; 0 where it is not known


class LoggedRows(NamedTuple):
    """All usable rows of a log, oldest first, and facts about them."""

    number: int
    skipped: int
    actions: tuple[str, ...]  # of a decision log, names or numbers of the arms
    least_propensity: float
    dim: int
    most_arms: int  # of a row
    has_chances: bool  # whether the probabilities of all arms are known
    has_times: bool
    survey: Survey | None  # of a table
    encoding: ActionEncoding | None  # of a table
    read: Callable[[], Iterator[LoggedRow]]


def read_rows(log: TableLog | DecisionLog, *, shared: bool = False) -> LoggedRows:
    """Return the rows of a log and facts about them, for which the log is read once."""
    return _rows_of_decisions(log) if isinstance(log, DecisionLog) else _rows_of_table(log, shared)


def _rows_of_table(log: TableLog, shared: bool) -> LoggedRows:
    survey = log.survey()
    encoding = ActionEncoding(survey.encoder, len(survey.shares), shared)
    sizes = f"{len(survey.shares):,} actions and {survey.encoder.dim:,} features of contexts"
    smaller = "fewer actions or features" if shared else "shared=True, or fewer features"
    _require_few_weights(f"{log.path}: {sizes}", encoding.dim, f": take {smaller}")
    numbers = np.arange(len(survey.shares))
    shares = np.array(list(survey.shares.values()))
    chances = shares if log.propensity is None else None

    def read() -> Iterator[LoggedRow]:
        for block in log.blocks():
            arms, contexts = survey.arms(log, block), encoding.contexts(block.features)
            propensities = shares[arms] if block.propensities is None else block.propensities
            times = np.zeros(len(arms)) if block.times is None else block.times
            plain = (values.tolist() for values in (arms, block.rewards, propensities, times))
            columns = zip(contexts, encoding.taken(contexts, arms), *plain, strict=True)
            for context, taken, arm, reward, propensity, time in columns:
                make_arms = partial(encoding.actions, context)
                yield LoggedRow(make_arms, arm, taken, reward, propensity, chances, numbers, time)

    facts = survey.rows, survey.skipped, tuple(survey.shares), survey.least_propensity, encoding.dim
    known = chances is not None, log.time is not None
    return LoggedRows(*facts, len(survey.shares), *known, survey, encoding, read)


def _rows_of_decisions(log: DecisionLog) -> LoggedRows:
    count, skipped, most, least, dim, numbers = 0, 0, 0, 1.0, None, dict[str, int]()
    for logged in log.decisions():
        dim = logged.arms.shape[1] if dim is None else dim
        _require_few_weights(f"{log.path}: arms", dim)
        if logged.arms.shape[1] != dim:
            dims = f"{logged.arms.shape[1]} at decision {logged.id!r}"
            raise ValueError(f"{log.path}: arms must have {dim} features in all decisions, got {dims}")
        if logged.reward is None:
            skipped += 1
            continue
        count, most = count + 1, max(most, len(logged.arms))
        least = min(least, float(logged.probabilities[logged.arm]))
        for name in _arm_names(logged):
            numbers.setdefault(name, len(numbers))
    if dim is None or not count:
        problem = f"all {skipped:,} lack a reward" if skipped else "it has none"
        raise ValueError(f"{log.path} must have at least one decision to learn from, but {problem}")

    def read() -> Iterator[LoggedRow]:
        for logged in log.decisions():
            if logged.reward is not None:
                arms, arm, chances = logged.arms, logged.arm, logged.probabilities
                propensity = float(chances[arm])
                of_arms = number_actions(log, numbers, _arm_names(logged))
                yield LoggedRow(
                    arms.view, arm, arms[arm], logged.reward, propensity, chances, of_arms, logged.time
                )

    return LoggedRows(count, skipped, tuple(numbers), least, dim, most, True, True, None, None, read)


def _arm_names(logged: LoggedDecision) -> tuple[str, ...]:
    return tuple(map(str, range(len(logged.arms)))) if logged.names is None else logged.names


def _require_few_weights(subject: str, dim: int, advice: str = "") -> None:
    if dim > MAX_WEIGHTS:
        raise ValueError(f"{subject} must make at most {MAX_WEIGHTS:,} weights, got {dim:,}{advice}")


class LoggedSamples(NamedTuple):
    """The usable rows of a log as samples of a regression."""

    features: np.ndarray  # [n, dim] of the actions that were taken
    rewards: np.ndarray  # [n]
    actions: tuple[str, ...]  # all that there are
    skipped: int  # rows with a value that is missing or not finite, decisions without a reward
    times: np.ndarray | None  # [n] in seconds since 1970, if the log has them
    encoding: ActionEncoding | None  # of later contexts and actions; None for a decision log


def read_samples(log: TableLog | DecisionLog, *, shared: bool = False) -> LoggedSamples:
    """Return the whole log with the features that a replay of it has (`ActionEncoding`).

    A log without actions has the features `(1, z)/√(p+1)`.
    """
    rows = read_rows(log, shared=shared)
    features, rewards, times, count = np.empty((rows.number, rows.dim)), *np.empty((2, rows.number)), 0
    for row in rows.read():
        if count < rows.number:
            features[count], rewards[count], times[count] = row.taken, row.reward, row.time
        count += 1
    if count != rows.number:
        raise changed_error(log)
    known = times if rows.has_times else None
    return LoggedSamples(features, rewards, rows.actions, rows.skipped, known, rows.encoding)
