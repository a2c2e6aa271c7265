"""The origin of numbers: versions, the code itself, and the machine it runs on."""

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
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

from driftwise.base import __version__
from driftwise.base.plugins import VERSIONS

_PACKAGE = Path(__file__).parents[1]
_MAIN = {"__mp_main__": "__main__"}  # the program itself, as its worker processes call it
_CODE = (".py", ".toml")  # suffixes of the files that numbers can depend on


def provenance() -> dict[str, Any]:
    """The `versions`, `plugins`, `sources`, `commit`, `host` and `xla_flags` that compute in this process."""
    return {**_of_process(), "xla_flags": os.environ.get("XLA_FLAGS", ""), "plugins": {**VERSIONS}}


@functools.cache
def _of_process() -> dict[str, Any]:
    versions = {"python": platform.python_version(), "driftwise": __version__}
    for name in ("jax", "jaxlib", "numpy"):  # that numbers depend on
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    host = {"name": platform.node(), "system": platform.platform(), "machine": platform.machine()}
    host |= {"cpu": cpu_model(), "cpus": os.cpu_count()}
    commit = None
    with contextlib.suppress(PackageNotFoundError):  # pip records the commit of an installed repository
        text = distribution("driftwise").read_text("direct_url.json") or "{}"
        commit = json.loads(text).get("vcs_info", {}).get("commit_id")
    sources = {"driftwise": digest_path(_PACKAGE)}
    return {"versions": versions, "sources": sources, "commit": commit or find_commit(_PACKAGE), "host": host}


def digest_path(place: Path) -> str:
    """Return a digest of the name and content of a file, or of all code in a folder."""
    code = (path for path in place.rglob("*") if path.suffix in _CODE and not path.name.startswith("."))
    named = {path.relative_to(place).as_posix(): path for path in code} or {place.name: place}
    digest = hashlib.sha256()
    for name, path in sorted(named.items()):
        content = path.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


_digest_of_file = functools.cache(digest_path)


def foreign_sources(*values: Any) -> dict[str, str]:
    """Return digests of the modules outside driftwise that define classes of these values and their fields.

    They are keyed by the name of the module. Modules that these import do not count.
    """
    modules = {}
    for value in values:
        if isinstance(value, tuple):
            modules |= foreign_sources(*value)
        if not dataclasses.is_dataclass(value):
            continue
        name, own = type(value).__module__, type(value).__qualname__.partition(".")[0]
        module = vars(sys.modules[name]) if name in sys.modules else {}
        path = Path(module.get("__file__") or "")  # what was typed in has none, what was sent has another's
        if own in module and path.is_file() and _PACKAGE not in path.parents:
            modules[_MAIN.get(name, name)] = _digest_of_file(path)
        modules |= foreign_sources(*(getattr(value, field.name) for field in dataclasses.fields(value)))
    return dict(sorted(modules.items()))


def digest_code(function: Any) -> str:
    """Return the digest of driftwise, and of the module outside it that defines a function, if one does."""
    while isinstance(function, functools.partial):
        function = function.func
    own, module = _of_process()["sources"]["driftwise"], inspect.getmodule(function)
    path = Path((module and vars(module).get("__file__")) or "")
    return own if not path.is_file() or _PACKAGE in path.parents else f"{own}-{_digest_of_file(path)}"


def cpu_model() -> str:
    """Return the kind of processor, as the system names it; kinds may round differently."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor()


def find_commit(folder: Path) -> str | None:
    """Return the commit of a folder's checkout, marked where files were changed since; None if unknown."""
    options: dict[str, Any] = dict(cwd=folder, check=True, capture_output=True, text=True, timeout=10)
    git = functools.partial(subprocess.run, **options)
    try:
        git(["git", "ls-files", "--error-unmatch", "__init__.py"])  # or the repository is somebody else's
        commit = git(["git", "rev-parse", "HEAD"]).stdout.strip()
        changes = git(["git", "status", "--porcelain", "--", "."]).stdout.strip()
        return f"{commit} with changes" if changes else commit
    except (OSError, subprocess.SubprocessError):
        return None
