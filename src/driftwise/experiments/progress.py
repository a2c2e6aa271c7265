"""While an experiment runs: bars on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import collections
import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from driftwise.experiments.running import Listener, Progress

SECONDS_BETWEEN_LINES = 10
SECONDS_OF_HISTORY = 60
LINES_ON_A_TERMINAL = 20


@contextlib.contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Listener]:
    """A listener to pass to `run_study`; it draws on the standard error stream."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda news: None
    elif console.is_terminal and not console.is_dumb_terminal:
        with _bars(console) as report:
            yield report
    else:
        yield _lines()


@contextlib.contextmanager
def _bars(console: Any) -> Iterator[Listener]:
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

        def report(news: Progress) -> None:
            work.report(news)
            bars.update(overall, completed=work.done, total=work.total, left=work.time_left())
            agent, done, total = news[:2], news.done, news.total
            if done and agent not in tasks:
                tasks[agent] = bars.add_task(work.name(news), left="")
            if agent in tasks:
                shown = done < total or len(tasks) <= LINES_ON_A_TERMINAL
                bars.update(tasks[agent], completed=done, total=total, visible=shown)

        yield report


def _lines() -> Listener:
    work, last = Work(time.monotonic), time.monotonic()

    def report(news: Progress) -> None:
        nonlocal last
        work.report(news)
        line = f"{work.name(news)}: {news.done} of {news.total} episodes"
        if news.done == news.total:
            print(line, file=sys.stderr, flush=True)
        elif time.monotonic() - last > SECONDS_BETWEEN_LINES:
            share, left = 100 * work.done // work.total, work.time_left()
            all_of_it = f"{share} % of all" + (f", {left}" if left else "")
            print(f"{line}; {all_of_it}", file=sys.stderr, flush=True)
        else:
            return
        last = time.monotonic()

    return report


class Work:
    """All that is to do, in episodes, and how fast it got done lately."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._agents: dict[tuple[str, str], Progress] = {}
        self.done = self.total = 0
        self._history = collections.deque([(clock(), 0)])

    def report(self, news: Progress) -> None:
        """Listen to `run_study`."""
        self._agents[news.environment_label, news.label] = news
        _, _, done, total, restored = zip(*self._agents.values(), strict=True)
        self.done, self.total = sum(done), sum(total)
        now = self._clock()
        self._history.append((now, self.done - sum(restored)))
        while len(self._history) > 2 and self._history[1][0] < now - SECONDS_OF_HISTORY:
            self._history.popleft()

    def name(self, news: Progress) -> str:
        """The agent's label, after that of the environment if there are several."""
        several = len({environment for environment, _ in self._agents}) > 1
        return f"{news.environment_label}: {news.label}" if several else news.label

    def time_left(self) -> str:
        """`about 2 min left`, if what was done lately allows to say so."""
        (before, played_before), (now, played) = self._history[0], self._history[-1]
        if played == played_before or self.done >= self.total:
            return ""
        seconds = (now - before) / (played - played_before) * (self.total - self.done)
        amount = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        return f"about {amount if seconds < 6000 else f'{seconds / 3600:.1f} h'} left"
