"""Memory that tasks take, from the shapes of their arrays, before any of these is there."""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.extras import needed_by
from driftwise.base.memory import free_memory, in_words, require_room, size_of
from driftwise.simulation.devices import Split, find_devices
from driftwise.simulation.program import init_states, lower, own_settings, program_of
from driftwise.simulation.tasks import RUNS_OF_A_TASK, Task

with needed_by("simulate", "simulate"):
    import jax

USUAL = 4  # programs take up to so many times what shapes say


class Footprint(NamedTuple):
    """Bytes that a simulation takes, by the shapes of its arrays."""

    shared: int  # by all runs: the world
    state: int  # by each run, from one episode to the next
    records: int  # by each run, of the episodes of a chunk
    plan: int  # by each of the runs that are played at once
    curves: int  # by each run in this machine's memory, for its result


def require_room_for(tasks: Sequence[Task], *, at_once: int = 1) -> None:
    """Refuse tasks whose curves do not fit into memory, or of which `at_once` do not fit into a device."""
    footprints = [footprint(task) for task in tasks]
    _require_room_to_keep(tasks, footprints)
    _require_room_to_run(tasks, footprints, at_once)


def require_room_to_split(tasks: Sequence[Task], *, at_once: int = 1) -> None:
    """The same for tasks that will be `split`: their curves are kept, a part of their runs is played."""
    footprints = [footprint(task) for task in tasks]  # of a run, however many there are
    _require_room_to_keep(tasks, footprints)
    runs = [replace(task, num_runs=min(task.num_runs, RUNS_OF_A_TASK)) for task in tasks]
    _require_room_to_run(runs, footprints, at_once)


def _require_room_to_keep(tasks: Sequence[Task], footprints: Sequence[Footprint]) -> None:
    kept = sum(task.num_runs * each.curves for task, each in zip(tasks, footprints, strict=True))
    require_room("curves", kept, _sizes(tasks[0], "record_every"))


def _require_room_to_run(tasks: Sequence[Task], footprints: Sequence[Footprint], at_once: int) -> None:
    if at_once:
        taken = map(running, tasks, footprints)
        largest = heapq.nlargest(at_once, ((each, number) for number, each in enumerate(taken)))
        most, number = largest[0]
        first, needed = tasks[number], sum(each for each, _ in largest)
        together = f"{len(largest)} at once, of " * (len(largest) > 1)
        a_run = f"{in_words(most // first.num_runs)} a run"
        sizes = f"{together}{_sizes(first, 'chunk_size')}, {a_run}, {first.agent!r}"
        free = _free(first)
        require_room(f"{_named(first)}simulation", needed, sizes, free, _advice(first, free / max(needed, 1)))


def _advice(task: Task, share: float) -> str:
    """What to do where a share of the memory that a task needs is free."""
    fitting = int(share * task.num_runs)
    fewer = f"play about {fitting} runs at once, the others after them with first_run, or " * (fitting > 0)
    return f"{fewer}take a shorter window{' or float32' * (task.precision == 'float64')}"


def footprint(task: Task) -> Footprint:
    """Bytes that a task takes, by the shapes of its arrays."""
    dtype, spec = np.dtype(task.precision), task.agent.spec
    grid, agents = lower(task.agent, dtype)
    size, points = math.prod(grid), -(-task.num_episodes // task.record_every)
    world = task.environment.world(dtype, needs=task.agent.needs)

    with own_settings(find_devices(task.device)[0]):
        states = init_states.eval_shape(agents, world, size)
        num_curves = states.point.shape[-1]
        plan = 3, spec.horizon, spec.num_states, spec.num_actions  # Q, the bonus and the policy
        return Footprint(
            shared=_bytes(world),
            state=_bytes(states),
            records=size_of((size, num_curves, task.chunk_size)),
            plan=size_of((size, *plan), itemsize=dtype.itemsize),
            curves=size_of((size, num_curves, points)),
        )


def running(task: Task, shapes: Footprint) -> int:
    """Bytes that a task takes while it runs: in this machine's memory, or else on each of its devices.

    Only where its footprint is a large part of the memory, the program is compiled, and the compiler asked.
    """
    split = Split.of(find_devices(task.device), task.num_runs)
    of_runs = split.num_blocks * split.size * (shapes.state + shapes.records) + split.size * shapes.plan
    known, free = _copies(split) * (shapes.shared + of_runs), _free(task)
    return known if not known <= free < USUAL * known else compiled(task, split) or known


def compiled(task: Task, split: Split) -> int | None:
    """The same, as the compiler says; None if it does not."""
    with own_settings(split.devices[0], task.precision):
        found = program_of(task, split).compile().memory_analysis()
    if found is None:
        return None
    taken = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return _copies(split) * (taken - found.alias_size_in_bytes)


def _copies(split: Split) -> int:
    """Number of devices in one memory: CPUs share it."""
    return len(split.devices) if split.devices[0].memory_stats() is None else 1


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
