"""Threads and forks: no thread is inside a bandit when a process forks, so that its child can use it."""

import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

_T = TypeVar("_T")


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
