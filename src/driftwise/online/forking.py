"""Forks of a process: no thread is inside a bandit at that moment, so that the child can use its copy."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import Protocol


class Forkable(Protocol):
    """An object that threads use, and that a forked child uses after them."""

    _lock: threading.RLock  # held by a thread while it is inside

    def _reset_after_fork(self) -> None: ...


background_lock = threading.RLock()  # held by the one thread that computes: a fork in BLAS breaks the child
_registered: weakref.WeakSet[Forkable] = weakref.WeakSet()
_forking = threading.RLock()  # held during a fork, and while an object is registered
_locked: list[Forkable] = []  # objects whose locks are held during a fork


def register_for_fork(owner: Forkable) -> None:
    """Let no process fork while a thread is inside this object."""
    with _forking:
        _registered.add(owner)


def _lock_all() -> None:
    """Wait until no thread is inside any object: a child has the memory of this moment, but no threads."""
    _forking.acquire()
    for owner in _registered:
        owner._lock.acquire()
        _locked.append(owner)
    background_lock.acquire()  # the last: threads inside of objects may wait for it


def _release_all() -> None:
    background_lock.release()
    while _locked:
        _locked.pop()._lock.release()
    _forking.release()


def _release_in_child() -> None:
    for owner in _locked:
        owner._reset_after_fork()
    _release_all()


if sys.platform != "win32":  # Windows has no forks
    os.register_at_fork(before=_lock_all, after_in_parent=_release_all, after_in_child=_release_in_child)
