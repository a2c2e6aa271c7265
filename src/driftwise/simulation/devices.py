"""Devices: which ones JAX has here, and the runs of a task over them.

Runs are played in blocks. Each device has some of the blocks, and plays one after the other.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.cores import num_cores
from driftwise.base.extras import needed_by
from driftwise.base.types import Array
from driftwise.base.validation import ArgumentError
from driftwise.simulation.forks import jax_has_begun, require_own_devices

with needed_by("simulate", "simulate"):
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

BLOCK = 16  # runs that a CPU plays at once: with more of them a run takes no less time
RUNS = "runs"
FOREIGN_CALL = "custom_call @"  # in a lowered program: a routine that XLA did not make


# XLA makes one function of a loop that moves few bytes, where it would call a dozen for every step. It can
# be told how few are few only before it starts.
SMALL_LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000"
if not jax_has_begun() and "xla_backend_extra_options" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {SMALL_LOOPS}".strip()


def use_cpus(count: int) -> None:
    """Let JAX have so many CPU devices, unless it has begun, or was told how many."""
    told = "xla_force_host_platform_device_count" in os.environ.get("XLA_FLAGS", "")
    if not told and jax.config.jax_num_cpu_devices < 0:  # pyright: ignore[reportAttributeAccessIssue]
        with contextlib.suppress(RuntimeError):  # it has begun
            jax.config.update("jax_num_cpu_devices", count)


def find_devices(device: str | None) -> tuple[Any, ...]:
    """All devices of a kind; without a name, of the kind that JAX would take.

    JAX has one CPU device by itself, and is given one for each core.
    """
    require_own_devices()
    use_cpus(num_cores())
    chosen = device or jax.config.jax_default_device or jax.default_backend()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(chosen, jax.Device):
        return (chosen,)
    try:
        return tuple(jax.local_devices(backend=chosen))
    except RuntimeError:
        seen = ", ".join(sorted({each.platform for each in jax.devices()}))
        raise ArgumentError("device", f"be of a kind that JAX finds here ({seen})", chosen) from None


def host_of(device: Any) -> Any:
    """The CPU beside a device, or the device itself where JAX has no other."""
    try:
        return device if device.platform == "cpu" else jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX was told of accelerators alone
        return device


def has_tf32(device: Any) -> bool:
    """Whether it is a GPU of NVIDIA's that multiplies parts of float32 numbers: Ampere, or a later one."""
    try:
        return device.platform == "gpu" and float(device.compute_capability) >= 8
    except (AttributeError, ValueError):  # AMD's have names in the place of numbers
        return False


@functools.cache
def wake(device: Any) -> threading.Thread:
    """Let an accelerator set its memory aside, which takes seconds, while there is other work; once."""

    def put() -> None:
        with contextlib.suppress(RuntimeError):  # who puts something there next will be told
            jax.device_put(np.zeros(()), device)

    waking = threading.Thread(target=put)
    waking.start()
    return waking


class Split(NamedTuple):
    """Runs over devices, each with as many blocks of as many runs; in the last blocks may be runs too many.

    A run's last digits depend on how many are played at once. On CPUs that follows from the number of runs
    alone, so that any number of cores gives the same bytes. An accelerator plays all that it has at once.
    """

    devices: tuple[Any, ...]
    num_runs: int
    num_blocks: int  # of each device
    size: int  # runs of a block

    @classmethod
    def of(cls, devices: tuple[Any, ...], num_runs: int) -> Split:
        on_cpus = devices[0].platform == "cpu"
        size = -(-num_runs // (-(-num_runs // BLOCK) if on_cpus else len(devices)))
        num_blocks = -(-num_runs // size)
        of_device = -(-num_blocks // len(devices))
        return cls(devices[: -(-num_blocks // of_device)], num_runs, of_device, size)

    @property
    def runs(self) -> np.ndarray:
        """Numbers of the runs as they are played; the last one also in place of those too many."""
        return np.minimum(np.arange(len(self.devices) * self.num_blocks * self.size), self.num_runs - 1)

    def place(self, axis: int | None = None) -> NamedSharding:
        """The place of arrays that have runs along an axis; without one, all of it on every device."""
        spec = PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, RUNS)
        return NamedSharding(Mesh(np.array(self.devices), (RUNS,)), spec)

    def spread(self, play: Callable[..., Any]) -> Callable[..., Any]:
        """`play(shared, state, keys)` of a block, as a function of all runs that works on all devices.

        States have shape `[grid, runs, ...]`, keys `[runs, ...]` and records `[episodes, grid, runs, ...]`.
        """
        if len(self.devices) * self.num_blocks == 1:
            return play

        def on_device(shared: Any, states: Any, keys: Array) -> tuple[Any, Any]:
            def play_block(states: Any, first: Array) -> tuple[Any, Any]:
                own = jax.tree.map(lambda leaf: self._block(leaf, first, 1), states)
                played, recorded = play(shared, own, self._block(keys, first, 0))
                return jax.tree.map(lambda leaf, new: _written(leaf, new, first), states, played), recorded

            firsts = self.size * jnp.arange(self.num_blocks)
            states, recorded = jax.lax.scan(play_block, states, firsts)  # in place: no second copy of states
            return states, jax.tree.map(_joined, recorded)

        shared, keys, states, records = (self.place(axis).spec for axis in (None, 0, 1, 2))
        mesh, given, made = self.place().mesh, (shared, states, keys), (states, records)
        return jax.shard_map(on_device, mesh=mesh, in_specs=given, out_specs=made, check_vma=False)

    def _block(self, leaf: Array, first: Array, axis: int) -> Array:
        """The runs of a block, along an axis."""
        return jax.lax.dynamic_slice_in_dim(leaf, first, self.size, axis)


def _written(leaf: Array, block: Array, first: Array) -> Array:
    """States with those of a block."""
    return jax.lax.dynamic_update_slice_in_dim(leaf, block, first, 1)


def _joined(records: Array) -> Array:
    """Records of blocks, `[blocks, episodes, grid, runs, ...]`, of all: `[episodes, grid, runs, ...]`."""
    moved = jnp.moveaxis(records, 0, 2)
    return moved.reshape(*moved.shape[:2], -1, *moved.shape[4:])


def collect(tree: Any, num_runs: int, axis: int) -> Any:
    """NumPy arrays of arrays that have runs along an axis, without those too many."""
    chosen = (slice(None),) * axis + (slice(num_runs),)
    return jax.tree.map(lambda leaf: leaf[chosen], jax.device_get(tree))
