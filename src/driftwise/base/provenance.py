"""The origin of numbers: versions, the code itself, and the machine it runs on."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import inspect
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from driftwise.base.plugins import plugin_versions
from driftwise.base.version import __version__

PACKAGE = Path(__file__).parents[1]
MAIN = {"__mp_main__": "__main__"}  # the program itself, as its worker processes call it
CODE = (".py", ".toml")  # suffixes of the files that numbers can depend on


def provenance() -> dict[str, Any]:
    """The `versions`, `plugins`, `sources`, `commit`, `host` and `xla_flags` that compute in this process."""
    return {**_of_process(), "plugins": plugin_versions()}


@functools.cache
def _of_process() -> dict[str, Any]:
    return {
        "versions": versions(),
        "sources": {"driftwise": digest(_code(PACKAGE))},
        "commit": commit(),
        "host": host(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that numbers depend on."""
    found = {"python": platform.python_version(), "driftwise": __version__}
    for name in ("jax", "jaxlib", "numpy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def digest(files: Iterable[tuple[str, Path]]) -> str:
    """A number for the content of named files; when they were written, or compiled, does not count."""
    found = hashlib.sha256()
    for name, path in sorted(files):
        content = path.read_bytes()
        found.update(f"{name}\n{len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()[:16]


def _code(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.suffix in CODE and not path.name.startswith("."):
            yield path.relative_to(folder).as_posix(), path


def foreign_sources(*values: Any) -> dict[str, str]:
    """Digests of the modules from elsewhere that define classes of these values and of their fields.

    They are keyed by the name of the module. Modules that these import do not count.
    """
    found = {name: _digest_of_file(path) for value in values for name, path in _foreign_modules(value)}
    return dict(sorted(found.items()))


_digest_of_file = functools.cache(lambda path: digest([(path.name, path)]))


def _foreign_modules(value: Any) -> Iterator[tuple[str, Path]]:
    if isinstance(value, tuple):
        for each in value:
            yield from _foreign_modules(each)
    if not dataclasses.is_dataclass(value):
        return
    name, own = type(value).__module__, type(value).__qualname__.partition(".")[0]
    module = vars(sys.modules[name]) if name in sys.modules else {}
    path = Path(module.get("__file__") or "")  # what was typed in has none, and what was sent has another's
    if own in module and path.is_file() and PACKAGE not in path.parents:
        yield MAIN.get(name, name), path
    for field in dataclasses.fields(value):
        yield from _foreign_modules(getattr(value, field.name))


def code_of(function: Any) -> str:
    """The digest of driftwise, and that of the module from elsewhere that defines a function, if one does."""
    while isinstance(function, functools.partial):
        function = function.func
    own, module = _of_process()["sources"]["driftwise"], inspect.getmodule(function)
    path = Path((module and vars(module).get("__file__")) or "")
    return own if not path.is_file() or PACKAGE in path.parents else f"{own}-{_digest_of_file(path)}"


def host() -> dict[str, Any]:
    """The machine, as far as it explains numbers and times."""
    return {
        "name": platform.node(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cpu": cpu_kind(),
        "cpus": os.cpu_count(),
    }


def cpu_kind() -> str:
    """The kind of processor, as the system names it; kinds may round differently."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()


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
