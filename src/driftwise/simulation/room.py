"""Memory that tasks take, from the shapes of their arrays, before any of these is there."""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from driftwise.base.extras import needed_by
from driftwise.base.memory import free_memory, require_room, size_of
from driftwise.simulation.devices import Split, find_devices
from driftwise.simulation.program import init_states, lower, own_settings, program_of
from driftwise.simulation.results import CURVES
from driftwise.simulation.tasks import RUNS_OF_A_TASK, Task

with needed_by("simulate", "simulate"):
    import jax

USUAL = 4  # programs take up to so many times what goes in and out of them


def require_room_for(tasks: Sequence[Task], *, at_once: int = 1) -> None:
    """Refuse tasks whose curves do not fit into memory, or of which `at_once` do not fit into a device."""
    _require_room_to_keep(tasks)
    _require_room_to_run(tasks, at_once)


def require_room_to_split(tasks: Sequence[Task], *, at_once: int = 1) -> None:
    """The same for tasks that will be `split`: their curves are kept, a part of their runs is played."""
    _require_room_to_keep(tasks)
    runs = [replace(task, num_runs=min(task.num_runs, RUNS_OF_A_TASK)) for task in tasks]
    _require_room_to_run(runs, at_once)


def _require_room_to_keep(tasks: Sequence[Task]) -> None:
    require_room("curves", sum(map(_curves, tasks)), _sizes(tasks[0], "record_every"))


def _require_room_to_run(tasks: Sequence[Task], at_once: int) -> None:
    if at_once:
        largest = heapq.nlargest(at_once, ((running(task), number) for number, task in enumerate(tasks)))
        first = tasks[largest[0][1]]
        together = f"{len(largest)} at once, of " * (len(largest) > 1)
        sizes = f"{together}{_sizes(first, 'chunk_size')}, {first.agent!r}"
        require_room(f"{_named(first)}simulation", sum(each for each, _ in largest), sizes, _free(first))


def running(task: Task) -> int:
    """Bytes that a task takes while it runs: in this machine's memory, or else on each of its devices.

    States, plans and records follow from shapes. Only where that is a large part of the memory, the program
    is compiled, and the compiler asked.
    """
    dtype, spec = np.dtype(task.precision), task.agent.spec
    split = Split.of(find_devices(task.device), task.num_runs)
    device, num_devices = split.devices[0], len(split.devices)
    copies = num_devices if device.memory_stats() is None else 1  # CPUs share one memory
    grid, agents = lower(task.agent, dtype)
    batch = math.prod(grid), len(split.runs) // num_devices
    world = task.environment.world(dtype, needs=task.agent.needs)
    with own_settings(device):
        states = batch[1] * _bytes(init_states.eval_shape(agents, world, batch[0]))
        plan = spec.horizon, spec.num_states, spec.num_actions  # Q, and the bonus and the policy
        others = 3 * size_of((*batch, *plan), (*batch, task.chunk_size), itemsize=dtype.itemsize)
        known, free = copies * (_bytes(world) + states + others), _free(task)
        if not known <= free < USUAL * known:
            return known
        found = program_of(task, split).compile().memory_analysis()
    if found is None:  # this compiler does not tell
        return known
    taken = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return copies * (taken - found.alias_size_in_bytes)


def _curves(task: Task) -> int:
    grid, _ = lower(task.agent, np.dtype(task.precision))
    points = -(-task.num_episodes // task.record_every)
    return len(CURVES) * size_of((points, *grid, task.num_runs))


def _named(task: Task) -> str:
    return f"{task.name}{': ' * bool(task.name)}"


def _sizes(task: Task, *more: str) -> str:
    return ", ".join(f"{name} = {getattr(task, name)}" for name in ("num_episodes", "num_runs", *more))


def _free(task: Task) -> int:
    """Bytes that are free on the device of a task."""
    stats = find_devices(task.device)[0].memory_stats()  # CPUs have none
    return free_memory() if stats is None else stats["bytes_limit"] - stats["bytes_in_use"]


def _bytes(tree: Any) -> int:
    leaves = jax.tree.leaves(jax.eval_shape(lambda each: each, tree))  # numbers of parts too
    return sum(size_of(leaf.shape, itemsize=leaf.dtype.itemsize) for leaf in leaves)


@contextlib.contextmanager
def telling_of_memory(task: Task) -> Iterator[None]:
    """Where a compiled program runs out of memory, say so in one sentence: a `MemoryError`."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        status, _, reason = str(error).partition(": ")
        if status != "RESOURCE_EXHAUSTED":
            raise
        sizes, said = _sizes(task, "chunk_size"), reason.partition("\n")[0].rstrip(".")
        raise MemoryError(f"{_named(task)}{said} for {sizes}, {task.agent!r}: lower one of these") from None
