"""Processes that fork: nobody is inside a bandit at that moment, so that a child can go on with its copy."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Forked(Protocol):
    """An object that threads use, and a child of their process after them."""

    _lock: threading.RLock  # which a thread holds while it is inside

    def _begin_in_child(self) -> None: ...


_all: weakref.WeakSet[Forked] = weakref.WeakSet()
_last: weakref.WeakSet[Forked] = weakref.WeakSet()  # those that threads inside of others wait for
_forking = threading.RLock()  # held by who forks, or adds one of them
_held: list[Forked] = []  # those whose locks are held while this process forks


def survives_forks(forked: Forked, *, last: bool = False) -> None:
    """Let no process fork while a thread is inside this object; `last` if those inside of others need it."""
    with _forking:
        (_last if last else _all).add(forked)


def _hold_all() -> None:
    """Wait until no thread is inside any: a child has the memory of this moment, and not the threads."""
    _forking.acquire()
    for each in [*_all, *_last]:
        each._lock.acquire()
        _held.append(each)


def _release_all() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


def _release_in_child() -> None:
    for each in _held:
        each._begin_in_child()
    _release_all()


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_release_in_child)
