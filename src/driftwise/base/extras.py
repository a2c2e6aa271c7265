"""Imports that wait until they are needed: of an extra, of upper layers, of the bar; and forks under JAX."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

ProgressCallback = Callable[..., None]  # episodes done, episodes in all, and what else there is to say
LOADERS: dict[str, Callable[[], Any]] = {}  # which import what a lower layer needs of an upper one
jax_user = 0  # the process that used JAX's devices when this one was forked from it; 0 if none did


@contextlib.contextmanager
def require_extra(feature: str, extra: str) -> Iterator[None]:
    """Name the extra that installs a missing package, where a feature's imports fail in here."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        installed = f"driftwise[{extra}]" if extra else "driftwise"
        text = f"{feature} needs {package}: pip install '{installed}'"
        raise ModuleNotFoundError(text, name=package) from None


@contextlib.contextmanager
def report_progress(
    progress: bool | ProgressCallback, say: Callable[..., str], first: str = ""
) -> Iterator[ProgressCallback]:
    """A function to call with progress; for True a bar shows `first`, then what `say` makes of its call."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda *now: None
    elif progress is True:
        with require_extra("progress=True", "cli"):
            from rich.progress import Progress
        with Progress() as bar:
            task = bar.add_task(first, total=None)
            yield lambda done, total, *more: bar.update(
                task, completed=done, total=total, description=say(done, total, *more)
            )
    else:
        from driftwise.base.validation import ArgumentError  # which needs NumPy

        raise ArgumentError("progress", "be True, False or a function", progress)


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


def _note_parent() -> None:
    """Let a child that was forked know whether its parent used JAX, whose threads it lacks."""
    global jax_user
    if has_jax_begun():
        jax_user = os.getppid()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=_note_parent)
