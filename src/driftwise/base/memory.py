"""Memory: how much there is, and a refusal of what cannot fit before any of it is taken."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from driftwise.base.validation import ArgumentError

GROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = {  # of control groups, by how /proc/self/cgroup tells them: where they are, limit and usage
    "": ("", "memory.max", "memory.current"),  # version 2
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),  # version 1
}
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system tells."""
    return max(0, min([_available(), *_left_to_groups(), *_left_to_addresses()]))


def _left_to_groups(told: Path = Path("/proc/self/cgroup")) -> Iterator[int]:
    """Limits of the control groups around this process, from the inmost outwards, less what they use."""
    with contextlib.suppress(OSError):
        for line in told.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            for name in set(controllers.split(",")) & CONTROLLERS.keys():
                where, limit, usage = CONTROLLERS[name]
                inner = PurePosixPath(path.lstrip("/"))
                for group in (inner, *inner.parents):
                    folder = GROUPS / where / group
                    with contextlib.suppress(OSError, ValueError):  # no such file here, or "max": no limit
                        yield int((folder / limit).read_text()) - _used(folder, usage)


def _used(folder: Path, usage: str) -> int:
    """Bytes that a group uses, without the pages of files that nobody has used lately."""
    facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    cached = facts.get("total_inactive_file", facts.get("inactive_file", 0))
    return int((folder / usage).read_text()) - int(cached)


def _left_to_addresses() -> Iterator[int]:
    """The limit of this process' address space (`ulimit -v`), less what it has of it."""
    with contextlib.suppress(ImportError, OSError):  # Windows; no /proc
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield limit - pages * resource.getpagesize()


def _available() -> int:
    with contextlib.suppress(OSError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        facts = dict(line.split(":", 1) for line in lines)
        if "MemAvailable" in facts:
            return 1024 * int(facts["MemAvailable"].split()[0])
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return sys.maxsize


def size_of(*shapes: Iterable[int], itemsize: int = 8) -> int:
    """Bytes of arrays of these shapes, of float64 unless given."""
    return itemsize * sum(map(math.prod, shapes))


def in_words(num_bytes: int) -> str:
    """`3.2 GiB`."""
    power = min(max(num_bytes, 1).bit_length() - 1, 10 * len(UNITS) - 1) // 10
    return f"{num_bytes / (1 << 10 * power):.4g} {UNITS[power]}"


def require_room(
    what: str,
    num_bytes: int,
    sizes: str,
    free: int | None = None,
    advice: str = "lower the largest of these",
) -> None:
    """Refuse what takes more memory than is free; `sizes` are those that it follows from."""
    free = free_memory() if free is None else free
    if num_bytes > free:
        got = f"{in_words(num_bytes)} for {sizes}: {advice}"
        raise ArgumentError(what, f"fit into the {in_words(free)} of memory that are free", num_bytes, got)
