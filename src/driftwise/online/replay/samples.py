"""A log as samples of a regression: the features of what was done, and its reward."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from driftwise.online.decision_log import DecisionLog, Logged
from driftwise.online.replay.logs import Log, Survey
from driftwise.online.replay.models import Encoding

MAX_DIM = 500  # an event takes time in its cube: then some hundredths of a second


class Samples(NamedTuple):
    """The usable rows of a log."""

    features: np.ndarray  # [n, dim] of the actions that were taken
    rewards: np.ndarray  # [n]
    actions: tuple[str, ...]  # all that there are
    skipped: int  # rows with a value that is missing or not finite, decisions without a reward
    times: np.ndarray | None  # [n] in seconds since 1970, if the log has them
    encoding: Encoding | None  # which makes features of later contexts and actions; None for a decision log


def read_samples(log: Log | DecisionLog, *, shared: bool = False) -> Samples:
    """The whole log, with the features that a replay of it has (`Encoding`); a decision log has its own.

    A log without actions has the features `(1, z)/√(p+1)`.
    """
    return _of_decisions(log) if isinstance(log, DecisionLog) else _of_table(log, shared)


def _of_table(log: Log, shared: bool) -> Samples:
    seen = log.survey()
    encoding = fitted_encoding(log, seen, shared)
    features, rewards, first = np.empty((seen.rows, encoding.dim)), np.empty(seen.rows), 0
    times = None if log.time is None else np.empty(seen.rows)
    for events in log.events():
        rows = slice(first, first + len(events.rewards))
        first = rows.stop
        if first > seen.rows:
            raise log.changed()
        features[rows] = encoding.taken(encoding.contexts(events.features), seen.arms(log, events))
        rewards[rows] = events.rewards
        if times is not None:
            times[rows] = events.times
    if first != seen.rows:
        raise log.changed()
    return Samples(features, rewards, tuple(seen.actions), seen.skipped, times, encoding)


def _of_decisions(log: DecisionLog) -> Samples:
    rows, numbers, names, skipped = list[np.ndarray](), list[tuple[float, float]](), dict[str, None](), 0
    for each in alike(log):
        if each.reward is None:
            skipped += 1
            continue
        rows.append(each.arms[each.arm])
        numbers.append((each.reward, each.time))
        names |= dict.fromkeys(names_of(each))
    if not rows:
        raise nothing_to_learn_from(log, skipped)
    rewards, times = np.array(numbers).T
    return Samples(np.array(rows), rewards, tuple(names), skipped, times, None)


def alike(log: DecisionLog) -> Iterator[Logged]:
    """All decisions of a log, whose arms have the same number of features."""
    dim = None
    for each in log.decisions():
        if dim is None:
            dim = each.arms.shape[1]
            require_dim(f"{log.path}: arms", dim)
        if each.arms.shape[1] != dim:
            found = f"{each.arms.shape[1]} at decision {each.id!r}"
            raise ValueError(f"{log.path}: arms must have {dim} features in all decisions, got {found}")
        yield each


def names_of(logged: Logged) -> Iterable[str]:
    """Names of the arms of a decision, or their numbers."""
    return map(str, range(len(logged.arms))) if logged.names is None else logged.names


def nothing_to_learn_from(log: DecisionLog, skipped: int) -> ValueError:
    """The error of a log without rewards."""
    problem = f"all {skipped:,} lack a reward" if skipped else "it has none"
    return ValueError(f"{log.path} must have at least one decision to learn from, but {problem}")


def fitted_encoding(log: Log, seen: Survey, shared: bool) -> Encoding:
    """The features of a log's actions, of which there are not too many."""
    encoding = Encoding(seen.encoder, len(seen.actions), shared)
    smaller = "fewer actions or features" if shared else "shared=True (--shared), or fewer features"
    what = f"{len(seen.actions):,} actions and {seen.encoder.dim:,} features of contexts"
    require_dim(f"{log.path}: {what}", encoding.dim, f": take {smaller}")
    return encoding


def require_dim(what: str, dim: int, advice: str = "") -> None:
    """Refuse more weights than can be replayed in reasonable time."""
    if dim > MAX_DIM:
        raise ValueError(f"{what} must make at most {MAX_DIM:,} weights, got {dim:,}{advice}")
