"""The numbers of the final table, one row for each agent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import (
    PairedDifference,
    bootstrap_interval,
    difference,
    holm,
    mean_interval,
    paired_difference,
    recovery_summary,
    recovery_times,
    regret_area,
)

RECOVERED = 0.25  # share of the regret of random actions, under which an agent has recovered


@dataclass(frozen=True)
class Row:
    """What an agent came to in an environment; NaN where it is not known."""

    environment: str
    agent: str
    rank: float  # by mean final cumulative regret; equal ones share their places
    mean: float
    half_width: float
    iqm: float
    iqm_low: float
    iqm_high: float
    area: float
    recovery: tuple[float, ...]  # median episodes after each change; infinite if most runs do not recover
    counts: Mapping[str, float]  # of events in a run, the mean
    seconds: float

    @property
    def mean_recovery(self) -> float:
        """Over the changes that can be judged; infinite if one is never recovered from."""
        judged = [time for time in self.recovery if not math.isnan(time)]
        return sum(judged) / len(judged) if judged else math.nan


def summary(data: ReportData) -> tuple[Row, ...]:
    """The rows from the best agent to the worst."""
    mean, half_width = mean_interval(data.scores)
    iqm = bootstrap_interval(data.scores)
    recovery = recoveries(data)
    rows = [
        Row(
            environment=data.environment_label,
            agent=label,
            rank=float(data.ranks[index]),
            mean=float(mean[index]),
            half_width=float(half_width[index]),
            iqm=float(iqm.estimate[index]),
            iqm_low=float(iqm.low[index]),
            iqm_high=float(iqm.high[index]),
            area=float(regret_area(result.cumulative_regret, lengths=data.lengths, normalised=True).mean()),
            recovery=tuple(float(each) for each in recovery[index]),
            counts={name: float(result.counts[name].mean()) for name in result.counts},
            seconds=_seconds(data, index),
        )
        for index, (label, result) in enumerate(data.results.items())
    ]
    return tuple(rows[index] for index in data.order)


class Differences(NamedTuple):
    """How the other agents differ from the best, from the next one to the worst."""

    found: PairedDifference  # arrays [agents − 1]
    identical: np.ndarray  # in every run, but for rounding: there is nothing to test
    p: np.ndarray  # of the t-test; NaN where nothing is tested
    adjusted: np.ndarray  # after Holm's correction for the number of tests


def differences_to_best(data: ReportData) -> Differences:
    """Paired differences in final cumulative regret; at least two agents and two runs are needed."""
    best, others = data.order[0], data.order[1:]
    first, second = data.scores[:, others], np.repeat(data.scores[:, [best]], len(others), axis=1)
    found, identical = paired_difference(first, second), (difference(first, second) == 0).all(axis=0)
    p = np.where(identical, math.nan, found.p_t)
    adjusted = p.copy()
    adjusted[~identical] = holm(p[~identical])
    return Differences(found, identical, p, adjusted)


def smoothing(data: ReportData) -> int:
    """Points that regret is averaged over before it is held against the threshold, and must stay under it."""
    return max(1, len(data.lengths) // 100)


def recovery_threshold(data: ReportData) -> float:
    """A share of the regret of random actions: a property of the environment, whichever agents were run."""
    return RECOVERED * data.random_regret


def recoveries(data: ReportData) -> np.ndarray:
    """Median episodes to recover, `[agents, changes]`."""
    threshold, width = recovery_threshold(data), smoothing(data)
    if not data.changes or math.isnan(threshold):
        return np.full((len(data.labels), len(data.changes)), math.nan)
    times = (
        recovery_times(
            result.regret,
            data.changes,
            lengths=data.lengths,
            threshold=threshold,
            smooth=width,
            hold=width,
        )
        for result in data.results.values()
    )
    return np.stack([recovery_summary(each).median for each in times])


def _seconds(data: ReportData, index: int) -> float:
    seconds = data.agents[index].get("seconds")
    return float(seconds) if isinstance(seconds, (int, float)) else math.nan
