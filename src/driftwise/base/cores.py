"""The cores that this process may use."""

from __future__ import annotations

import math
import os
from pathlib import Path


def num_cores() -> int:
    """The number of cores that this process may use: those it may run on, as far as its quota goes."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(own, quota())))


def quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """The cores' worth of time that the control groups of this process (Linux, v2) allow; else infinite."""
    try:
        group = next(line for line in own.read_text().splitlines() if line.startswith("0::"))
    except (OSError, StopIteration):
        return math.inf
    here = root / group.removeprefix("0::").lstrip("/")
    return min(_quota(folder / "cpu.max") for folder in (here, *here.parents) if folder.is_relative_to(root))


def _quota(file: Path) -> float:
    try:
        most, period = file.read_text().split()
        return math.inf if most == "max" else int(most) / int(period)
    except (OSError, ValueError):  # none, or none that we know
        return math.inf
