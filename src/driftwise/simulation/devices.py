"""Devices: which ones JAX has here, and how the runs of a task are split over them, in blocks."""

import contextlib
import functools
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from driftwise.base import extras
from driftwise.base.provenance import cpu_model
from driftwise.base.resources import num_cores
from driftwise.base.types import Array
from driftwise.base.validation import ArgumentError

with extras.require_extra("simulate", "simulate"):
    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

_BLOCK_RUNS = 16  # runs that a CPU plays at once: with more of them a run takes no less time
_RUNS = "runs"
# XLA makes one function of a loop that moves few bytes, where it would call a dozen for every step. It can
# be given another limit only before it starts.
_SMALL_LOOPS = "--xla_backend_extra_options=xla_cpu_small_while_loop_byte_threshold=1000000"


def prepare_jax(num_cpus: int) -> None:
    """Set the number of CPU devices, unless it is set, and XLA's options; do nothing once JAX has begun."""
    if extras.has_jax_begun():
        return
    flags = os.environ.get("XLA_FLAGS", "")
    if "xla_backend_extra_options" not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {_SMALL_LOOPS}".strip()
    unset = jax.config.jax_num_cpu_devices < 0  # pyright: ignore[reportAttributeAccessIssue]
    if unset and "xla_force_host_platform_device_count" not in flags:
        jax.config.update("jax_num_cpu_devices", num_cpus)


def find_devices(device: str | None) -> tuple[Any, ...]:
    """Return all devices of a kind, one CPU for each core; without a name, of the kind that JAX takes."""
    if extras.jax_user:  # JAX would wait forever
        raise RuntimeError(
            f"simulate cannot run in a process that was forked from one that used JAX (process "
            f"{extras.jax_user}): JAX would wait for threads that were not copied; start it by "
            "multiprocessing's 'spawn' instead"
        )
    prepare_jax(num_cores())
    chosen = device or jax.config.jax_default_device or jax.default_backend()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(chosen, jax.Device):
        return (chosen,)
    try:
        return tuple(jax.local_devices(backend=chosen))
    except RuntimeError:
        kinds = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise ArgumentError("device", f"be of a kind that JAX finds here ({kinds})", chosen) from None


def has_tf32(device: Any) -> bool:
    """Return whether the device is an NVIDIA GPU with TF32: Ampere or later."""
    with contextlib.suppress(AttributeError, ValueError):  # AMD's have names in the place of numbers
        return device.platform == "gpu" and float(device.compute_capability) >= 8
    return False


@functools.cache
def wake_device(device: Any) -> threading.Thread:
    """Start a thread, once, in which an accelerator allocates its memory, which takes seconds."""

    def put() -> None:
        with contextlib.suppress(RuntimeError):  # the next transfer raises it again
            jax.device_put(np.zeros(()), device)

    waking = threading.Thread(target=put)
    waking.start()
    return waking


class Split(NamedTuple):
    """A split of runs over devices, each with equally many blocks of equally many runs, padded at the end.

    A run's last digits depend on how many are played at once. On CPUs that follows from the number of runs
    alone, so that any number of cores gives the same bytes. An accelerator plays all of its runs at once.
    """

    devices: tuple[Any, ...]
    num_runs: int
    num_blocks: int  # of each device
    size: int  # runs of a block

    @classmethod
    def of(cls, devices: tuple[Any, ...], num_runs: int) -> Self:
        on_cpus = devices[0].platform == "cpu"
        size = -(-num_runs // (-(-num_runs // _BLOCK_RUNS) if on_cpus else len(devices)))
        num_blocks = -(-num_runs // size)
        of_device = -(-num_blocks // len(devices))
        return cls(devices[: -(-num_blocks // of_device)], num_runs, of_device, size)

    @property
    def runs(self) -> np.ndarray:
        """Numbers of the runs as they are played, padded with the last one."""
        return np.minimum(np.arange(len(self.devices) * self.num_blocks * self.size), self.num_runs - 1)

    def place(self, axis: int | None = None) -> NamedSharding:
        """Return the sharding of arrays with runs along an axis; without one, copies on every device."""
        spec = PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, _RUNS)
        return NamedSharding(Mesh(np.array(self.devices), (_RUNS,)), spec)

    def spread(self, play: Callable[..., Any]) -> Callable[..., Any]:
        """Return `play(shared, state, keys)` of a block as a function of all runs, on all devices."""
        if len(self.devices) * self.num_blocks == 1:
            return play

        def on_device(shared: Any, states: Any, keys: Array) -> tuple[Any, Any]:
            take, write = jax.lax.dynamic_slice_in_dim, jax.lax.dynamic_update_slice_in_dim

            def play_block(states: Any, first: Array) -> tuple[Any, Any]:
                block = jax.tree.map(lambda leaf: take(leaf, first, self.size, 1), states)
                played, recorded = play(shared, block, take(keys, first, self.size, 0))
                return jax.tree.map(lambda leaf, new: write(leaf, new, first, 1), states, played), recorded

            firsts = self.size * jnp.arange(self.num_blocks)
            states, recorded = jax.lax.scan(play_block, states, firsts)  # in place: no second copy of states
            joined = jnp.moveaxis(recorded, 0, 2)
            return states, joined.reshape(*joined.shape[:2], -1, *joined.shape[4:])

        # Keys have shape [runs, ...], states [grid, runs, ...], records [episodes, grid, runs, ...].
        shared, keys, states, records = (self.place(axis).spec for axis in (None, 0, 1, 2))
        mesh, inputs, outputs = self.place().mesh, (shared, states, keys), (states, records)
        return jax.shard_map(on_device, mesh=mesh, in_specs=inputs, out_specs=outputs, check_vma=False)


def to_numpy(tree: Any, num_runs: int, axis: int) -> Any:
    """Return arrays that have runs along an axis as NumPy arrays, without the padding."""
    chosen = (slice(None),) * axis + (slice(num_runs),)
    return jax.tree.map(lambda leaf: leaf[chosen], jax.device_get(tree))


CACHE_SETTING = "DRIFTWISE_COMPILATION_CACHE"  # a folder, or "off"
_CACHED_SECONDS = 0.1  # of compilation; JAX's own limit is one second, and most programs take less


@functools.cache
def enable_compilation_cache() -> None:
    """Let JAX cache what the process compiles, unless the user or the calling program has decided on that."""
    folder = cache_folder(os.environ)
    if jax.config.jax_compilation_cache_dir is not None or folder is None:  # pyright: ignore
        return
    with contextlib.suppress(OSError):  # where nothing can be written, nothing is cached
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", _CACHED_SECONDS)


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder for programs of this kind of machine; None if they are not to be cached."""
    chosen = environ.get(CACHE_SETTING, "")
    if chosen == "off":
        return None
    kind = hashlib.sha256(cpu_model().encode()).hexdigest()[:8]  # machines of all kinds may share a home
    places = {"win32": ("LOCALAPPDATA", "AppData/Local"), "darwin": ("", "Library/Caches")}
    variable, usual = places.get(sys.platform, ("XDG_CACHE_HOME", ".cache"))
    with contextlib.suppress(RuntimeError):  # the user has no home
        if chosen:
            return Path(chosen).expanduser() / f"compiled-{kind}"
        return Path(environ.get(variable) or Path.home() / usual) / "driftwise" / f"compiled-{kind}"
    return None
