"""Forks of a process that uses JAX: a child has none of the threads that JAX would wait for."""

from __future__ import annotations

import os
import sys

_user = 0  # the process that used JAX's devices when this one was forked from it; 0 if none did


def require_own_devices() -> None:
    """Refuse, by a `RuntimeError`, to simulate where JAX would wait forever."""
    if _user:
        raise RuntimeError(
            f"simulate cannot run in a process that was forked from one that used JAX (process {_user}): "
            "JAX would wait for threads that were not copied; start it by multiprocessing's 'spawn' instead"
        )


def jax_has_begun() -> bool:
    """Whether JAX has looked for its devices in this process."""
    bridge = sys.modules.get("jax._src.xla_bridge")  # JAX has no public word for it
    return bridge is not None and bool(bridge._backends)


def _look_at_jax() -> None:
    global _user
    if jax_has_begun():
        _user = os.getppid()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_look_at_jax)
