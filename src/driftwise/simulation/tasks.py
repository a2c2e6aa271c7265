"""Many simulations, one after the other or on an engine, with the same bytes either way.

A cell is one simulation: an agent (or a grid of its parameters) in an environment, for a batch of runs.
Cells are cut without looking at who will run them, and each has a checkpoint of its own.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.validation import ArgumentError
from driftwise.environments.environment import Environment
from driftwise.simulation.checkpoints import checkpoint_name, simulate_from
from driftwise.simulation.files import remove_leftovers
from driftwise.simulation.results import Result, joint_origin, over_curves
from driftwise.simulation.simulator import Device, Simulation

RUNS_OF_A_CELL = 64

Progress = Callable[[int, int, int], None]  # number of the cell, episodes done, episodes in all
Look = Callable[[], None]


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
    name: str = "a cell"  # what errors call it

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
        """Its result, from whatever checkpoint it has in the folder."""
        with self.named():
            simulation = self.simulation()
            path = None if folder is None else folder / checkpoint_name(simulation)
            return simulate_from(path, simulation, progress=report)

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """Numbers that fail in here are told with the name of the cell."""
        try:
            yield
        except FloatingPointError as error:
            raise FloatingPointError(f"{self.name}: {error}") from None

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

    def finish(self, cells: Sequence[Cell], folder: Path, report: Progress, look: Look) -> None:
        """Bring the checkpoint of every cell in the folder to its end.

        A cell's first report says where it begins. `look` is called all the while, whether or not there is
        anything to report; what it raises ends the cells after their current chunks.
        """
        ...


def run_cells(
    cells: Sequence[Cell],
    folder: Path | None,
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> list[Result]:
    """The results of all cells, going on from whatever checkpoints `folder` has; without one, all anew.

    Args:
      engine: from `driftwise.simulation.engines`; None runs the cells here, one after the other.
      progress: hears where each cell begins and what it comes to, never less than before.
      look: called several times a second by engines, else after every chunk; what it raises ends the run.
    """
    look = look or (lambda: None)
    report = _forward(progress or (lambda number, done, total: None), look)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
    if engine is not None:
        if folder is None:
            raise ArgumentError("folder", "be a path where there is an engine", folder)
        engine.finish(cells, folder, report, look)  # then all there is to do here is to read
    return [_run_cell(cell, folder, number, report) for number, cell in enumerate(cells)]


def _run_cell(cell: Cell, folder: Path | None, number: int, report: Progress) -> Result:
    return cell.play(folder, functools.partial(report, number))


def _forward(progress: Progress, look: Look) -> Progress:
    """Pass on what is further than all that was heard of a cell before: work can be lost, and done again."""
    furthest: dict[int, int] = {}

    def report(number: int, done: int, total: int) -> None:
        look()
        if done > furthest.get(number, -1):
            furthest[number] = done
            progress(number, done, total)

    return report


def join_runs(results: Sequence[Result]) -> Result:
    """The result of consecutive batches of runs as one."""
    first, manifests = results[0], [result.manifest for result in results]
    facts: dict[str, Any] = {
        **{key: sum(manifest[key] for manifest in manifests) for key in ("num_runs", "seconds")},
        **joint_origin(manifests),
    }
    curves = over_curves(lambda *batches: np.concatenate(batches, axis=-2), *results)
    return replace(first, **curves, state=None, manifest={**first.manifest, **facts})
