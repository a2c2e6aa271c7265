"""Forks of a process that uses JAX: a child has none of the threads that JAX would wait for."""

import os
import sys

jax_user = 0  # the process that used JAX's devices when this one was forked from it; 0 if none did


def register_fork_hook() -> None:
    """Let every child that is forked from now on know whether its parent used JAX."""

    def note_parent() -> None:
        global jax_user
        if has_jax_begun():
            jax_user = os.getppid()

    if hasattr(os, "register_at_fork"):  # Windows has no forks
        os.register_at_fork(after_in_child=note_parent)


def has_jax_begun() -> bool:
    """Return whether JAX has looked for its devices in this process."""
    if (jax := sys.modules.get("jax")) is None:
        return False
    before = jax.config.jax_num_cpu_devices
    try:  # from then on it refuses to change this number
        jax.config.update("jax_num_cpu_devices", before + 1)
    except RuntimeError:
        return True
    jax.config.update("jax_num_cpu_devices", before)
    return False
