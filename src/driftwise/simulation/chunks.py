"""The curves of a simulation while it runs: chunk by chunk, the same whatever plays them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftwise.base.part import grid_shape
from driftwise.simulation.results import CURVES, DIAGNOSTIC, Result, result_curves
from driftwise.simulation.tasks import Task


class Chunk(NamedTuple):
    """Curves of the points that a chunk of episodes has finished, `[*grid, runs, points]`.

    A point is the mean over the episodes since the one before it; where all are recorded, it is an episode.
    """

    environment: str  # labels in the experiment; empty in `simulate`
    agent: str
    first_run: int  # number of the first of the runs
    num_episodes: int  # of a whole run
    episodes: np.ndarray  # [points] episodes played up to and including each point
    returns: np.ndarray  # rewards collected in an episode
    regret: np.ndarray  # exact dynamic regret of an episode
    cumulative_regret: np.ndarray  # from the first episode on
    diagnostics: Mapping[str, np.ndarray]  # curves that some agents have

    def point(self, index: int) -> Chunk:
        """The chunk of one agent of a grid with one axis."""
        curves = (self.returns, self.regret, self.cumulative_regret)
        returns, regret, cumulative = (curve[index] for curve in curves)
        own = {name: curve[index] for name, curve in self.diagnostics.items()}
        return self._replace(returns=returns, regret=regret, cumulative_regret=cumulative, diagnostics=own)


OnChunk = Callable[[Chunk], None]


class Chunks:
    """Tells a listener of every finished chunk of a task, once and in order.

    It goes by what is recorded and not by who plays: a listener hears the same chunks whether a simulation
    runs here, in other processes or from a checkpoint.
    """

    def __init__(self, task: Task, listener: OnChunk) -> None:
        self._task, self._listener = task, listener
        self._grid = grid_shape(task.agent)
        self._told = 0  # episodes
        self._regret: np.ndarray | float = 0.0  # cumulative, after them

    def tell(self, done: int, sums: Mapping[str, np.ndarray]) -> None:
        """Tell of all chunks within the first `done` episodes; `sums` are those of `Simulation`."""
        while self._told < self._next <= done:
            self._tell_next(sums)

    def read(self, path: Path) -> None:
        """Tell of all chunks in the checkpoint at `path`, if there is one."""
        try:
            with np.load(path) as arrays:
                if (done := int(arrays["done"])) >= self._next > self._told:
                    names = (name for name in arrays.files if name in CURVES or name.startswith(DIAGNOSTIC))
                    self.tell(done, {name: arrays[name] for name in names})
        except FileNotFoundError:
            return

    @property
    def _next(self) -> int:
        """Episodes up to the end of the chunk that is to be told next."""
        return min(self._told + self._task.chunk_size, self._task.num_episodes)

    def _tell_next(self, sums: Mapping[str, np.ndarray]) -> None:
        task, end = self._task, self._next
        first = self._told // task.record_every
        last = -(-end // task.record_every) if end == task.num_episodes else end // task.record_every
        self._told = end
        if first == last:  # no point is finished yet
            return
        borders = np.minimum(np.arange(first, last + 1) * task.record_every, task.num_episodes)
        own = {name: each[first:last] for name, each in sums.items()}
        curves = result_curves(own, np.diff(borders), self._grid)
        result = Result(**curves, state=None, manifest={}, signed=task.environment.continuing)
        steps = result.regret * result.lengths
        steps[..., 0] += self._regret
        cumulative = np.cumsum(steps, axis=-1)
        self._regret = cumulative[..., -1]
        self._listener(
            Chunk(
                environment="",
                agent="",
                first_run=task.first_run,
                num_episodes=task.num_episodes,
                episodes=borders[1:],
                returns=result.returns,
                regret=result.regret,
                cumulative_regret=cumulative,
                diagnostics=result.diagnostics,
            )
        )
