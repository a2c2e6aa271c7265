"""Cores, memory and threads of this process: a refusal of what does not fit into memory, and safe forks."""

import contextlib
import math
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Generic, Protocol, TypeVar

from driftwise.base.validation import ArgumentError

_T = TypeVar("_T")


def num_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and its quota."""
    own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, math.ceil(min(own, cpu_quota())))


_CGROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
_CONTROLLERS = {  # of control groups, by their names in /proc/self/cgroup: folder, limit and usage of memory
    "": ("", "memory.max", "memory.current"),  # version 2
    "memory": ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),  # version 1
}
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")


def free_memory() -> int:
    """Return the bytes that this process may still take, as far as the system reports."""
    facts = {}
    with contextlib.suppress(OSError):
        facts = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    if "MemAvailable" in facts:
        available = 1024 * int(facts["MemAvailable"].split()[0])
    else:
        try:
            available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):  # Windows
            available = sys.maxsize
    return max(0, min([available, *_limits_left()]))


def _control_groups() -> Iterator[tuple[str, Path]]:
    """Controllers of the control groups around this process, from the inmost outwards, and their folders."""
    with contextlib.suppress(OSError):  # there are none
        for line in _OWN_GROUPS.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            inner = PurePosixPath(path.lstrip("/"))
            for name in set(controllers.split(",")) & _CONTROLLERS.keys():
                for group in (inner, *inner.parents):
                    yield name, _CGROUPS / _CONTROLLERS[name][0] / group


def cpu_quota() -> float:
    """Return the number of cores that the control groups of this process allow (Linux, v2), else infinity."""
    quota = math.inf
    for name, folder in _control_groups():
        with contextlib.suppress(OSError, ValueError):  # no such file here, or "max": no limit
            most, period = (folder / "cpu.max").read_text().split()
            quota = min(quota, math.inf if name else int(most) / int(period))
    return quota


def _limits_left() -> Iterator[int]:
    """Limits of control groups and of the address space (`ulimit -v`), less what is used of them."""
    for name, folder in _control_groups():
        _, limit, usage = _CONTROLLERS[name]
        with contextlib.suppress(OSError, ValueError):
            facts = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            cached = facts.get("total_inactive_file", facts.get("inactive_file", 0))
            used = int((folder / usage).read_text()) - int(cached)  # file pages can be dropped
            yield int((folder / limit).read_text()) - used
    with contextlib.suppress(ImportError, OSError):  # Windows; no /proc
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield limit - pages * resource.getpagesize()


def count_bytes(*shapes: Iterable[int], itemsize: int = 8) -> int:
    """Bytes of arrays of these shapes, of float64 unless given."""
    return itemsize * sum(map(math.prod, shapes))


def format_bytes(num_bytes: int) -> str:
    """`3.2 GiB`."""
    power = min(max(num_bytes, 1).bit_length() - 1, 10 * len(_UNITS) - 1) // 10
    return f"{num_bytes / (1 << 10 * power):.4g} {_UNITS[power]}"


def require_memory(
    what: str, num_bytes: int, sizes: str, free: int | None = None, advice: str = "lower the largest of these"
) -> None:
    """Refuse what takes more memory than is free; `sizes` are those that it follows from."""
    free = free_memory() if free is None else free
    if num_bytes > free:
        expected = f"fit into the {format_bytes(free)} of memory that are free"
        raise ArgumentError(what, expected, num_bytes, f"{format_bytes(num_bytes)} for {sizes}: {advice}")


class Forkable(Protocol):
    """An object that threads use, and that a forked child uses after them."""

    _lock: threading.RLock  # held by a thread while it is inside

    def _reset_after_fork(self) -> None: ...


_background_lock = threading.RLock()  # held by the one thread that computes: a fork in BLAS breaks the child
_registered: weakref.WeakSet[Forkable] = weakref.WeakSet()
_forking = threading.RLock()  # held during a fork, and while an object is registered
_locks = contextlib.ExitStack()  # all that are held during a fork


class BackgroundWork(Generic[_T]):
    """The result of some work, which a thread begins now; it depends on nothing but the work."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work, self._begun = work, threading.Lock()
        self._result: _T | None = None
        self._thread = threading.Thread(target=self._run, name="driftwise-eigenvectors")
        with contextlib.suppress(RuntimeError):  # a process may have no thread left, as when it ends
            self._thread.start()

    def result(self) -> _T:
        """Wait for the result, or compute it if no thread has begun."""
        if not self._begun.acquire(blocking=False) and self._thread.is_alive():
            self._thread.join()
        return self._work() if self._result is None else self._result  # a forked child has no thread

    def _run(self) -> None:
        with _background_lock:  # decisions keep the other processors
            if self._begun.acquire(blocking=False):
                self._result = self._work()


def register_for_fork(owner: Forkable) -> None:
    """Let no process fork while a thread is inside this object."""
    with _forking:
        _registered.add(owner)


def _lock_all() -> None:
    """Wait until no thread is inside any object: a child has the memory of this moment, but no threads."""
    _locks.enter_context(_forking)
    for owner in _registered:
        _locks.enter_context(owner._lock)
    _locks.enter_context(_background_lock)  # the last: threads inside of objects may wait for it


def _release_all() -> None:
    _locks.pop_all().close()  # nothing is left in it when the next fork may begin


def _release_in_child() -> None:
    for owner in _registered:
        owner._reset_after_fork()
    _release_all()


if sys.platform != "win32":  # Windows has no forks
    os.register_at_fork(before=_lock_all, after_in_parent=_release_all, after_in_child=_release_in_child)
