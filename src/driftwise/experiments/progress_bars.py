"""Show the progress of an experiment: bars on a terminal, lines elsewhere."""

import contextlib
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from driftwise.experiments.outcomes import Progress, ProgressListener

_SECONDS_BETWEEN_LINES = 10
_PARTS = 6  # the newest parts of an agent, by which its pace is known
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
    columns = (
        progress.TextColumn("{task.description}", markup=False, table_column=folded),  # may have brackets
        progress.BarColumn(bar_width=20),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    with progress.Progress(*columns, console=console) as bars:
        work, known, tasks = Workload(time.monotonic), set(), {}
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
    work, last = Workload(time.monotonic), time.monotonic()

    def report(news: Progress) -> None:
        nonlocal last
        work.report(news)
        line = f"{work.name(news)}: {news.done} of {news.total} episodes"
        if news.done == news.total:
            print(line, file=sys.stderr, flush=True)
        elif time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            share, left = 100 * work.done // work.total, work.time_left()
            all_of_it = f"{share} % of all" + (f", {left}" if left else "")
            print(f"{line}; {all_of_it}", file=sys.stderr, flush=True)
        else:
            return
        last = time.monotonic()

    return report


class Workload:
    """The episodes of all agents, and an estimate of the time they take.

    The time between two reports counts for the agent in the second one, so that agents at once share time. An
    agent's first part, in which its program is compiled, does not count once there is another.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, clock()
        self._agents: dict[tuple[str, str], Progress] = {}
        self._parts: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
        self.done = self.total = 0

    def report(self, news: Progress) -> None:
        """Add a report of `run_study`."""
        agent, now = (news.environment_label, news.label), self._clock()
        before = self._agents.get(agent, news._replace(done=0, restored=0))
        self._agents[agent] = news
        self.done += news.done - before.done
        self.total = sum(progress.total for progress in self._agents.values())
        played = (news.done - news.restored) - (before.done - before.restored)
        if played > 0:
            self._parts[agent].append((now - self._last, played))
        self._last = now

    def name(self, news: Progress) -> str:
        """Return the agent's label, after that of the environment if there are several."""
        several = len({environment for environment, _ in self._agents}) > 1
        return f"{news.environment_label}: {news.label}" if several else news.label

    def time_left(self) -> str:
        """Return `about 2 min left`, or nothing before there is an estimate.

        An agent without a pace of its own is taken to have that of its name elsewhere, or else of all others.
        """
        paces, seconds = {}, 0.0
        for agent, parts in self._parts.items():
            whole = self._agents[agent].done == self._agents[agent].total
            if len(parts) > 1 or whole:
                spent, played = zip(*parts[1:][-_PARTS:] or parts, strict=True)
                pace, (first, episodes) = sum(spent) / sum(played), parts[0]
                paces[agent] = pace, max(first - episodes * pace, 0.0)  # for an episode, and to compile
        if not paces or self.done >= self.total:
            return ""
        for agent, news in self._agents.items():
            left = news.total - news.done
            if agent in paces:
                seconds += left * paces[agent][0]
            elif left:
                same_name = [own for (_, label), own in paces.items() if label == news.label]
                others = same_name or paces.values()
                seconds += statistics.fmean(compiling + left * pace for pace, compiling in others)
        if seconds < 100:
            return f"about {seconds:.0f} s left"
        amount = f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
        return f"about {amount} left"
