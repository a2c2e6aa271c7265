"""While an experiment runs: bars on a terminal, now and then a line elsewhere, and a clean stop at Ctrl-C."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from driftwise.experiments.running import Progress

SECONDS_BETWEEN_LINES = 10


@contextlib.contextmanager
def held_interrupts() -> Iterator[Callable[[], None]]:
    """Ctrl-C waits until the function given here is called; a second one does not wait.

    Raised at any moment, an interrupt can get lost in a callback of compiled code or break it off, and a
    file could be left behind.
    """
    asked = False

    def hold(number: int, frame: Any) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    def stop_if_asked() -> None:
        if asked:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield stop_if_asked
        return
    before = signal.signal(signal.SIGINT, hold)
    try:
        yield stop_if_asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Progress]:
    """A function to pass to `run_experiment`; what it draws goes to the standard error stream."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda label, done, total: None
    elif console.is_terminal and not console.is_dumb_terminal:
        with _bars(console) as report:
            yield report
    else:
        yield _lines()


@contextlib.contextmanager
def _bars(console: Any) -> Iterator[Progress]:
    from rich import progress

    columns = (
        progress.TextColumn("{task.description}", markup=False),  # a name may have brackets
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    with progress.Progress(*columns, console=console) as bars:
        tasks = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=None)  # swings to and fro while it compiles
            if done:
                bars.update(tasks[label], completed=done, total=total)

        yield report


def _lines() -> Progress:
    last = time.monotonic()

    def report(label: str, done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{label}: {done} of {total} episodes", file=sys.stderr, flush=True)

    return report
