"""Compiled programs: JAX keeps them in a folder of the user, so that a second process compiles nothing."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from driftwise.base.extras import needed_by
from driftwise.base.provenance import cpu_kind

with needed_by("simulate", "simulate"):
    import jax

SETTING = "DRIFTWISE_COMPILATION_CACHE"  # a folder, or OFF
OFF = "off"
SECONDS_WORTH_KEEPING = 0.1  # of compilation; JAX's own limit is one second, and most programs take less


@functools.cache
def keep_compiled() -> None:
    """Let JAX keep what it compiles, unless the user or the program around has decided about that.

    JAX has one such folder for a process, and what the program around compiles is kept there as well.
    """
    folder = cache_folder(os.environ)
    if jax.config.jax_compilation_cache_dir is not None or folder is None:  # pyright: ignore
        return
    with contextlib.suppress(OSError):  # where nothing can be written, nothing is kept
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", SECONDS_WORTH_KEEPING)


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder for programs of this kind of machine; None if they are not to be kept."""
    chosen = environ.get(SETTING, "")
    if chosen == OFF:
        return None
    try:
        folder = Path(chosen).expanduser() if chosen else _user_cache(environ) / "driftwise"
    except RuntimeError:  # the user has no home
        return None
    kind = hashlib.sha256(cpu_kind().encode()).hexdigest()[
        :8
    ]  # a home may be shared by machines of all kinds
    return folder / f"compiled-{kind}"


def _user_cache(environ: Mapping[str, str]) -> Path:
    """The folder in which the system wants to have what can be made again."""
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
