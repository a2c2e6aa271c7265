"""Agents beside each other: all of them over all environments, and each against the best in one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.report.panels.common import bootstrap_caution
from driftwise.analysis.statistics import (
    Interval,
    PairedDifference,
    difference,
    holm,
    lowest,
    mean_interval,
    paired_difference,
    rank_table,
)
from driftwise.analysis.statistics.wording import percent, probability, with_half_width, with_interval
from driftwise.analysis.table import Cell, Table, numbers, words


class Ranking(NamedTuple):
    """All agents over all environments, from the lowest rank to the highest."""

    agents: tuple[str, ...]
    ranks: Interval  # [agents] mean over runs and environments of the rank in each, with a bootstrap interval
    leads: np.ndarray  # [agents] the lowest rank, or equal to it
    means: np.ndarray  # [agents, environments] of final cumulative regret
    half_widths: np.ndarray
    best: np.ndarray  # the lowest mean of the environment, or equal to it


def ranking(report: Report) -> Ranking:
    """Ranks and final regrets of all agents."""
    agents = next(iter(report.values())).labels
    finals = np.stack(
        [data.scores[:, [data.labels.index(agent) for agent in agents]].T for data in report.values()], axis=1
    )  # [agents, environments, runs]
    ranks = rank_table({agent: each.T for agent, each in zip(agents, finals, strict=True)}).overall
    order = np.argsort(ranks.estimate, kind="stable")
    means, half_widths = mean_interval(np.moveaxis(finals[order], -1, 0))
    return Ranking(
        tuple(agents[place] for place in order),
        Interval(*(each[order] for each in ranks)),
        lowest(ranks.estimate)[order],
        means,
        half_widths,
        np.stack([lowest(each) for each in means.T], axis=1),
    )


def overview(report: Report) -> Section | None:
    """Average rank of every agent, and its regret in every environment, if there are several."""
    if len(report) < 2:
        return None
    agents, ranks, _, *regrets = ranking(report)
    rows = [
        (
            agent,
            Cell.of(with_interval, *(float(each[place]) for each in ranks)),
            *(
                Cell.of(with_half_width, float(mean), float(half_width), best=bool(best))
                for mean, half_width, best in zip(*(each[place] for each in regrets), strict=True)
            ),
        )
        for place, agent in enumerate(agents)
    ]
    table = Table.of("overview", words("agent") + numbers("average rank [95 %]", *report), rows)
    first = next(iter(report.values()))
    word = first.quantity
    note = (
        f"Final cumulative {word}, mean ± 95 % half-width (Student’s t); bold: the lowest mean of an "
        f"environment. Average rank: by final {word} within each run of each environment, averaged over "
        f"all, so that environments count alike whatever the size of their {word}; the interval is a "
        f"bootstrap over runs.{bootstrap_caution(first)}"
    )
    return Section("Overview", [table, note])


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
    return Differences(found, identical, p, holm(p))


def differences(data: ReportData) -> Section | None:
    """Every difference with its test, and how often the best agent won, if there are several agents."""
    if len(data.labels) < 2:
        return None
    title = "Differences to the best agent"
    if data.num_runs < 2:
        return Section(title, ["One run cannot tell luck from skill: there is nothing to test."])
    differences, rows = differences_to_best(data), []
    for place, index in enumerate(data.order[1:]):
        interval = [float(each[place]) for each in differences.found[:3]]
        text = "identical" if differences.identical[place] else with_interval(*interval)
        tests = (float(differences.adjusted[place]), float(differences.p[place]))
        won = Cell.of(percent, float(1 - differences.found.share_better[place]))
        row = Cell(text, tuple(interval)), *(Cell.of(probability, p) for p in tests), won
        rows.append((data.labels[index], *row))
    columns = numbers("difference [95 %]", "p, adjusted", "p", "runs won by the best")
    table = Table.of("differences", words("agent") + columns, rows)
    shared = "" if data.foreign else " under common random numbers"
    note = (
        f"Final cumulative {data.quantity} minus that of {data.labels[data.order[0]]}, run by run{shared}; "
        "paired t-tests, adjusted by Holm for the number of tests. The best agent was chosen by the "
        "same runs, which flatters it: confirm a close call with another seed."
    )
    if differences.identical.any():
        note += " Identical: equal in every run, but for rounding."
    return Section(title, [table, note])
