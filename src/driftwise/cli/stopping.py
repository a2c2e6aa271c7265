"""Ctrl-C and SIGTERM while an experiment runs: the first one stops it in good order, the second at once."""

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPING = "driftwise: stopping soon; Ctrl-C again stops at once"


class Stopped(KeyboardInterrupt):
    """The end of a run that a signal asked for, with the exit code by which shells tell the signal."""

    def __init__(self, number: int, *, can_resume: bool = False) -> None:
        super().__init__("interrupted" + ": the same command goes on from here" * can_resume)
        self.number, self.code = number, 128 + number


@contextlib.contextmanager
def hold_signals(can_resume: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C and SIGTERM back until the function given is called; a second signal does not wait.

    Raised at any moment, an interrupt can get lost in a callback of compiled code, or leave a file behind.
    `can_resume` is called when everything is written: it returns whether the run can be continued.
    """
    received: list[int] = []
    stopping = threading.Event()

    def stop_if_asked() -> None:
        if received:
            stopping.set()
            raise Stopped(received[-1])

    def hold(number: int, frame: Any) -> None:
        received.append(number)
        if len(received) > 1:
            stop_if_asked()

    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield stop_if_asked
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    watcher = threading.Thread(target=_watch, args=(reader, stopping, can_resume), daemon=True)
    watcher.start()
    handlers = {number: signal.signal(number, hold) for number in _SIGNALS}
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield stop_if_asked
    except Stopped as stopped:
        raise Stopped(stopped.number, can_resume=can_resume()) from None
    finally:
        signal.set_wakeup_fd(wakeup_before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        writer.close()
        watcher.join()
        reader.close()


def _watch(reader: socket.socket, stopping: threading.Event, can_resume: Callable[[], bool]) -> None:
    """Acknowledge the first signal; end the process at the second, whose handler waits for compiled code."""
    count = 0
    while numbers := reader.recv(64):
        for number in filter(_SIGNALS.__contains__, numbers):
            count += 1
            if count == 1:
                print(STOPPING, file=sys.stderr, flush=True)
            elif not stopping.wait(0.5):
                stopped = Stopped(number, can_resume=can_resume())
                cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # which progress bars hide
                print(f"{cursor}driftwise: {stopped}", file=sys.stderr, flush=True)
                os._exit(stopped.code)
