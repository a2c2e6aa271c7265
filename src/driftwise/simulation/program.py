"""The compiled part of the simulator: pure functions of arrays, for JAX.

Runs and hyper-parameters are batch axes; episodes are a loop inside the program.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.extras import needed_by
from driftwise.base.jax_backend import register_parts
from driftwise.base.part import numbers
from driftwise.base.types import Array
from driftwise.base.validation import ArgumentError
from driftwise.environments.environment import Record, World
from driftwise.simulation.forks import require_own_devices

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp

Recorded = tuple[Record, dict[str, Array]]  # the outcome of an episode, and the agent's diagnostics

_one_at_a_time = threading.RLock()  # two XLA programs at once can starve each other of CPU threads

# The older loops of XLA for CPUs: as fast, the same up to last digits, and compiled sooner. From version 0.11
# on JAX does not have them, and it refuses options that it does not know.
_OPTIONS = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}


def find_device(name: str | None) -> Any:
    """The first device of a kind; without a name, the one that JAX would take."""
    require_own_devices()
    chosen = name or jax.config.jax_default_device or jax.default_backend()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(chosen, jax.Device):
        return chosen
    try:
        return jax.local_devices(backend=chosen)[0]
    except RuntimeError:
        seen = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise ArgumentError("device", f"be of a kind that JAX finds here ({seen})", chosen) from None


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
    with own_settings(find_device("cpu")):
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
def init_states(agents: Agent, world: World, keys: Array, grid_size: int) -> Any:
    """States of all agents, `[grid, runs, ...]`."""

    def over_runs(agent: Agent) -> Any:
        return jax.vmap(lambda _: world.begin(agent))(keys)

    return jax.vmap(over_runs, axis_size=grid_size)(agents)


@functools.partial(jax.jit, compiler_options=_OPTIONS)
def chunk_inputs(world: World, path: Array) -> Any:
    """Inputs that all runs of a chunk share, once for however many calls play it."""
    return world.inputs(path)


@functools.partial(
    jax.jit, static_argnames=("grid_size", "dtype"), donate_argnames="state", compiler_options=_OPTIONS
)
def play_chunk(
    agents: Agent,
    world: World,
    state: Any,
    inputs: Any,
    keys: Array,
    begin: Array,
    first: Array,
    stop: Array,
    grid_size: int,
    dtype: np.dtype,
) -> tuple[Any, Recorded]:
    """Episodes `first` to `stop` of the chunk that begins with episode `begin`, and has these inputs.

    Records have shape `[chunk, grid, runs]`; they are valid from `first` to `stop`.
    """

    def over_all(one: Callable[[Agent, Any, Array], Any]) -> Callable[[Agent, Any, Array], Any]:
        over_runs = jax.vmap(one, in_axes=(None, 0, 0))
        return jax.vmap(over_runs, in_axes=(0, 0, None), axis_size=grid_size)

    def episode(i: Array, carry: tuple[Any, Recorded]) -> tuple[Any, Recorded]:
        state, recorded = carry

        def one(agent: Agent, state: Any, key: Array) -> tuple[Any, Recorded]:
            here = jax.tree.map(lambda leaf: leaf[i], inputs)
            played = world.advance(agent, state, here, key, begin + i)
            return played.carry, (played.record, agent.diagnostics(played.carry.state))

        state, new = over_all(one)(agents, state, keys)
        return state, jax.tree.map(lambda kept, each: kept.at[i].set(each), recorded, new)

    empty = jnp.zeros((len(jax.tree.leaves(inputs)[0]), grid_size, len(keys)), dtype)
    named = jax.eval_shape(
        over_all(lambda agent, carry, _: agent.diagnostics(carry.state)), agents, state, keys
    )
    recorded = Record(empty, empty, empty), dict.fromkeys(named, empty)
    return jax.lax.fori_loop(first, stop, episode, (state, recorded))


def num_programs() -> int:
    """The number of programs that were compiled in this process to play episodes."""
    return play_chunk._cache_size()  # pyright: ignore[reportAttributeAccessIssue]
