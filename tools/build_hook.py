"""Compile `_mixture.c` for a wheel, or in place for an editable install.

The wheel is of pure Python if compiling fails, or if `DRIFTWISE_PURE` is set. The flags are those of GCC and
Clang on Linux. The module contains the hash of its source, which `tests/online/test_compiled.py` compares.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface  # pyright: ignore[reportMissingImports]

SOURCE = Path("src/driftwise/online/deciders/_mixture.c")
MODULE = SOURCE.with_suffix(".abi3.so")  # of Python's stable interface
FLAGS = "-shared", "-fPIC", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"
LIBRARIES = "-Wl,--no-as-needed", "-lm", "-lc"  # from libc, auditwheel derives the platform tag


class CompiledModule(BuildHookInterface):
    """The compiled module in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root, pure = Path(self.root), os.environ.get("DRIFTWISE_PURE") or sys.implementation.name != "cpython"
        try:
            if not pure:
                compile_module(root)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"{SOURCE.name} was not compiled, NumPy is used instead: {error}")
            pure = True
        if pure:
            (root / MODULE).unlink(missing_ok=True)  # of an earlier build
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["artifacts"].append(str(MODULE))
        build_data.update(pure_python=False, tag=f"cp311-abi3-{platform}")


def compile_module(root: Path, *flags: str) -> None:
    """Compile the module beside its source; a process that has loaded the old one keeps it."""
    source, compiler = root / SOURCE, shlex.split(os.environ.get("CC") or "cc")
    origin = f'-DSOURCE="{hashlib.sha256(source.read_bytes()).hexdigest()}"'
    include = f"-I{sysconfig.get_path('include')}"
    with tempfile.TemporaryDirectory(dir=source.parent) as folder:
        module = Path(folder) / MODULE.name
        command = *compiler, *FLAGS, *flags, origin, include, str(source), "-o", str(module), *LIBRARIES
        subprocess.run(command, check=True)
        os.replace(module, root / MODULE)
