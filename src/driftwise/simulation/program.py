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
from driftwise.simulation.devices import FOREIGN_CALL, Split, find_devices, has_tf32
from driftwise.simulation.tasks import Precision, Task

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

TURN = 8  # episodes, at most, that a GPU plays without asking the host whether there are more

_one_at_a_time = threading.RLock()  # two XLA programs at once can starve each other of CPU threads

# Options that compile sooner what is as fast; JAX refuses those that it does not know. Up to version 0.10 it
# has the older loops of XLA for CPUs, the same up to last digits. From 0.11 on, XLA for GPUs would try two
# forms of every loop.
_OPTIONS = {}
if jax.__version_info__ < (0, 11):
    _OPTIONS = {"xla_cpu_use_fusion_emitters": False}
elif jax.__version_info__ <= (0, 12, 0):  # the last that is known to have it
    _OPTIONS = {"xla_gpu_experimental_enable_fusion_autotuner": False}

# Of parts of float32 numbers, on GPUs: nearly as precise as one product of the whole numbers, and faster.
_THREE_PRODUCTS = "TF32_TF32_F32_X3"


@contextlib.contextmanager
def own_settings(device: Any, precision: Precision = "float64") -> Iterator[None]:
    """Full precision, ordinary promotion, compilation and this device, whatever the program around sets."""
    with _one_at_a_time, _settings(device, precision):
        yield


@contextlib.contextmanager
def _settings(device: Any, precision: Precision) -> Iterator[None]:
    in_parts = precision == "float32" and has_tf32(device)
    with (
        jax.disable_jit(False),
        jax.default_device(device),
        jax.enable_x64(True),
        # else float32 would be cut to TF32 on some accelerators
        jax.default_matmul_precision(_THREE_PRODUCTS if in_parts else "highest"),
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


class Playing(NamedTuple):
    """What a run carries from episode to episode."""

    carry: Any  # of the world: the agent's state, and the world's own
    point: Array  # [numbers] sums over the episodes so far of the point that is recorded next, in float64


@functools.partial(jax.jit, static_argnames="grid_size", compiler_options=_OPTIONS)
def init_states(agents: Agent, world: World, grid_size: int) -> Playing:
    """First states of all agents, the same in every run: `[grid, ...]`."""

    def begin(agent: Agent) -> Playing:
        first = world.begin(agent)
        size = len(Record._fields) + len(agent.diagnostics(first.state))
        return Playing(first, jnp.zeros(size, np.float64))

    return jax.vmap(begin, axis_size=grid_size)(agents)


def diagnostics_of(agents: Agent, world: World, grid_size: int) -> list[str]:
    """Names of the agents' diagnostics, in the order in which a point has them behind a record."""
    return sorted(_first_diagnostics.eval_shape(agents, world, grid_size))


@functools.partial(jax.jit, static_argnames="grid_size")  # traced once, and never compiled
def _first_diagnostics(agents: Agent, world: World, grid_size: int) -> dict[str, Array]:
    begin = jax.vmap(lambda agent: agent.diagnostics(world.begin(agent).state), axis_size=grid_size)
    return begin(agents)


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
    every: Array  # episodes to a point


@functools.partial(
    jax.jit,
    static_argnames=("grid_size", "turn", "split"),
    donate_argnames="state",
    compiler_options=_OPTIONS,
)
def play_chunk(
    shared: Shared, state: Playing, keys: Array, grid_size: int, turn: int, split: Split
) -> tuple[Playing, Array]:
    """What runs carry after the episodes, a multiple of `turn`, and points `[chunk, grid, runs, numbers]`.

    The first row is the point of the first episode, with what earlier calls have played of it.
    """
    play = functools.partial(_play_block, grid_size=grid_size, turn=turn)
    return split.spread(play)(shared, state, keys)


def _play_block(
    shared: Shared, state: Playing, keys: Array, *, grid_size: int, turn: int
) -> tuple[Playing, Array]:
    """The same for the runs of one block."""
    agents, world, inputs, begin, first, stop, every = shared
    grid, runs = (-2, -1) if on_gpu() else (0, 0)  # axes of states: GPUs want runs to be neighbours in memory

    def over_all(one: Callable[[Agent, Any, Array], Any]) -> Callable[[Agent, Any, Array], Any]:
        over_runs = jax.vmap(one, in_axes=(None, runs, 0), out_axes=runs)
        return jax.vmap(over_runs, in_axes=(0, grid, None), out_axes=grid, axis_size=grid_size)

    def episode(i: Array, carry: tuple[Playing, Array]) -> tuple[Playing, Array]:
        state, recorded = carry
        number = begin + i

        def one(agent: Agent, before: Playing, key: Array) -> Playing:
            here = jax.tree.map(lambda leaf: leaf[i], inputs)
            played = world.advance(agent, before.carry, here, key, number)
            named = agent.diagnostics(played.carry.state)
            new = *played.record, *(named[name] for name in sorted(named))
            so_far = jnp.where(number % every == 0, 0, before.point)
            # One array: XLA would compile a loop for each number.
            return Playing(played.carry, so_far + jnp.stack([jnp.asarray(each, np.float64) for each in new]))

        state = over_all(one)(agents, state, keys)
        row = number // every - (begin + first) // every
        return state, recorded.at[row].set(state.point)

    def episodes(number: Array, carry: tuple[Playing, Array]) -> tuple[Playing, Array]:
        return jax.lax.fori_loop(0, turn, lambda i, kept: episode(first + turn * number + i, kept), carry)

    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (0, 1), (-2, -1)), state)
    room = len(jax.tree.leaves(inputs)[0])
    recorded = jnp.zeros((room, *state.point.shape), state.point.dtype)
    state, recorded = jax.lax.fori_loop(0, (stop - first) // turn, episodes, (state, recorded))
    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (-2, -1), (0, 1)), state)
        recorded = jnp.moveaxis(recorded, 1, -1)
    return state, recorded


def rows_of(recorded: Array, count: int) -> np.ndarray:
    """The first rows, on the host; at most twice as many leave a GPU."""
    if on_gpu():
        size = 1 << (count - 1).bit_length()  # few sizes: each is a program
        recorded = _first_rows(recorded, min(len(recorded), size))
    return jax.device_get(recorded)[:count]


@functools.partial(jax.jit, static_argnames="size")
def _first_rows(recorded: Array, size: int) -> Array:
    return recorded[:size]


def turn_of(split: Split, *counts: int) -> int:
    """Episodes of a turn, of which all these counts are multiples."""
    return 1 if split.devices[0].platform == "cpu" else math.gcd(TURN, *counts)


def program_of(task: Task, split: Split, done: int = 0) -> Any:
    """The program that plays a task, of which some is done, lowered for its compiler from shapes alone."""
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

    inputs = placed(chunk_inputs.eval_shape(world, path))
    shared = Shared(agents, placed(world), inputs, 0, 0, task.chunk_size, task.record_every)
    state = placed(of_all_runs.eval_shape(states, split), 1)
    turn = turn_of(split, task.chunk_size, task.num_episodes, done)
    return play_chunk.lower(shared, state, placed(keys, 0), math.prod(grid), turn, split)


def compile_ahead(task: Task, split: Split, done: int = 0) -> threading.Thread | None:
    """A thread that compiles the program of a task, which JAX then has when it is called."""

    def make() -> None:
        with contextlib.suppress(Exception), _settings(split.devices[0], task.precision):
            program_of(task, split, done).compile()  # whoever calls it is told what is wrong

    thread = threading.Thread(target=make)
    try:
        thread.start()
    except RuntimeError:  # a process may have no thread left
        return None
    return thread


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
