"""Choose the point of a grid that represents its agent, by runs that are held back from reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftwise.simulation.results import Result, select_holdout, select_runs

MARK = "*"  # ends the label of a grid


@dataclass(frozen=True, eq=False)
class Shown:
    """An agent in figures and tables, represented by one of its points."""

    best: str  # label of the point that represents it
    points: Mapping[str, Result]  # of all its points by their labels, in the runs that are shown

    @property
    def result(self) -> Result:
        """The curves of the best point."""
        return self.points[self.best]

    @property
    def others(self) -> dict[str, Result]:
        """All other points."""
        return {label: result for label, result in self.points.items() if label != self.best}


class Selection(NamedTuple):
    """The agents of an environment by their labels, and the numbers of the runs they are shown in."""

    agents: Mapping[str, Shown]
    runs: np.ndarray


def one_per_agent(points: Mapping[str, Result], names: Mapping[str, str]) -> Selection:
    """Return every agent of an environment with the point that represents it, of points and names by labels.

    The label of a grid is its name and a mark. Its best point has the lowest mean final regret over the runs
    held back, or over all of them where none can be. All agents are shown in the same runs, so that they stay
    paired: where nothing is a grid, that is every run.
    """
    agents: dict[str, dict[str, Result]] = {}
    for label, result in points.items():
        agents.setdefault(names[label], {})[label] = result
    num_runs = min(len(result.returns) for result in points.values())
    choosing = select_holdout(num_runs) & (len(agents) < len(points))
    shown = {}
    for name, own in agents.items():
        label = f"{name}{MARK}" if len(own) > 1 else next(iter(own))
        if label in shown:
            raise ValueError(f"two agents are called {label!r}: rename one of them")
        runs = choosing if choosing.any() else ~choosing
        finals = {point: result.cumulative_regret[runs, -1].mean() for point, result in own.items()}
        seen = {point: select_runs(result, ~choosing) for point, result in own.items()}
        shown[label] = Shown(min(finals, key=finals.__getitem__), seen)
    return Selection(shown, np.flatnonzero(~choosing))
