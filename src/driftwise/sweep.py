"""Many simulations, one after the other or on an engine, with the same bytes either way.

A cell is one simulation: an agent (or a grid of its parameters) in an environment, for a batch of runs.
Cells are cut without looking at who will run them, and each has a checkpoint of its own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from driftwise.checkpoints import checkpoint_name, simulate_from
from driftwise.environments.environment import Environment
from driftwise.results import Result
from driftwise.simulator import Device, Simulation
from driftwise.types import Agent

RUNS_OF_A_CELL = 64

Progress = Callable[[int, int, int], None]  # number of the cell, episodes done, episodes in all


@dataclass(frozen=True, eq=False)
class Cell:
    """A simulation that has not begun."""

    agent: Agent
    environment: Environment
    num_episodes: int
    num_runs: int
    first_run: int = 0
    seed: int = 0
    record_every: int = 1
    device: Device | None = None

    def simulation(self) -> Simulation:
        """The simulation at its beginning."""
        return Simulation(
            self.agent,
            self.environment,
            num_episodes=self.num_episodes,
            num_runs=self.num_runs,
            first_run=self.first_run,
            seed=self.seed,
            record_every=self.record_every,
            device=self.device,
        )

    def play(self, folder: Path | None, report: Callable[[int, int], None]) -> Result:
        """Its result, from whatever checkpoint it has in the folder; its progress begins with a 0."""
        report(0, self.num_episodes)
        simulation = self.simulation()
        path = None if folder is None else folder / checkpoint_name(simulation)
        return simulate_from(path, simulation, progress=report)

    def in_batches(self) -> list[Cell]:
        """The same runs in cells of at most `RUNS_OF_A_CELL`, alike in size: each size is compiled for."""
        count = -(-self.num_runs // RUNS_OF_A_CELL)
        borders = [self.first_run + self.num_runs * i // count for i in range(count + 1)]
        return [
            replace(self, first_run=first, num_runs=stop - first)
            for first, stop in itertools.pairwise(borders)
        ]


class EngineError(RuntimeError):
    """An engine cannot run the cells; its text says why, and what is finished is kept."""


class Engine(Protocol):
    """Where cells run."""

    def finish(self, cells: Sequence[Cell], folder: Path, report: Progress) -> None:
        """Bring the checkpoint of every cell in the folder to its end."""
        ...


def run_cells(
    cells: Sequence[Cell],
    folder: Path | None,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """The results of all cells, going on from whatever checkpoints `folder` has; without one, all anew.

    Args:
      engine: from `driftwise.engines`; None runs the cells here, one after the other.
      progress: hears of a cell before it starts and after each of its chunks.
    """
    report = progress or (lambda number, done, total: None)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    if engine is not None:
        if folder is None:
            raise ValueError(f"folder must be a path where there is an engine, got {folder!r}")
        engine.finish(cells, folder, report)  # then all there is to do here is to read
    return [_run_cell(cell, folder, number, report) for number, cell in enumerate(cells)]


def _run_cell(cell: Cell, folder: Path | None, number: int, report: Progress) -> Result:
    return cell.play(folder, functools.partial(report, number))


def join_runs(results: Sequence[Result]) -> Result:
    """The result of consecutive batches of runs as one."""
    first = results[0]
    curves = {
        name: np.concatenate([getattr(result, name) for result in results], axis=-2)
        for name in ("returns", "values", "optimal_values")
    }
    facts: dict[str, Any] = {
        "num_runs": sum(result.manifest["num_runs"] for result in results),
        "seconds": sum(result.manifest["seconds"] for result in results),
    }
    return replace(first, **curves, state=None, manifest={**first.manifest, **facts})
