"""Ctrl-C and SIGTERM while an experiment runs: the first one stops it in good order, the second at once."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_STOP = 0.5  # at a second signal
STOPPING = "driftwise: stopping soon; Ctrl-C again stops at once"
SHOW_CURSOR = "\x1b[?25h"


class Stopped(KeyboardInterrupt):
    """The end of a run that a signal asked for."""

    def __init__(self, number: int, *, goes_on: bool = False) -> None:
        self.number, self.goes_on = number, goes_on

    @property
    def code(self) -> int:
        """The exit code by which shells tell the signal."""
        return 128 + self.number

    def __str__(self) -> str:
        return "interrupted" + ": the same command goes on from here" * self.goes_on


@contextlib.contextmanager
def held_signals(goes_on: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C and SIGTERM back until the function given here is called; a second one does not wait.

    Raised at any moment, an interrupt can get lost in a callback of compiled code or break it off, and a
    file could be left behind. `goes_on` is asked at the end, when all is written that will be: whether the
    run can be taken up again.
    """
    asked: list[int] = []
    stopping = threading.Event()

    def stop_if_asked() -> None:
        if asked:
            stopping.set()
            raise Stopped(asked[-1])

    def hold(number: int, frame: Any) -> None:
        asked.append(number)
        if len(asked) > 1:
            stop_if_asked()

    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield stop_if_asked
        return
    bell, ringer = socket.socketpair()
    ringer.setblocking(False)
    answering = threading.Thread(target=_answer, args=(bell, stopping, goes_on), daemon=True)
    answering.start()
    before = {number: signal.signal(number, hold) for number in SIGNALS}
    bell_before = signal.set_wakeup_fd(ringer.fileno(), warn_on_full_buffer=False)
    try:
        yield stop_if_asked
    except Stopped as stopped:
        raise Stopped(stopped.number, goes_on=goes_on()) from None
    finally:
        signal.set_wakeup_fd(bell_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        ringer.close()
        answering.join()
        bell.close()


def _answer(bell: socket.socket, stopping: threading.Event, goes_on: Callable[[], bool]) -> None:
    """Say that the first signal was heard; end the process at the second if nothing else does.

    Handlers run in the main thread, and not before it comes back from compiled code.
    """
    heard = 0
    while numbers := bell.recv(64):
        for number in filter(SIGNALS.__contains__, numbers):
            heard += 1
            if heard == 1:
                print(STOPPING, file=sys.stderr, flush=True)
            elif not stopping.wait(SECONDS_TO_STOP):
                stopped = Stopped(number, goes_on=goes_on())
                shown = SHOW_CURSOR if sys.stderr.isatty() else ""  # which progress bars hide
                print(f"{shown}driftwise: {stopped}", file=sys.stderr, flush=True)
                os._exit(stopped.code)
