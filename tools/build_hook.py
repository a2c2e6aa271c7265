"""Compile `_mixture.c` for a wheel, or in place for an editable install.

Where there is no compiler, or none that succeeds, the wheel is of pure Python; so it is where the environment
has `DRIFTWISE_PURE`. Flags are those of GCC and Clang on Linux.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import (  # pyright: ignore[reportMissingImports]
    BuildHookInterface,
)

SOURCE = Path("src/driftwise/online/bandits/_mixture.c")
MODULE = SOURCE.with_suffix(".abi3.so")  # of Python's stable interface
FLAGS = "-shared", "-fPIC", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"
LIBRARIES = "-Wl,--no-as-needed", "-lm", "-lc"  # by the latter wheels are told for which systems they are


class CompiledModule(BuildHookInterface):
    """The compiled module in the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root, pure = Path(self.root), os.environ.get("DRIFTWISE_PURE") or sys.implementation.name != "cpython"
        try:
            if not pure:
                compile_module(root)
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"{SOURCE.name} was not compiled, NumPy serves instead: {error}")
            pure = True
        if pure:
            (root / MODULE).unlink(missing_ok=True)  # of another time
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["artifacts"].append(str(MODULE))
        build_data.update(pure_python=False, tag=f"cp311-abi3-{platform}")


def compile_module(root: Path) -> None:
    """Put the module beside its source; it knows which source that was."""
    source, compiler = root / SOURCE, shlex.split(os.environ.get("CC") or "cc")
    told = f'-DSOURCE="{hashlib.sha256(source.read_bytes()).hexdigest()}"'
    given = (*FLAGS, told, f"-I{sysconfig.get_path('include')}", str(source))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / MODULE.name
        subprocess.run([*compiler, *given, "-o", str(made), *LIBRARIES], check=True)
        shutil.move(made, root / MODULE)
