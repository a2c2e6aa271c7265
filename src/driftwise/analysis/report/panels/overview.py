"""All agents in all environments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report
from driftwise.analysis.report.panels.common import bootstrap_caution
from driftwise.analysis.statistics import Interval, lowest, mean_interval, rank_table
from driftwise.analysis.statistics.wording import with_half_width, with_interval
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


def ranking_table(report: Report) -> Table:
    """Average rank of every agent, and its regret in every environment."""
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
    return Table.of("overview", words("agent") + numbers("average rank [95 %]", *report), rows)


def overview(report: Report) -> Section | None:
    """The ranking, if there are several environments."""
    if len(report) < 2:
        return None
    note = (
        "Final cumulative regret, mean ± 95 % half-width (Student’s t); bold: the lowest mean of an "
        "environment. Average rank: by final regret within each run of each environment, averaged over all, "
        "so that environments count alike whatever the size of their regret; the interval is a bootstrap "
        f"over runs.{bootstrap_caution(next(iter(report.values())))}"
    )
    return Section("Overview", [ranking_table(report), note])
