"""The simulator: many runs of an agent as one compiled program, with exact dynamic regret.

Runs and hyper-parameters are batch axes; episodes are a loop inside the program, in chunks, so that
progress and memory stay in hand. Precision is set for the calls made here and for nothing else.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from driftwise import planning, random, rollout
from driftwise.environments.linear_mdp import LinearMdp
from driftwise.jax_backend import register_parts
from driftwise.parts import is_part, to_config
from driftwise.results import Result, manifest
from driftwise.rollout import Record, World
from driftwise.types import Agent, Array, Model
from driftwise.validation import require_choice, require_count

CHUNK = 256  # episodes between two looks at the clock
MODEL_ENTRIES = 4_000_000  # how much of a path of models is laid out at once
_one_at_a_time = threading.RLock()  # two XLA programs at once can starve each other of CPU threads


def simulate(
    agent: Agent,
    environment: LinearMdp,
    *,
    num_episodes: int,
    num_runs: int = 1,
    seed: int = 0,
    record_every: int = 1,
    precision: Literal["float64", "float32"] = "float64",
    chunk_size: int = CHUNK,
    keep_state: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Let `num_runs` independent copies of an agent play `num_episodes` episodes each.

    Every number is addressed by (seed, run, episode, step, purpose): a run's numbers depend neither on
    how many runs there are nor on chunks or grids, and all agents meet the same environment draws.

    Args:
      agent: from `driftwise.algorithms`. Numeric parameters may be arrays; they broadcast against each
        other, and their common shape leads the result's arrays.
      environment: from `driftwise.environments`, or your own `LinearMdp`.
      record_every: keep one point for this many episodes: the mean over them. Cumulative regret is
        exact at every kept point, whatever the stride.
      precision: of all arithmetic.
      chunk_size: episodes the compiled program plays before it comes back.
      keep_state: also return the agents' states after the last episode.
      progress: called as `progress(episodes_done, num_episodes)` after every chunk.

    Returns:
      A `Result`; `regret` and `cumulative_regret` have shape `[*grid, num_runs, points]`.
    """
    num_episodes = require_count("num_episodes", num_episodes, bits=32)  # what an address holds
    num_runs = require_count("num_runs", num_runs, bits=32)
    seed = require_count("seed", seed, at_least=0)
    record_every = require_count("record_every", record_every)
    chunk_size = require_count("chunk_size", chunk_size)
    require_choice("precision", precision, ("float64", "float32"))
    if not isinstance(environment, LinearMdp):
        raise ValueError(f"environment must be a LinearMdp, got {environment!r}")
    if not (isinstance(agent, Agent) and is_part(agent)):
        raise ValueError(f"agent must be built by one of driftwise.algorithms, got {agent!r}")
    if progress is not None and not callable(progress):
        raise ValueError(f"progress must be a function, got {progress!r}")
    if agent.spec != environment.spec:
        raise ValueError(f"agent must be built for {environment.spec}, got an agent for {agent.spec}")

    started = time.perf_counter()
    dtype = np.dtype(precision)
    grid, lowered = lower(agent, dtype)
    points = -(-num_episodes // record_every)
    grid_size = math.prod(grid)
    chunk_size = min(chunk_size, max(num_episodes, CHUNK))
    sums = np.zeros((3, points, grid_size, num_runs))
    with _own_settings():
        world = jax.device_put(World.of(environment, dtype))
        keys = _run_keys(random.key(seed), np.arange(num_runs))
        state = _init(lowered, world, keys, grid_size)
    for begin in range(0, num_episodes, chunk_size):
        count = min(chunk_size, num_episodes - begin)
        episodes = begin + np.arange(chunk_size)
        mixture = environment.mixture(np.minimum(episodes, num_episodes - 1)).astype(dtype)
        with _own_settings():
            state, recorded = _play_chunk(lowered, world, state, mixture, keys, begin, count, grid_size)
            recorded = jax.device_get(recorded)
        if not np.isfinite(recorded[1][:count]).all():
            raise FloatingPointError(
                f"agent: its values stopped being finite by episode {begin + count} in {precision}; "
                f"the ridge may be too small, or the radius too large, for this precision: {agent!r}"
            )
        blocks = episodes[:count] // record_every
        for total, values in zip(sums, recorded, strict=True):
            np.add.at(total, blocks, values[:count])  # in the order of episodes, whatever the chunks
        if progress is not None:
            progress(begin + count, num_episodes)
    state = jax.device_get(state) if keep_state else None
    lengths = np.diff(np.minimum(np.arange(points + 1) * record_every, num_episodes))
    means = np.moveaxis(sums / lengths[:, None, None], 1, -1).reshape(3, *grid, num_runs, points)
    return Result(
        returns=means[0],
        values=means[1],
        optimal_values=means[2],
        lengths=lengths,
        state=jax.tree.map(lambda leaf: leaf.reshape(*grid, *leaf.shape[1:]), state),
        manifest=manifest(
            agent=to_config(agent),
            environment={"name": environment.name, **environment.config},
            num_episodes=num_episodes,
            num_runs=num_runs,
            seed=seed,
            record_every=record_every,
            precision=precision,
            device=jax.devices()[0].device_kind,
            seconds=time.perf_counter() - started,
        ),
    )


@contextlib.contextmanager
def _own_settings() -> Iterator[None]:
    """Full precision and ordinary promotion here, whatever the program around has set; its settings stay."""
    with (
        _one_at_a_time,
        jax.enable_x64(True),
        jax.default_matmul_precision("highest"),  # else float32 would be cut to TF32 on some accelerators
        jax.numpy_dtype_promotion("standard"),
        jax.numpy_rank_promotion("allow"),
    ):
        yield


def lower(agent: Agent, dtype: np.dtype) -> tuple[tuple[int, ...], Agent]:
    """The grid's shape, and the agent with every numeric field as a flat array over the grid."""
    register_parts()
    values, structure = jax.tree.flatten(agent, is_leaf=lambda value: isinstance(value, tuple))
    leaves = [np.asarray(value) for value in values]
    try:
        grid = np.broadcast_shapes(*(leaf.shape for leaf in leaves))
    except ValueError:
        shapes = ", ".join(str(leaf.shape) for leaf in leaves if leaf.ndim)
        raise ValueError(f"agent: the shapes of its parameter grids must broadcast, got {shapes}") from None
    with np.errstate(over="ignore", under="ignore"):
        cast = [leaf.astype(np.int64 if leaf.dtype.kind in "iu" else dtype) for leaf in leaves]
    for leaf, kept in zip(leaves, cast, strict=True):
        lost = ~np.isfinite(kept) | ((kept == 0) & (leaf != 0))
        if lost.any():
            raise ValueError(
                f"agent: its parameters must fit into {dtype}, got {leaf[lost].flat[0].item()!r}"
            )
    flat = [np.broadcast_to(leaf, grid).reshape(-1) for leaf in cast]
    return grid, jax.tree.unflatten(structure, flat)


@jax.jit
def _run_keys(root: Array, runs: Array) -> Array:
    return jax.vmap(lambda run: random.fold(root, run))(runs)


@functools.partial(jax.jit, static_argnames="grid_size")
def _init(agents: Agent, world: World, keys: Array, grid_size: int) -> Any:
    """States of all agents, `[grid, runs, ...]`."""

    def over_runs(agent: Agent) -> Any:
        return jax.vmap(lambda _: agent.init(world.table))(keys)

    return jax.vmap(over_runs, axis_size=grid_size)(agents)


@functools.partial(jax.jit, static_argnames="grid_size", donate_argnames="state")
def _play_chunk(
    agents: Agent,
    world: World,
    state: Any,
    mixture: Array,
    keys: Array,
    begin: Array,
    count: Array,
    grid_size: int,
) -> tuple[Any, tuple[Array, Array, Array]]:
    """`count` episodes from `begin` on; records of shape `[chunk, grid, runs]`, valid up to `count`."""

    def optimal(weights: Array) -> Array:
        model = Model(rollout.mix(weights, world.theta), rollout.mix(weights, world.mu))
        return planning.optimal_values(world.features, model)[0]

    # V* is the same for all runs and agents: [chunk, S], a few models at a time.
    at_once = max(1, MODEL_ENTRIES // world.mu[0].size)
    best = jax.lax.map(optimal, mixture, batch_size=min(at_once, len(mixture)))

    def episode(i: Array, carry: tuple[Any, Record]) -> tuple[Any, Record]:
        state, records = carry

        def one(agent: Agent, state: Any, key: Array) -> tuple[Any, Record]:
            return rollout.play(agent, world, state, mixture[i], key, begin + i)[:2]

        over_runs = jax.vmap(one, in_axes=(None, 0, 0))
        over_grid = jax.vmap(over_runs, in_axes=(0, 0, None), axis_size=grid_size)
        state, record = over_grid(agents, state, keys)
        return state, jax.tree.map(lambda kept, new: kept.at[i].set(new), records, record)

    shape = (len(mixture), grid_size, len(keys))
    dtype = world.theta.dtype
    empty = Record(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))
    state, records = jax.lax.fori_loop(0, count, episode, (state, empty))
    chosen = jax.vmap(lambda values, starts: values[starts])(best, records.start)
    return state, (records.reward, records.value, chosen)
