"""The simulator: many runs of an agent as one compiled program, with exact dynamic regret.

Episodes are played in chunks, which bounds memory, and a chunk in parts of about a second.
"""

import contextlib
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
from driftwise.base.extras import require_extra
from driftwise.base.jax_backend import on_gpu
from driftwise.base.part import expand_grid, to_config
from driftwise.base.provenance import foreign_sources, provenance
from driftwise.base.validation import ArgumentError
from driftwise.environments.environment import Record
from driftwise.simulation import devices, program
from driftwise.simulation.memory_budget import memory_errors
from driftwise.simulation.program import jax_settings
from driftwise.simulation.results import CURVES, DIAGNOSTIC, Result, average_curves, join_origins
from driftwise.simulation.tasks import OF_SAME_TASK, Task, read_progress, require_stored

with require_extra("simulate", "simulate"):
    import jax

SECONDS_AT_ONCE = 1.0  # of a call of the program, unless an episode, or a turn of a GPU, takes longer
_SMALL = 1 << 24  # bytes of states that a finished simulation keeps
STATE = "state."  # prefix of the names of the arrays of the agents' states


class Simulation:
    """A task that is being simulated.

    `advance` plays a chunk, or a part of it. `checkpoint` returns its state as named arrays, from which
    `restore` continues in another simulation of the same task, to the same numbers bit for bit.
    `sums` are the curves, summed over the episodes of points: `[points, grid, runs]`.
    A finished simulation can be read without its device: arrays are put there when they are needed.
    """

    _has_begun = False  # in this process

    def __init__(self, task: Task) -> None:
        started = time.perf_counter()
        self.task, self._dtype = task, np.dtype(task.precision)
        if task.agent.needs:  # an environment that lacks any of it raises an error
            task.environment.to_arrays(self._dtype, needs=task.agent.needs)
        self._grid, self._lowered = program.lower_agent(task.agent, self._dtype)
        self._grid_size = math.prod(self._grid)
        zeros = functools.partial(np.zeros, self._shape(task.num_episodes))
        self.sums = defaultdict(zeros, {name: zeros() for name in CURVES})  # and diagnostics, once there
        self._state: Any = None  # until it is needed
        self._compiling: threading.Thread | None = None
        self._inputs: Any = None  # of the present chunk
        self._pace = math.inf  # seconds of an episode in the last call
        self._before: dict[str, Any] | None = None  # the origin of a checkpoint that was read
        self.sources = {**provenance()["sources"], **foreign_sources(task.agent, task.environment)}
        self.done = 0
        self.seconds = time.perf_counter() - started  # spent computing, here and before a restoration

    def _shape(self, num_episodes: int) -> tuple[int, int, int]:
        """Return the shape of the curves of so many episodes, `[points, grid, runs]`."""
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
        return devices.find_devices(self.task.device)[0]

    @functools.cached_property
    def _host(self) -> Any:
        """The CPU beside the device, or the device itself where JAX has no other."""
        with contextlib.suppress(RuntimeError):  # JAX is configured for accelerators alone
            return self._device if self._device.platform == "cpu" else jax.local_devices(backend="cpu")[0]
        return self._device

    def _begin(self, done: int = 0) -> None:
        """Put the environment and the agents' first states on the device, to go on after `done` episodes."""
        if self._state is not None:
            return
        devices.enable_compilation_cache()
        task = self.task
        if self._device is not self._host:
            devices.wake_device(self._device)
        self._split = program.split_runs(task)
        if not Simulation._has_begun:  # only the first call is compiled ahead
            Simulation._has_begun = True
            thread = threading.Thread(target=program.compile_ahead, args=(task, self._split, done))
            with contextlib.suppress(RuntimeError):  # a process may have no thread left
                thread.start()
                self._compiling = thread
        with jax_settings(self._host), memory_errors(task):  # compiles small programs sooner than a GPU
            self._world = jax.device_put(task.environment.to_arrays(self._dtype, needs=task.agent.needs))
            states, named = program.init_states(self._lowered, self._world, self._grid_size)
            self._names = [*CURVES, *(f"{DIAGNOSTIC}{name}" for name in sorted(named))]
        with jax_settings(self._device), memory_errors(task):
            self._everywhere, states = jax.device_put((self._world, states), self._split.place())
            keys = random.fold(random.key(task.seed), task.first_run + self._split.runs)
            self._keys = jax.device_put(keys, self._split.place(0))
            self._state = program.repeat_for_runs(states, self._split)

    def advance(self, seconds: float | None = None) -> None:
        """Play to the end of the chunk, or for about so many seconds; numbers do not depend on how many."""
        started, task = time.perf_counter(), self.task
        self._begin()
        first = self.done % task.chunk_size
        begin = self.done - first
        count = min(task.chunk_size, task.num_episodes - begin) - first
        turn = program.turn_length(self._split, task.chunk_size, task.num_episodes, self.done)
        if seconds is not None:
            count = min(count, turn * max(1, int(seconds / self._pace / turn)))
        if first == 0 or self._inputs is None:
            episodes = np.minimum(begin + np.arange(task.chunk_size), task.num_episodes - 1)
            path = task.environment.at(episodes).astype(self._dtype)
            with jax_settings(self._host), memory_errors(task):
                inputs = program.chunk_inputs(self._world, path)
            with jax_settings(self._device), memory_errors(task):
                self._inputs = jax.device_put(inputs, self._split.place())
        with jax_settings(self._device, task.precision), memory_errors(task):
            bounds = begin, first, first + count, task.record_every
            shared = program.Shared(self._lowered, self._everywhere, self._inputs, *bounds)
            if self._compiling is not None:
                self._compiling.join()
                self._compiling = None
            static = self._grid_size, turn, self._split
            self._state, recorded = program.play_chunk(shared, self._state, self._keys, *static)
            points = slice(self.done // task.record_every, self._shape(self.done + count)[0])
            rows = points.stop - points.start
            if on_gpu():  # at most twice as many rows leave it, in few sizes: each is a program
                size = min(len(recorded), 1 << (rows - 1).bit_length())
                recorded = jax.lax.slice_in_dim(recorded, 0, size)
            curves = np.moveaxis(devices.to_numpy(recorded, task.num_runs, axis=2)[:rows], -1, 0)
        if not np.isfinite(np.sum(Record(*curves[: len(CURVES)]).value)):
            raise FloatingPointError(
                f"{task.prefix}agent: its values stopped being finite by episode {self.done + count} in "
                f"{task.precision}; the ridge may be too small, or the radius too large, for this precision: "
                f"{task.agent!r}"
            )
        for name, values in zip(self._names, curves, strict=True):
            self.sums[name][points] = values
        elapsed = time.perf_counter() - started
        self.done += count
        self.seconds += elapsed
        self._pace = elapsed / count

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return what `restore` needs; for a finished simulation, with the states only if they are small."""
        if not self.finished:
            self._begin()
        count = self._shape(self.done)[0]
        leaves = devices.to_numpy(jax.tree.leaves(self._state), self.task.num_runs, axis=1)
        if self.finished and sum(leaf.nbytes for leaf in leaves) > _SMALL:
            leaves = []  # a longer simulation starts from the first episode
        return {
            "done": np.asarray(self.done),
            "seconds": np.asarray(self.seconds),
            "origin": np.asarray(json.dumps(self.origin, sort_keys=True)),
            **{name: sums[:count].copy() for name, sums in self.sums.items()},
            **{f"{STATE}{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)},
        }

    def restore(self, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Continue from a checkpoint of a simulation of the same task."""
        done, seconds = read_progress(checkpoint, self.task.num_episodes)
        leaves, structure = [], None
        if done == self.task.num_episodes:  # only a longer simulation needs the states
            checkpoint = {name: array for name, array in checkpoint.items() if not name.startswith(STATE)}
        else:
            self._begin(done)
            leaves, structure = jax.tree.flatten(self._state)
        states = {f"{STATE}{i}": leaf for i, leaf in enumerate(leaves)}
        curves = [*CURVES, *(name for name in checkpoint if name.startswith(DIAGNOSTIC))]
        if {*checkpoint} != {"done", "seconds", "origin", *curves, *states}:
            raise ArgumentError("checkpoint", OF_SAME_TASK, checkpoint, "other arrays")
        for name in curves:
            require_stored(checkpoint, name, np.dtype(np.float64), self._shape(done))
            if name in CURVES and not np.isfinite(checkpoint[name]).all():
                raise ArgumentError("checkpoint", OF_SAME_TASK, checkpoint, f"{name} that are not finite")
        for name, leaf in states.items():
            require_stored(checkpoint, name, leaf.dtype, (len(leaf), self.task.num_runs, *leaf.shape[2:]))
        self._state = self._inputs = None
        if structure is not None:
            state = jax.tree.unflatten(structure, [checkpoint[name][:, self._split.runs] for name in states])
            with jax_settings(self._device):
                self._state = jax.device_put(state, self._split.place(1))
        self._before = json.loads(str(checkpoint["origin"]))
        self.sums.clear()
        for name in curves:
            self.sums[name][: len(checkpoint[name])] = checkpoint[name]
        self.done, self.seconds = done, seconds

    def result(self, *, keep_state: bool = False) -> Result:
        """The curves up to the last episode played."""
        task, count = self.task, self._shape(self.done)[0]
        lengths = np.diff(np.minimum(np.arange(count + 1) * task.record_every, self.done))
        played = {name: sums[:count] for name, sums in self.sums.items()}
        if keep_state and self._state is None:
            raise ArgumentError("keep_state", "be False for a finished simulation that was restored", True)
        state = devices.to_numpy(self._state.carry.state, task.num_runs, axis=1) if keep_state else None
        facts = dict(changes=list(task.environment.changes(self.done)), platform=self.platform)
        return Result(
            **average_curves(played, lengths, self._grid),
            state=jax.tree.map(lambda leaf: leaf.reshape(*self._grid, *leaf.shape[1:]), state),
            signed=task.environment.continuing,
            configs=[to_config(agent) for agent in expand_grid(task.agent)],
            manifest={**task.arguments(), **facts, **self.origin, "seconds": self.seconds},
        )

    @property
    def origin(self) -> dict[str, Any]:
        """The device, code, versions, commit and host that compute it, here and before a checkpoint."""
        if self._before is not None and self._state is None:  # the checkpoint was finished
            return self._before
        here = {"device": self._device.device_kind, **provenance(), "sources": self.sources}
        return here if self._before is None else join_origins([self._before, here])
