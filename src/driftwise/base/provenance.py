"""The origin of numbers: versions, the commit of this package, and the machine it runs on."""

from __future__ import annotations

import functools
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any


@functools.cache
def provenance() -> dict[str, Any]:
    """The `versions`, `commit` and `host` that compute in this process."""
    return {"versions": versions(), "commit": commit(), "host": host()}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for name in ("driftwise", "jax", "jaxlib", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def host() -> dict[str, Any]:
    """The machine, as far as it explains numbers and times."""
    return {
        "name": platform.node(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


def commit() -> str | None:
    """The commit of driftwise that runs, marked where files were changed since; None if nobody knows."""
    return _installed_commit() or _checked_out_commit(Path(__file__).parent)


def _installed_commit() -> str | None:
    """The commit that pip wrote down when it installed from a repository."""
    try:
        text = distribution("driftwise").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    return json.loads(text).get("vcs_info", {}).get("commit_id") if text else None


def _checked_out_commit(folder: Path) -> str | None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # or the repository around is somebody else's
        return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return None
