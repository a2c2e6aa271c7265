"""Paired differences to the best agent."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics import PairedDifference, difference, holm, paired_difference
from driftwise.analysis.statistics.wording import percent, probability, with_interval
from driftwise.analysis.table import Cell, Table, numbers, words

TITLE = "Differences to the best agent"
HEADINGS = ("difference [95 %]", "p, adjusted", "p", "runs won by the best")


class Differences(NamedTuple):
    """Differences of the other agents to the best, from the next one to the worst."""

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


def differences_table(data: ReportData, differences: Differences) -> Table:
    """Every difference with its test, and how often the best agent won."""
    rows = []
    for place, index in enumerate(data.order[1:]):
        interval = [float(each[place]) for each in differences.found[:3]]
        text = "identical" if differences.identical[place] else with_interval(*interval)
        tests = (float(differences.adjusted[place]), float(differences.p[place]))
        won = Cell.of(percent, float(1 - differences.found.share_better[place]))
        row = Cell(text, tuple(interval)), *(Cell.of(probability, p) for p in tests), won
        rows.append((data.labels[index], *row))
    return Table.of("differences", words("agent") + numbers(*HEADINGS), rows)


def differences(data: ReportData) -> Section | None:
    """The differences, if there are several agents."""
    if len(data.labels) < 2:
        return None
    if data.num_runs < 2:
        return Section(TITLE, ["One run cannot tell luck from skill: there is nothing to test."])
    found = differences_to_best(data)
    note = (
        f"Final cumulative regret minus that of {data.labels[data.order[0]]}, run by run under common random "
        "numbers; paired t-tests, adjusted by Holm for the number of tests. The best agent was chosen by the "
        "same runs, which flatters it: confirm a close call with another seed."
    )
    if found.identical.any():
        note += " Identical: equal in every run, but for rounding."
    return Section(TITLE, [differences_table(data, found), note])
