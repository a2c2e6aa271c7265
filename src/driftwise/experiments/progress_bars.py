"""Show the progress of an experiment: bars on a terminal, lines elsewhere."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Any

from driftwise.experiments.outcomes import Progress, ProgressListener

_SECONDS_BETWEEN_LINES = 10
_LINES_ON_A_TERMINAL = 20


@contextlib.contextmanager
def show_progress(quiet: bool = False) -> Iterator[ProgressListener]:
    """Give a listener for `run_study` that writes to the standard error stream."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield lambda news: None
    elif console.is_jupyter or (sys.stderr.isatty() and not console.is_dumb_terminal):
        with _bars(console) as report:
            yield report
    else:
        yield _lines()


@contextlib.contextmanager
def _bars(console: Any) -> Iterator[ProgressListener]:
    from rich import progress
    from rich.table import Column

    folded = Column(overflow="fold")  # a long name takes lines, not the width of other columns
    name = progress.TextColumn("{task.description}", markup=False, table_column=folded)  # may have brackets
    columns = name, progress.BarColumn(bar_width=20), progress.TaskProgressColumn()
    times = progress.TimeElapsedColumn(), progress.TextColumn("{task.fields[left]}")
    with progress.Progress(*columns, *times, console=console) as bars:
        work, known, tasks = Workload(), set(), {}
        overall = bars.add_task("all", total=None, left="")

        def report(news: Progress) -> None:
            work.report(news)
            bars.update(overall, completed=work.done, total=work.total, left=work.time_left())
            agent, done, total = news[:2], news.done, news.total
            if agent in known and agent not in tasks:  # with its second report it begins
                tasks[agent] = bars.add_task(work.name(news), left="")
            known.add(agent)
            if agent in tasks:
                shown = done < total or len(tasks) <= _LINES_ON_A_TERMINAL
                left = "compiling" if done == news.restored < total else ""
                bars.update(tasks[agent], completed=done, total=total, visible=shown, left=left)

        yield report


def _lines() -> ProgressListener:
    work, last = Workload(), time.monotonic()

    def report(news: Progress) -> None:
        nonlocal last
        work.report(news)
        line = f"{work.name(news)}: {news.done} of {news.total} episodes"
        if news.done < news.total:
            if time.monotonic() - last <= _SECONDS_BETWEEN_LINES:
                return
            left = work.time_left()
            line += f"; {100 * work.done // work.total} % of all" + f", {left}" * bool(left)
        print(line, file=sys.stderr, flush=True)
        last = time.monotonic()

    return report


class Workload:
    """The episodes of all agents, and the time that they take at the pace of those that were played."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._agents: dict[tuple[str, str], Progress] = {}
        self.done = self.total = 0

    def report(self, news: Progress) -> None:
        """Add a report of `run_study`."""
        self._agents[news.environment_label, news.label] = news
        self.done = sum(own.done for own in self._agents.values())
        self.total = sum(own.total for own in self._agents.values())

    def name(self, news: Progress) -> str:
        """Return the agent's label, after that of the environment if there are several."""
        several = len({environment for environment, _ in self._agents}) > 1
        return f"{news.environment_label}: {news.label}" if several else news.label

    def time_left(self) -> str:
        """Return `about 2 min left`, or nothing where no episode was played or none is left."""
        played = self.done - sum(news.restored for news in self._agents.values())
        if not played or self.done == self.total:
            return ""
        seconds = (time.monotonic() - self._begun) * (self.total - self.done) / played
        if seconds < 100:
            return f"about {seconds:.0f} s left"
        return (
            f"about {seconds / 60:.0f} min left" if seconds < 6000 else f"about {seconds / 3600:.1f} h left"
        )
