"""How agents stand over all environments of a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.report.data import Report
from driftwise.statistics import average_ranks, mean_interval


@dataclass(frozen=True)
class Score:
    """Final cumulative regret of an agent in an environment."""

    mean: float
    half_width: float
    rank: float  # by the mean; equal ones share their places
    best: bool


@dataclass(frozen=True)
class Standing:
    """An agent, and its scores by the environments that it was run in."""

    agent: str
    scores: dict[str, Score]

    @property
    def average_rank(self) -> float:
        return float(np.mean([score.rank for score in self.scores.values()]))


def standings(report: Report) -> tuple[Standing, ...]:
    """All agents, from the lowest average rank to the highest."""
    scores: dict[str, dict[str, Score]] = {}
    for environment, data in report.items():
        mean, half_width = mean_interval(data.scores)
        columns = (data.labels, mean.tolist(), half_width.tolist(), average_ranks(mean).tolist())
        for agent, *numbers in zip(*columns, (mean == mean.min()).tolist(), strict=True):
            scores.setdefault(agent, {})[environment] = Score(*numbers)
    found = (Standing(agent, own) for agent, own in scores.items())
    return tuple(sorted(found, key=lambda standing: standing.average_rank))
