"""The compiled part of the simulator: pure functions of arrays, for JAX.

Runs and hyper-parameters are batch axes; episodes are a loop inside the program.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.extras import needed_by
from driftwise.base.jax_backend import register_parts
from driftwise.base.jax_backend.platforms import on_gpu
from driftwise.base.part import numbers
from driftwise.base.types import Array
from driftwise.environments.environment import Record, World
from driftwise.simulation.devices import FOREIGN_CALL, Split, find_devices
from driftwise.simulation.tasks import Task

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

Recorded = tuple[Record, dict[str, Array]]  # the outcome of an episode, and the agent's diagnostics

_one_at_a_time = threading.RLock()  # two XLA programs at once can starve each other of CPU threads

# The older loops of XLA for CPUs: as fast, the same up to last digits, and compiled sooner. From version 0.11
# on JAX does not have them, and it refuses options that it does not know.
_OPTIONS = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}


@contextlib.contextmanager
def own_settings(device: Any) -> Iterator[None]:
    """Full precision, ordinary promotion, compilation and this device, whatever the program around sets."""
    with (
        _one_at_a_time,
        jax.disable_jit(False),
        jax.default_device(device),
        jax.enable_x64(True),
        jax.default_matmul_precision("highest"),  # else float32 would be cut to TF32 on some accelerators
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        yield


def call_compiled(function: Callable[..., Any], part: Any, *arrays: Any) -> Any:
    """`function(part, *arrays)`, compiled as in a simulation: numbers of the part are not known to Python."""
    register_parts()
    with own_settings(find_devices("cpu")[0]):
        return jax.device_get(jax.jit(function)(part, *arrays))


def lower(agent: Agent, dtype: np.dtype) -> tuple[tuple[int, ...], Agent]:
    """The grid's shape, and the agent with every numeric field as a flat array over the grid."""
    register_parts()
    listed = list(numbers(agent))
    try:
        grid = np.broadcast_shapes(*(each.grid for each in listed))
    except ValueError:
        shapes = ", ".join(str(each.grid) for each in listed if each.grid)
        raise ValueError(f"agent: the shapes of its parameter grids must broadcast, got {shapes}") from None
    flat = []
    for each in listed:
        kept = _cast(np.asarray(each.value), dtype)
        own = kept.shape[len(each.grid) :]
        flat.append(np.broadcast_to(kept, grid + own).reshape(-1, *own))
    structure = jax.tree.structure(agent, is_leaf=lambda value: isinstance(value, tuple))
    return grid, jax.tree.unflatten(structure, flat)


def _cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        kept = values.astype(np.int64 if values.dtype.kind in "iu" else dtype)
    lost = ~np.isfinite(kept) | ((kept == 0) & (values != 0))
    if lost.any():
        raise ValueError(f"agent: its parameters must fit into {dtype}, got {values[lost].flat[0].item()!r}")
    return kept


@jax.jit
def run_keys(root: Array, runs: Array) -> Array:
    return jax.vmap(lambda run: random.fold(root, run))(runs)


@functools.partial(jax.jit, static_argnames="grid_size", compiler_options=_OPTIONS)
def init_states(agents: Agent, world: World, grid_size: int) -> Any:
    """First states of all agents, the same in every run: `[grid, ...]`."""
    return jax.vmap(world.begin, axis_size=grid_size)(agents)


@functools.partial(jax.jit, static_argnames="split", compiler_options=_OPTIONS)
def of_all_runs(states: Any, split: Split) -> Any:
    """`[grid, ...]` to `[grid, runs, ...]`, over the devices."""

    def repeat(leaf: Array) -> Array:
        repeated = jnp.broadcast_to(leaf[:, None], (len(leaf), len(split.runs), *leaf.shape[1:]))
        return jax.lax.with_sharding_constraint(repeated, split.place(1))

    return jax.tree.map(repeat, states)


@functools.partial(jax.jit, compiler_options=_OPTIONS)
def chunk_inputs(world: World, path: Array) -> Any:
    """Inputs that all runs of a chunk share, once for however many calls play it."""
    return world.inputs(path)


class Shared(NamedTuple):
    """Arguments of a chunk that all runs share: episodes `first` to `stop` of it are played."""

    agents: Agent
    world: World
    inputs: Any  # of the whole chunk
    begin: Array  # its first episode
    first: Array
    stop: Array


@functools.partial(
    jax.jit,
    static_argnames=("grid_size", "dtype", "split"),
    donate_argnames="state",
    compiler_options=_OPTIONS,
)
def play_chunk(
    shared: Shared, state: Any, keys: Array, grid_size: int, dtype: np.dtype, split: Split
) -> tuple[Any, Recorded]:
    """States after the episodes, and records `[chunk, grid, runs]`, valid from `first` to `stop`."""
    play = functools.partial(_play_block, grid_size=grid_size, dtype=dtype)
    return split.spread(play)(shared, state, keys)


def _play_block(
    shared: Shared, state: Any, keys: Array, *, grid_size: int, dtype: np.dtype
) -> tuple[Any, Recorded]:
    """The same for the runs of one block."""
    agents, world, inputs, begin, first, stop = shared
    grid, runs = (-2, -1) if on_gpu() else (0, 0)  # axes of states: GPUs want runs to be neighbours in memory

    def over_all(one: Callable[[Agent, Any, Array], Any]) -> Callable[[Agent, Any, Array], Any]:
        over_runs = jax.vmap(one, in_axes=(None, runs, 0), out_axes=runs)
        return jax.vmap(over_runs, in_axes=(0, grid, None), out_axes=grid, axis_size=grid_size)

    def episode(i: Array, carry: tuple[Any, Recorded]) -> tuple[Any, Recorded]:
        state, recorded = carry

        def one(agent: Agent, state: Any, key: Array) -> tuple[Any, Recorded]:
            here = jax.tree.map(lambda leaf: leaf[i], inputs)
            played = world.advance(agent, state, here, key, begin + i)
            return played.carry, (played.record, agent.diagnostics(played.carry.state))

        state, new = over_all(one)(agents, state, keys)
        return state, jax.tree.map(lambda kept, each: kept.at[i].set(each), recorded, new)

    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (0, 1), (-2, -1)), state)
    empty = jnp.zeros((len(jax.tree.leaves(inputs)[0]), grid_size, len(keys)), dtype)
    named = jax.eval_shape(
        over_all(lambda agent, carry, _: agent.diagnostics(carry.state)), agents, state, keys
    )
    recorded = Record(empty, empty, empty), dict.fromkeys(named, empty)
    state, recorded = jax.lax.fori_loop(first, stop, episode, (state, recorded))
    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (-2, -1), (0, 1)), state)
    return state, recorded


def rows_of(recorded: Recorded, played: slice) -> Recorded:
    """The records of the episodes that were played, on the host; at most twice as many leave a GPU."""
    if not on_gpu():  # the host has them
        return jax.tree.map(lambda leaf: leaf[played], jax.device_get(recorded))
    room = len(recorded[0].value)
    size = min(room, 1 << (played.stop - played.start - 1).bit_length())  # few sizes: each is a program
    begin = min(played.start, room - size)
    fetched = jax.device_get(_rows(recorded, begin, size))
    return jax.tree.map(lambda leaf: leaf[played.start - begin : played.stop - begin], fetched)


@functools.partial(jax.jit, static_argnames="size")
def _rows(recorded: Recorded, begin: Array, size: int) -> Recorded:
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, begin, size), recorded)


def program_of(task: Task, split: Split) -> Any:
    """The program that plays a task, lowered for its compiler from shapes alone."""
    dtype = np.dtype(task.precision)
    grid, agents = lower(task.agent, dtype)
    world = task.environment.world(dtype, needs=task.agent.needs)
    path = jax.ShapeDtypeStruct((task.chunk_size, *task.environment.at(np.arange(1)).shape[1:]), dtype)
    states = init_states.eval_shape(agents, world, math.prod(grid))
    keys = jax.ShapeDtypeStruct((len(split.runs), 2), np.uint32)

    def placed(tree: Any, axis: int | None = None) -> Any:
        place = split.place(axis)
        shapes = jax.eval_shape(lambda each: each, tree)
        return jax.tree.map(lambda leaf: leaf.update(sharding=place), shapes)

    shared = Shared(
        agents, placed(world), placed(chunk_inputs.eval_shape(world, path)), 0, 0, task.chunk_size
    )
    state = placed(of_all_runs.eval_shape(states, split), 1)
    return play_chunk.lower(shared, state, placed(keys, 0), math.prod(grid), dtype, split)


def split_of(task: Task) -> Split:
    """The runs of a task over all devices of its kind.

    JAX's routines for matrices, which are not XLA's, wait for threads of the pool that they run in. Called
    from several CPU devices at once they may all wait, for ever: a program that has any runs on one.
    """
    devices = find_devices(task.device)
    split = Split.of(devices, task.num_runs)
    if len(split.devices) == 1 or devices[0].platform != "cpu":
        return split
    with own_settings(devices[0]):
        may_wait = FOREIGN_CALL in program_of(task, split).as_text()
    return Split.of(devices[:1], task.num_runs) if may_wait else split


def num_programs() -> int:
    """The number of programs that were compiled in this process to play episodes."""
    return play_chunk._cache_size()  # pyright: ignore[reportAttributeAccessIssue]
