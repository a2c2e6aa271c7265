"""The memory that tasks take, by the shapes of their arrays, and refusals of what does not fit."""

import contextlib
import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.resources import count_bytes, format_bytes, free_memory, require_memory
from driftwise.simulation.devices import Split, find_devices
from driftwise.simulation.program import init_states, jax_settings, lower_agent, trace_program
from driftwise.simulation.tasks import RUNS_OF_A_TASK, Task

with require_extra("simulate", "simulate"):
    import jax

_PROGRAM_FACTOR = 4  # programs take up to so many times what shapes say


class Footprint(NamedTuple):
    """Bytes that a simulation takes."""

    shared: int  # by all runs: the world
    state: int  # by each run, from one episode to the next
    records: int  # by each run, of the episodes of a chunk
    plan: int  # by each of the runs that are played at once
    curves: int  # by each run in this machine's memory, for its result


def require_task_memory(tasks: Sequence[Task], *, at_once: int = 1, split: bool = False) -> None:
    """Refuse tasks whose curves, or of which `at_once` while they run (in parts if `split`), do not fit."""
    footprints = [measure_footprint(task) for task in tasks]
    kept = sum(task.num_runs * shapes.curves for task, shapes in zip(tasks, footprints, strict=True))
    require_memory("curves", kept, _sizes(tasks[0], "record_every"))
    if not at_once:
        return
    if split:
        tasks = [replace(task, num_runs=min(task.num_runs, RUNS_OF_A_TASK)) for task in tasks]
    taken = map(estimate_bytes, tasks, footprints)
    largest = heapq.nlargest(at_once, ((size, number) for number, size in enumerate(taken)))
    most, number = largest[0]
    first, needed = tasks[number], sum(size for size, _ in largest)
    if needed <= (free := _free(first)):
        return
    together = f"{len(largest)} at once, of " * (len(largest) > 1)
    a_run = f"{format_bytes(most // first.num_runs)} a run"
    fitting = int(free / max(needed, 1) * first.num_runs)
    fewer = f"play about {fitting} runs at once, the others after them with first_run, or " * (fitting > 0)
    advice = f"{fewer}take a shorter window{' or float32' * (first.precision == 'float64')}"
    sizes = f"{together}{_sizes(first, 'chunk_size')}, {a_run}, {first.agent!r}"
    require_memory(f"{first.prefix}simulation", needed, sizes, free, advice)


def measure_footprint(task: Task) -> Footprint:
    """Return the bytes that a task takes, by the shapes of its arrays."""
    dtype, spec = np.dtype(task.precision), task.agent.spec
    grid, agents = lower_agent(task.agent, dtype)
    size, points = math.prod(grid), -(-task.num_episodes // task.record_every)
    world = task.environment.to_arrays(dtype, needs=task.agent.needs)
    plan = size, 3, spec.horizon, spec.num_states, spec.num_actions  # Q, the bonus and the policy
    with jax_settings(find_devices(task.device)[0]):
        states, _ = init_states.eval_shape(agents, world, size)
        curves = size, states.point.shape[-1]
        records, played = count_bytes((*curves, task.chunk_size)), count_bytes(plan, itemsize=dtype.itemsize)
        trees = (jax.eval_shape(lambda leaf: leaf, tree) for tree in (world, states))  # numbers of parts too
        shared, state = (
            sum(count_bytes(leaf.shape, itemsize=leaf.dtype.itemsize) for leaf in jax.tree.leaves(tree))
            for tree in trees
        )
        return Footprint(shared, state, records, played, count_bytes((*curves, points)))


def estimate_bytes(task: Task, shapes: Footprint) -> int:
    """Return the bytes that a task takes while it runs, in this machine's memory or on each of its devices.

    Only where its footprint is a large part of the memory, the program is compiled, and the compiler asked.
    """
    split = Split.of(find_devices(task.device), task.num_runs)
    copies = len(split.devices) if split.devices[0].memory_stats() is None else 1  # CPUs share a memory
    of_runs = split.num_blocks * split.size * (shapes.state + shapes.records) + split.size * shapes.plan
    known = copies * (shapes.shared + of_runs)
    if not known <= _free(task) < _PROGRAM_FACTOR * known:
        return known
    return copies * (compiled_bytes(task, split) or 0) or known


def compiled_bytes(task: Task, split: Split) -> int | None:
    """Return the bytes that a task takes on a device, by its compiler; None if that does not say."""
    with jax_settings(split.devices[0], task.precision):
        sizes = trace_program(task, split).lower().compile().memory_analysis()
    if sizes is None:
        return None
    taken = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    return taken - sizes.alias_size_in_bytes


def _sizes(task: Task, last: str) -> str:
    return ", ".join(f"{name} = {getattr(task, name)}" for name in ("num_episodes", "num_runs", last))


def _free(task: Task) -> int:
    """Return the bytes that are free on the device of a task."""
    stats = find_devices(task.device)[0].memory_stats()  # CPUs have none
    return free_memory() if stats is None else stats["bytes_limit"] - stats["bytes_in_use"]


@contextlib.contextmanager
def memory_errors(task: Task) -> Iterator[None]:
    """Raise a `MemoryError` of one sentence where a compiled program runs out of memory."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        status, _, reason = str(error).partition(": ")
        if status != "RESOURCE_EXHAUSTED":
            raise
        sizes, said = _sizes(task, "chunk_size"), reason.partition("\n")[0].rstrip(".")
        raise MemoryError(f"{task.prefix}{said} for {sizes}, {task.agent!r}: lower one of these") from None
