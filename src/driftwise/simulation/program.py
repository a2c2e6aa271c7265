"""The compiled part of the simulator: a loop over episodes, with runs and hyper-parameters as batch axes."""

import contextlib
import functools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.extras import require_extra
from driftwise.base.jax_backend import on_gpu, register_parts
from driftwise.base.part import grid_shape, numeric_values
from driftwise.base.types import Array
from driftwise.environments.environment import EnvironmentArrays, Record
from driftwise.simulation.devices import Split, find_devices, has_tf32
from driftwise.simulation.tasks import Precision, Task

with require_extra("simulate", "simulate"):
    import jax
    import jax.numpy as jnp
    from jax.extend.core import ClosedJaxpr, Jaxpr

_TURN = 8  # episodes, at most, that a GPU plays without asking the host whether there are more
_LAPACK = {*dir(jax.lax.linalg), "geqrf", "geqp3", "ffi_call"}  # primitives of other libraries
_num_programs = 0

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
def jax_settings(device: Any, precision: Precision = "float64", lock: Any = _one_at_a_time) -> Iterator[None]:
    """Set full precision, ordinary promotion, compilation and the device, whatever the caller's settings."""
    in_parts = precision == "float32" and has_tf32(device)
    with (
        lock,
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
    """Return `function(part, *arrays)`, compiled as in a simulation: the part's numbers are traced."""
    register_parts()
    with jax_settings(find_devices("cpu")[0]):
        return jax.device_get(jax.jit(function)(part, *arrays))


def lower_agent(agent: Agent, dtype: np.dtype) -> tuple[tuple[int, ...], Agent]:
    """Return the grid's shape, and the agent with every numeric field as a flat array over the grid."""
    register_parts()
    grid, flat = grid_shape(agent), []
    for number in numeric_values(agent):
        values = np.asarray(number.value)
        with np.errstate(over="ignore", under="ignore"):
            cast = values.astype(np.int64 if values.dtype.kind in "iu" else dtype)
        lost = ~np.isfinite(cast) | ((cast == 0) & (values != 0))
        if lost.any():
            value = values[lost].flat[0].item()
            raise ValueError(f"agent: its parameters must fit into {dtype}, got {value!r}")
        own = cast.shape[len(number.grid) :]
        flat.append(np.broadcast_to(cast, grid + own).reshape(-1, *own))
    structure = jax.tree.structure(agent, is_leaf=lambda value: isinstance(value, tuple))
    return grid, jax.tree.unflatten(structure, flat)


class RunState(NamedTuple):
    """The state that a run carries from episode to episode."""

    carry: Any  # of the world: the agent's state, and the world's own
    point: Array  # [numbers] sums over the episodes so far of the point that is recorded next, in float64


@functools.partial(jax.jit, static_argnames="grid_size", compiler_options=_OPTIONS)
def init_states(agents: Agent, world: EnvironmentArrays, grid_size: int) -> tuple[RunState, dict[str, Array]]:
    """Return first states `[grid, ...]`, equal in all runs, and diagnostics; points sort these by name."""

    def begin(agent: Agent) -> tuple[RunState, dict[str, Array]]:
        first = world.begin(agent)
        named = agent.diagnostics(first.state)
        return RunState(first, jnp.zeros(len(Record._fields) + len(named), np.float64)), named

    return jax.vmap(begin, axis_size=grid_size)(agents)


@functools.partial(jax.jit, static_argnames="split", compiler_options=_OPTIONS)
def repeat_for_runs(states: Any, split: Split) -> Any:
    """`[grid, ...]` to `[grid, runs, ...]`, over the devices."""
    repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], len(split.runs), axis=1), states)
    return jax.lax.with_sharding_constraint(repeated, split.place(1))


@functools.partial(jax.jit, compiler_options=_OPTIONS)
def chunk_inputs(world: EnvironmentArrays, path: Array) -> Any:
    """Inputs that all runs of a chunk share, once for however many calls play it."""
    return world.inputs(path)


class Shared(NamedTuple):
    """Arguments of a chunk that all runs share: episodes `first` to `stop` of it are played."""

    agents: Agent
    world: EnvironmentArrays
    inputs: Any  # of the whole chunk
    begin: Array  # its first episode
    first: Array
    stop: Array
    every: Array  # episodes to a point


@functools.partial(jax.jit, static_argnums=(3, 4, 5), donate_argnames="state", compiler_options=_OPTIONS)
def play_chunk(
    shared: Shared, state: RunState, keys: Array, grid_size: int, turn: int, split: Split
) -> tuple[RunState, Array]:
    """Return run states after the episodes, a multiple of `turn`, and points `[chunk, grid, runs, numbers]`.

    The first row is the point of the first episode, with what earlier calls have played of it.
    """
    global _num_programs
    _num_programs += 1  # JAX runs this line only where it traces a program
    play = functools.partial(_play_block, grid_size=grid_size, turn=turn)
    return split.spread(play)(shared, state, keys)


def _play_block(
    shared: Shared, state: RunState, keys: Array, *, grid_size: int, turn: int
) -> tuple[RunState, Array]:
    """Play the episodes of a chunk for the runs of one block."""
    agents, world, inputs, begin, first, stop, every = shared
    grid, runs = (-2, -1) if on_gpu() else (0, 0)  # axes of states: GPUs want runs to be neighbours in memory

    def episode(i: Array, carry: tuple[RunState, Array]) -> tuple[RunState, Array]:
        state, recorded = carry
        number = begin + i

        def one(agent: Agent, before: RunState, key: Array) -> RunState:
            here = jax.tree.map(lambda leaf: leaf[i], inputs)
            played = world.advance(agent, before.carry, here, key, number)
            named = agent.diagnostics(played.carry.state)
            numbers = *played.record, *(named[name] for name in sorted(named))
            so_far = jnp.where(number % every == 0, 0, before.point)
            # One array: XLA would compile a loop for each number.
            new = jnp.stack([jnp.asarray(value, np.float64) for value in numbers])
            return RunState(played.carry, so_far + new)

        over_runs = jax.vmap(one, in_axes=(None, runs, 0), out_axes=runs)
        over_grid = jax.vmap(over_runs, in_axes=(0, grid, None), out_axes=grid, axis_size=grid_size)
        state = over_grid(agents, state, keys)
        row = number // every - (begin + first) // every
        return state, recorded.at[row].set(state.point)

    def episodes(number: Array, carry: tuple[RunState, Array]) -> tuple[RunState, Array]:
        return jax.lax.fori_loop(0, turn, lambda i, now: episode(first + turn * number + i, now), carry)

    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (0, 1), (-2, -1)), state)
    chunk_size = len(jax.tree.leaves(inputs)[0])
    recorded = jnp.zeros((chunk_size, *state.point.shape), state.point.dtype)
    state, recorded = jax.lax.fori_loop(0, (stop - first) // turn, episodes, (state, recorded))
    if on_gpu():
        state = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, (-2, -1), (0, 1)), state)
        recorded = jnp.moveaxis(recorded, 1, -1)
    return state, recorded


def turn_length(split: Split, *counts: int) -> int:
    """Return the number of episodes of a turn, of which all these counts are multiples."""
    return 1 if split.devices[0].platform == "cpu" else math.gcd(_TURN, *counts)


def trace_program(task: Task, split: Split, done: int = 0) -> Any:
    """Return the program that plays a task, of which `done` episodes are played, traced from shapes alone."""
    dtype = np.dtype(task.precision)
    grid, agents = lower_agent(task.agent, dtype)
    world = task.environment.to_arrays(dtype, needs=task.agent.needs)
    path = jax.ShapeDtypeStruct((task.chunk_size, *task.environment.at(np.arange(1)).shape[1:]), dtype)
    states, _ = init_states.eval_shape(agents, world, math.prod(grid))
    keys = jax.ShapeDtypeStruct((len(split.runs), 2), np.uint32)

    def placed(tree: Any, axis: int | None = None) -> Any:
        place = split.place(axis)
        shapes = jax.eval_shape(lambda arrays: arrays, tree)
        return jax.tree.map(lambda leaf: leaf.update(sharding=place), shapes)

    inputs = placed(chunk_inputs.eval_shape(world, path))
    shared = Shared(agents, placed(world), inputs, 0, 0, task.chunk_size, task.record_every)
    state = placed(repeat_for_runs.eval_shape(states, split), 1)
    turn = turn_length(split, task.chunk_size, task.num_episodes, done)
    return play_chunk.trace(shared, state, placed(keys, 0), math.prod(grid), turn, split)


def compile_ahead(task: Task, split: Split, done: int = 0) -> None:
    """Compile the program of a task, which JAX then has when it is called: for a thread beside."""
    unlocked = jax_settings(split.devices[0], task.precision, contextlib.nullcontext())
    with contextlib.suppress(Exception), unlocked:  # a call of the program raises what is wrong
        trace_program(task, split, done).lower().compile()


def split_runs(task: Task) -> Split:
    """Split the runs of a task over all devices of its kind.

    JAX calls LAPACK's routines from threads of the pool that they wait for. Called from several CPU devices
    at once, they may wait forever: a program with any of them runs on one device.
    """

    def calls_lapack(traced: Any) -> bool:  # itself, or in its loops and branches
        traced = traced.jaxpr if isinstance(traced, ClosedJaxpr) else traced
        return isinstance(traced, Jaxpr) and any(
            one.primitive.name in _LAPACK or any(map(calls_lapack, jax.tree.leaves(dict(one.params))))
            for one in traced.eqns
        )

    devices = find_devices(task.device)
    split = Split.of(devices, task.num_runs)
    if len(split.devices) == 1 or devices[0].platform != "cpu":
        return split
    with jax_settings(devices[0]):
        may_wait = calls_lapack(trace_program(task, split).jaxpr)
    return Split.of(devices[:1], task.num_runs) if may_wait else split


def num_programs() -> int:
    """Return the number of programs that this process has traced to play episodes."""
    return _num_programs
