"""While an experiment runs: bars on a terminal, now and then a line elsewhere, and a clean stop at Ctrl-C."""

from __future__ import annotations

import collections
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from driftwise.experiments.running import Progress

SECONDS_BETWEEN_LINES = 10
SECONDS_OF_HISTORY = 60
LINES_ON_A_TERMINAL = 20


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
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    with progress.Progress(*columns, console=console) as bars:
        work, tasks = Work(time.monotonic), {}
        overall = bars.add_task("all", total=None, left="")

        def report(label: str, done: int, total: int) -> None:
            work.report(label, done, total)
            bars.update(overall, completed=work.done, total=work.total, left=work.time_left())
            if done and label not in tasks:
                tasks[label] = bars.add_task(label, left="")
            if label in tasks:
                shown = done < total or len(tasks) <= LINES_ON_A_TERMINAL
                bars.update(tasks[label], completed=done, total=total, visible=shown)

        yield report


def _lines() -> Progress:
    work, last = Work(time.monotonic), time.monotonic()

    def report(label: str, done: int, total: int) -> None:
        nonlocal last
        work.report(label, done, total)
        if done == total:
            print(f"{label}: {done} of {total} episodes", file=sys.stderr, flush=True)
        elif time.monotonic() - last > SECONDS_BETWEEN_LINES:
            share, left = 100 * work.done // work.total, work.time_left()
            all_of_it = f"{share} % of all" + (f", {left}" if left else "")
            print(f"{label}: {done} of {total} episodes; {all_of_it}", file=sys.stderr, flush=True)
        else:
            return
        last = time.monotonic()

    return report


class Work:
    """All that is to do, in episodes, and how fast it got done lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._parts: dict[str, tuple[int, int]] = {}
        self.done = self.total = 0
        self._history = collections.deque([(clock(), 0)])

    def report(self, label: str, done: int, total: int) -> None:
        """Listen to what `run_experiment` tells."""
        done_before, total_before = self._parts.get(label, (0, 0))
        self._parts[label] = done, total
        self.done += done - done_before
        self.total += total - total_before
        now = self._clock()
        self._history.append((now, self.done))
        while len(self._history) > 2 and self._history[1][0] < now - SECONDS_OF_HISTORY:
            self._history.popleft()

    def time_left(self) -> str:
        """`about 2 min left`, if what was done lately allows to say so."""
        (before, done_before), (now, done) = self._history[0], self._history[-1]
        if done == done_before or done >= self.total:
            return ""
        seconds = (now - before) / (done - done_before) * (self.total - done)
        amount = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        return f"about {amount if seconds < 6000 else f'{seconds / 3600:.1f} h'} left"
