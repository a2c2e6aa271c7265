"""The simulator: many runs of an agent as one compiled program, with exact dynamic regret.

Episodes are played in chunks, so that memory stays in hand, and a chunk in parts of about a second, so that
progress does and a simulation can be stopped after any of them and taken up again elsewhere.
"""

from __future__ import annotations

import functools
import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.extras import needed_by
from driftwise.base.part import points, to_config
from driftwise.base.progress import Watcher, watched
from driftwise.base.provenance import foreign_sources, provenance
from driftwise.base.validation import ArgumentError
from driftwise.environments.environment import Environment, Record
from driftwise.simulation.chunks import Chunks, OnChunk
from driftwise.simulation.compilation import keep_compiled
from driftwise.simulation.devices import collect, find_devices, host_of, wake
from driftwise.simulation.program import (
    Shared,
    chunk_inputs,
    compile_ahead,
    diagnostics_of,
    init_states,
    lower,
    num_programs,
    of_all_runs,
    own_settings,
    play_chunk,
    rows_of,
    run_keys,
    split_of,
    turn_of,
)
from driftwise.simulation.results import CURVES, DIAGNOSTIC, Result, joint_origin, result_curves
from driftwise.simulation.room import require_room_for, telling_of_memory
from driftwise.simulation.tasks import CHUNK, Device, Precision, Task

with needed_by("simulate", "simulate"):
    import jax

SECONDS_AT_ONCE = 1.0  # that nobody can interrupt, unless an episode, or a turn of a GPU, takes longer
SMALL = 1 << 24  # bytes of states that are kept when all is played
STATE = "state."  # begins the names of the arrays of the agents' states
PROGRESS = {"done": np.int64, "seconds": np.float64}
OF_SAME = "come from a simulation of the same task"


def simulate(
    agent: Agent,
    environment: Environment,
    *,
    num_episodes: int,
    num_runs: int = 1,
    seed: int = 0,
    record_every: int = 1,
    precision: Precision = "float64",
    device: Device | None = None,
    chunk_size: int = CHUNK,
    first_run: int = 0,
    keep_state: bool = False,
    progress: bool | Watcher = False,
    on_chunk: OnChunk | None = None,
) -> Result:
    """Let `num_runs` independent copies of an agent play `num_episodes` episodes each.

    Every number is addressed by (seed, run, episode, step, purpose): up to rounding, a run's numbers depend
    neither on how many runs there are nor on chunks or grids, and all agents meet the same environment draws.

    Args:
      agent: from `driftwise.algorithms`. Numeric parameters may be arrays; they broadcast against each
        other, and their common shape leads the result's arrays.
      environment: from `driftwise.environments`, or your own `LinearMdp` or `LinearBandit`.
      record_every: keep one point for this many episodes: the mean over them. Cumulative regret is
        exact at every kept point, whatever the stride.
      precision: of all arithmetic.
      device: "cpu" or "gpu"; None leaves the choice to JAX. Runs are split over all devices of the kind.
      chunk_size: episodes the compiled program has room for; it comes back after so many, or after about a
        second.
      first_run: number of the first run; runs 8 to 15 are those that a simulation of 16 has there.
      keep_state: also return the agents' states after the last episode.
      progress: True shows a bar, which also says when the program is compiled; a function is called as
        `progress(episodes_done, num_episodes)` whenever the program comes back.
      on_chunk: called with a `driftwise.simulation.chunks.Chunk`, the curves of every `chunk_size` episodes,
        as soon as they are played. That goes by episodes and not by the clock: the same chunks every time.
        What it raises ends the simulation.

    Returns:
      A `Result`; `regret` and `cumulative_regret` have shape `[*grid, num_runs, points]`, and so have the
      `diagnostics` of agents that have some.
    """
    if on_chunk is not None and not callable(on_chunk):
        raise ArgumentError("on_chunk", "be a function", on_chunk)
    task = Task(
        agent,
        environment,
        num_episodes=num_episodes,
        num_runs=num_runs,
        first_run=first_run,
        seed=seed,
        record_every=record_every,
        precision=precision,
        device=device,
        chunk_size=chunk_size,
    )
    require_room_for([task])
    simulation = Simulation(task)
    chunks = None if on_chunk is None else Chunks(task, on_chunk)
    with watched(progress, "episode {} of {}".format, first="compiling") as watch:
        while not simulation.finished:
            simulation.advance(SECONDS_AT_ONCE)
            watch(simulation.done, task.num_episodes)
            if chunks is not None:
                chunks.tell(simulation.done, simulation.sums)
    return simulation.result(keep_state=keep_state)


class Simulation:
    """A task that is being simulated.

    `advance` plays a chunk, or a part of it. `checkpoint` is all there is to it so far as named arrays, and
    another simulation of the same task goes on from there with `restore`, to the same numbers bit for bit.
    `sums` are the curves, summed over the episodes of points: `[points, grid, runs]`.
    Nothing is put on a device before it is needed there, so that a finished simulation can be read where
    there is none.
    """

    def __init__(self, task: Task) -> None:
        started = time.perf_counter()
        self.task = task
        self._dtype = np.dtype(task.precision)
        if task.agent.needs:
            task.environment.world(self._dtype, needs=task.agent.needs)  # which says so if it lacks any of it
        self._grid, self._lowered = lower(task.agent, self._dtype)
        self._grid_size = math.prod(self._grid)
        zeros = functools.partial(np.zeros, self._shape(task.num_episodes))
        self.sums = defaultdict(zeros, {name: zeros() for name in CURVES})  # and diagnostics, once there
        self._state: Any = None  # until it is needed
        self._compiling: threading.Thread | None = None
        self._inputs: Any = None  # of the present chunk
        self._pace = math.inf  # seconds of an episode, lately
        self._before: dict[str, Any] | None = None  # what computed a checkpoint that was read
        self.sources = {**provenance()["sources"], **foreign_sources(task.agent, task.environment)}
        self.done = 0
        self.seconds = time.perf_counter() - started  # spent computing, here and before a restoration

    def _shape(self, num_episodes: int) -> tuple[int, int, int]:
        """Shape of the curves of so many episodes, `[points, grid, runs]`."""
        return -(-num_episodes // self.task.record_every), self._grid_size, self.task.num_runs

    @property
    def finished(self) -> bool:
        return self.done == self.task.num_episodes

    @property
    def platform(self) -> str:
        """The kind of device it runs on, which need not be of this machine if it was asked for by name."""
        return self.task.device or self._device.platform

    @functools.cached_property
    def _device(self) -> Any:
        return find_devices(self.task.device)[0]

    @functools.cached_property
    def _host(self) -> Any:
        return host_of(self._device)

    def _begin(self, done: int = 0) -> None:
        """Put the world and the agents' first states on the device, unless they are there.

        So many episodes are done, for what is compiled ahead.
        """
        if self._state is not None:
            return
        keep_compiled()
        task = self.task
        if self._device is not self._host:
            wake(self._device)
        self._split = split_of(task)
        if not num_programs():  # the first call is what one waits for
            self._compiling = compile_ahead(task, self._split, done)
        with own_settings(self._host), telling_of_memory(task):  # compiles small programs sooner than a GPU
            self._world = jax.device_put(task.environment.world(self._dtype, needs=task.agent.needs))
            keys = run_keys(random.key(task.seed), task.first_run + self._split.runs)
            states = init_states(self._lowered, self._world, self._grid_size)
            self._diagnostics = diagnostics_of(self._lowered, self._world, self._grid_size)
        with own_settings(self._device), telling_of_memory(task):
            self._everywhere, states = jax.device_put((self._world, states), self._split.place())
            self._keys = jax.device_put(keys, self._split.place(0))
            self._state = of_all_runs(states, self._split)

    def advance(self, seconds: float | None = None) -> None:
        """Play the next episodes to the end of their chunk; for about so many `seconds`, if they are given.

        How many that is changes no number: it is the same program, with the same inputs, whatever it plays of
        a chunk at once.
        """
        started, task = time.perf_counter(), self.task
        self._begin()
        first = self.done % task.chunk_size
        begin = self.done - first
        count = min(task.chunk_size, task.num_episodes - begin) - first
        turn = turn_of(self._split, task.chunk_size, task.num_episodes, self.done)
        if seconds is not None:
            count = min(count, turn * max(1, int(seconds / self._pace / turn)))
        if first == 0 or self._inputs is None:
            episodes = np.minimum(begin + np.arange(task.chunk_size), task.num_episodes - 1)
            path = task.environment.at(episodes).astype(self._dtype)
            with own_settings(self._host), telling_of_memory(task):
                inputs = chunk_inputs(self._world, path)
            with own_settings(self._device), telling_of_memory(task):
                self._inputs = jax.device_put(inputs, self._split.place())
        with own_settings(self._device, task.precision), telling_of_memory(task):
            bounds = begin, first, first + count, task.record_every
            shared = Shared(self._lowered, self._everywhere, self._inputs, *bounds)
            given = shared, self._state, self._keys
            if self._compiling is not None:
                self._compiling.join()
                self._compiling = None
            self._state, recorded = play_chunk(*given, self._grid_size, turn, self._split)
            points = slice(self.done // task.record_every, self._shape(self.done + count)[0])
            rows = rows_of(recorded, points.stop - points.start)
            record, diagnostics = np.split(
                np.moveaxis(collect(rows, task.num_runs, axis=2), -1, 0), [len(CURVES)]
            )
        if not np.isfinite(np.sum(Record(*record).value)):
            raise FloatingPointError(
                f"{task.name}{': ' * bool(task.name)}agent: its values stopped being finite by episode "
                f"{self.done + count} in {task.precision}; the ridge may be too small, or the radius too "
                f"large, for this precision: {task.agent!r}"
            )
        curves = dict(zip(CURVES, record, strict=True))
        names = (f"{DIAGNOSTIC}{name}" for name in self._diagnostics)
        curves |= dict(zip(names, diagnostics, strict=True))
        for name, values in curves.items():
            self.sums[name][points] = values
        elapsed = time.perf_counter() - started
        self.done += count
        self.seconds += elapsed
        self._pace = elapsed / count

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Everything that `restore` needs; of a finished simulation, the states only if they are small."""
        if not self.finished:
            self._begin()
        count = self._shape(self.done)[0]
        leaves = collect(jax.tree.leaves(self._state), self.task.num_runs, axis=1)
        curves = {name: sums[:count].copy() for name, sums in self.sums.items()}
        if self.finished and sum(leaf.nbytes for leaf in leaves) > SMALL:
            leaves = []  # whoever wants more episodes plays all of them again
        return {
            "done": np.asarray(self.done),
            "seconds": np.asarray(self.seconds),
            "origin": np.asarray(json.dumps(self.origin, sort_keys=True)),
            **curves,
            **{f"{STATE}{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)},
        }

    def progress_in(self, checkpoint: Mapping[str, np.ndarray]) -> tuple[int, float]:
        """Episodes that a checkpoint of this task has, and the seconds that they took."""
        for name, kind in PROGRESS.items():
            if name not in checkpoint:
                raise ArgumentError("checkpoint", OF_SAME, checkpoint, f"no {name}")
            _require_array(checkpoint, name, (np.dtype(kind), ()))
        done, seconds = int(checkpoint["done"]), float(checkpoint["seconds"])
        if not 0 <= done <= self.task.num_episodes or not 0.0 <= seconds < math.inf:
            raise ArgumentError("checkpoint", OF_SAME, checkpoint, f"{done} episodes in {seconds} seconds")
        return done, seconds

    def restore(self, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Go on from a checkpoint of a simulation of the same task."""
        done, seconds = self.progress_in(checkpoint)
        finished = done == self.task.num_episodes
        if not finished:
            self._begin(done)
        leaves, structure = ([], None) if finished else jax.tree.flatten(self._state)
        names = [f"{STATE}{i}" for i in range(len(leaves))]
        diagnostics = [name for name in checkpoint if name.startswith(DIAGNOSTIC)]
        if finished:  # states are for those who go on
            checkpoint = {name: array for name, array in checkpoint.items() if not name.startswith(STATE)}
        if {*checkpoint} != {"done", "seconds", "origin", *CURVES, *diagnostics, *names}:
            raise ArgumentError("checkpoint", OF_SAME, checkpoint, "other arrays")
        curves = np.dtype(np.float64), self._shape(done)
        kinds = dict.fromkeys((*CURVES, *diagnostics), curves)
        shapes = [(len(leaf), self.task.num_runs, *leaf.shape[2:]) for leaf in leaves]
        kinds |= {name: (leaf.dtype, shape) for name, leaf, shape in zip(names, leaves, shapes, strict=True)}
        for name, kind in kinds.items():
            _require_array(checkpoint, name, kind)
        for name in CURVES:
            if not np.isfinite(checkpoint[name]).all():
                raise ArgumentError("checkpoint", OF_SAME, checkpoint, f"{name} that are not finite")
        self._state = self._inputs = None
        if structure is not None:
            state = jax.tree.unflatten(structure, [checkpoint[name][:, self._split.runs] for name in names])
            with own_settings(self._device):
                self._state = jax.device_put(state, self._split.place(1))
        self._before = json.loads(str(checkpoint["origin"]))
        self.sums.clear()
        for name in (*CURVES, *diagnostics):
            self.sums[name][: len(checkpoint[name])] = checkpoint[name]
        self.done, self.seconds = done, seconds

    def result(self, *, keep_state: bool = False) -> Result:
        """The curves up to the last episode played."""
        task, count = self.task, self._shape(self.done)[0]
        lengths = np.diff(np.minimum(np.arange(count + 1) * task.record_every, self.done))
        played = {name: sums[:count] for name, sums in self.sums.items()}
        if keep_state and self._state is None:
            raise ArgumentError("keep_state", "be False for a finished simulation that was restored", True)
        state = collect(self._state.carry.state, task.num_runs, axis=1) if keep_state else None
        return Result(
            **result_curves(played, lengths, self._grid),
            state=jax.tree.map(lambda leaf: leaf.reshape(*self._grid, *leaf.shape[1:]), state),
            signed=task.environment.continuing,
            configs=[to_config(each) for each in points(task.agent)],
            manifest=dict(
                **task.arguments(),
                changes=list(task.environment.changes(self.done)),
                platform=self.platform,
                **self.origin,
                seconds=self.seconds,
            ),
        )

    @property
    def origin(self) -> dict[str, Any]:
        """The device, code, versions, commit and host that compute it, and those that did before."""
        if self._before is not None and self._state is None:  # it was finished
            return self._before
        here = {"device": self._device.device_kind, **provenance(), "sources": self.sources}
        return here if self._before is None else joint_origin([self._before, here])


def _require_array(
    checkpoint: Mapping[str, np.ndarray], name: str, kind: tuple[np.dtype, tuple[int, ...]]
) -> None:
    """Refuse a checkpoint in which an array is of another type or shape."""
    found = checkpoint[name].dtype, checkpoint[name].shape
    if found != kind:
        own, expected = (f"{dtype}{list(shape)}" for dtype, shape in (found, kind))
        got = f"{name} of {own} where {expected} was expected"
        raise ArgumentError("checkpoint", OF_SAME, checkpoint, got)
