"""A first look at a log: which actions there are, how often, and how far the features reach."""

from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np

from driftwise.online.replay.logs import Events, Log

MAX_ACTIONS = 1000


class Survey(NamedTuple):
    """What has to be known of a log before it is replayed."""

    rows: int  # usable ones
    skipped: int
    actions: dict[str, float]  # their shares of the rows, in order
    low: np.ndarray  # [p] the ranges of the features
    high: np.ndarray
    mean_reward: float
    least_propensity: float

    def propensities(self, events: Events, arms: np.ndarray) -> np.ndarray:
        """Of the logged actions: as they were logged, or else their shares of the whole log."""
        if events.propensities is not None:
            return events.propensities
        return np.array(list(self.actions.values()))[arms]


def survey(log: Log) -> Survey:
    """Read the log once."""
    counts: collections.Counter[str] = collections.Counter()
    low, high = np.full(len(log.features), np.inf), np.full(len(log.features), -np.inf)
    rows, skipped, total, least = 0, 0, 0.0, 1.0
    for events in log.events():
        counts.update(events.actions.tolist())
        if len(counts) > MAX_ACTIONS:
            raise ValueError(
                f"{log.path}: {log.action} must have at most {MAX_ACTIONS:,} different values, got more"
            )
        low = np.minimum(low, events.features.min(axis=0, initial=np.inf))
        high = np.maximum(high, events.features.max(axis=0, initial=-np.inf))
        rows, skipped = rows + len(events.rewards), skipped + events.skipped
        total += float(events.rewards.sum())
        if events.propensities is not None:
            least = min(least, float(events.propensities.min(initial=1.0)))
    if not rows:
        problem = f"all {skipped:,} lack a value" if skipped else "it has none"
        raise ValueError(f"{log.path} must have at least one row to replay, but {problem}")
    if len(counts) < 2:
        raise ValueError(f"{log.path}: {log.action} must have at least two different values, got {[*counts]}")
    shares = {action: counts[action] / rows for action in sorted(counts)}
    if log.propensity is None:
        least = min(shares.values())
    return Survey(rows, skipped, shares, low, high, total / rows, least)
