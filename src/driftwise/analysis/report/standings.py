"""How agents stand over all environments of a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.analysis.report.data import Report
from driftwise.analysis.statistics import lowest, mean_interval, rank_table


@dataclass(frozen=True)
class Score:
    """Final cumulative regret of an agent in an environment."""

    mean: float
    half_width: float
    best: bool  # the lowest mean, or equal to it


@dataclass(frozen=True)
class Standing:
    """An agent over all environments."""

    agent: str
    rank: float  # mean over runs and environments of its rank in each, with a bootstrap interval
    low: float
    high: float
    leads: bool  # the lowest rank, or equal to it
    scores: dict[str, Score]  # by environment


def standings(report: Report) -> tuple[Standing, ...]:
    """All agents, from the lowest rank to the highest."""
    labels = next(iter(report.values())).labels
    columns = [[data.labels.index(label) for label in labels] for data in report.values()]
    finals = np.stack(
        [data.scores[:, order] for data, order in zip(report.values(), columns, strict=True)], axis=1
    )  # [runs, environments, agents]
    ranks = rank_table({label: finals[:, :, place] for place, label in enumerate(labels)}).overall
    means, half_widths = mean_interval(finals)
    best, leads = np.stack([lowest(row) for row in means]), lowest(ranks.estimate)
    found = [
        Standing(
            label,
            *(float(each[place]) for each in ranks),
            leads=bool(leads[place]),
            scores={
                environment: Score(
                    float(means[at, place]), float(half_widths[at, place]), bool(best[at, place])
                )
                for at, environment in enumerate(report)
            },
        )
        for place, label in enumerate(labels)
    ]
    return tuple(sorted(found, key=lambda standing: standing.rank))
