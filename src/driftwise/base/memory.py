"""Memory: how much there is, and a refusal of what cannot fit before any of it is taken."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from driftwise.base.validation import ArgumentError

LIMITS = (  # of the control group that a container is: version 2, version 1
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")


def free_memory() -> int:
    """Bytes that this process may still take, as far as the system tells."""
    found = [_available()]
    for path in LIMITS:
        with contextlib.suppress(OSError, ValueError):  # there is no such group, or "max": it has no limit
            found.append(int(path.read_text()))
    return min(found)


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


def require_room(what: str, num_bytes: int, sizes: str, free: int | None = None) -> None:
    """Refuse what takes more memory than is free; `sizes` are those that it follows from."""
    free = free_memory() if free is None else free
    if num_bytes > free:
        got = f"{in_words(num_bytes)} for {sizes}: lower the largest of these"
        raise ArgumentError(what, f"fit into the {in_words(free)} of memory that are free", num_bytes, got)
