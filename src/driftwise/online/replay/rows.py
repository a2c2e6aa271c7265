"""Logged decisions as a replay meets them: all arms with their features, and the one that was taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay.independence import Dependence, require_random
from driftwise.online.replay.logs import Log
from driftwise.online.replay.samples import alike, fitted_encoding, names_of, nothing_to_learn_from


class Row(NamedTuple):
    """One decision."""

    arms: np.ndarray  # [num_arms, dim]
    arm: int
    reward: float
    propensity: float
    chances: np.ndarray | None  # [num_arms] the probabilities that all arms had, if known
    places: np.ndarray  # [num_arms] numbers of the arms among all actions
    time: float  # in seconds; 0 where it is not known


class Rows(NamedTuple):
    """All usable rows of a log, oldest first, and facts about them."""

    number: int
    skipped: int
    actions: tuple[str, ...]  # of a decision log, names or numbers of the arms
    least_propensity: float
    dim: int
    all_chances: bool  # whether the probabilities of all arms are known
    dependence: Dependence | None  # of actions without propensities
    has_times: bool
    read: Callable[[], Iterator[Row]]


def rows_of(log: Log | DecisionLog, *, shared: bool, assume_random: bool) -> Rows:
    """The rows of a log, which is read for the facts."""
    return _of_decisions(log) if isinstance(log, DecisionLog) else _of_table(log, shared, assume_random)


def _of_table(log: Log, shared: bool, assume_random: bool) -> Rows:
    seen = log.survey()
    if len(seen.actions) < 2:
        found = f"must have at least two different values, got {[*seen.actions]}"
        raise ValueError(f"{log.path}: {log.action or 'action'} {found}")
    encoding = fitted_encoding(log, seen, shared)
    dependence = require_random(log, seen, assume_random=assume_random)
    places = np.arange(len(seen.actions))
    shares = None if log.has_propensities else np.array(list(seen.actions.values()))

    def read() -> Iterator[Row]:
        for events in log.events():
            arms = seen.arms(log, events)
            propensities = seen.propensities(events, arms)
            times = np.zeros(len(arms)) if events.times is None else events.times
            numbers = (each.tolist() for each in (arms, events.rewards, propensities, times))
            for context, *others in zip(encoding.contexts(events.features), *numbers, strict=True):
                arm, reward, propensity, time = others
                yield Row(encoding.actions(context), arm, reward, propensity, shares, places, time)

    facts = seen.rows, seen.skipped, tuple(seen.actions), seen.least_propensity, encoding.dim
    return Rows(*facts, shares is not None, dependence, log.time is not None, read)


def _of_decisions(log: DecisionLog) -> Rows:
    number, skipped, most, least, dim, places = 0, 0, 0, 1.0, 0, dict[str, int]()
    for each in alike(log):
        dim = each.arms.shape[1]
        if each.reward is None:
            skipped += 1
            continue
        number, most = number + 1, max(most, len(each.arms))
        least = min(least, float(each.probabilities[each.arm]))
        for name in names_of(each):
            places.setdefault(name, len(places))
    if not number:
        raise nothing_to_learn_from(log, skipped)
    if most < 2:
        raise ValueError(f"{log.path}: some decision must have at least two arms, got one in all of them")

    def read() -> Iterator[Row]:
        for each in log.decisions():
            if each.reward is not None:
                propensity = float(each.probabilities[each.arm])
                here = np.array([places[name] for name in names_of(each)])
                yield Row(each.arms, each.arm, each.reward, propensity, each.probabilities, here, each.time)

    return Rows(number, skipped, tuple(places), least, dim, True, None, True, read)
