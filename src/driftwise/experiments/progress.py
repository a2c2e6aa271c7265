"""While an experiment runs: bars on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from driftwise.experiments.running import Listener, Progress

SECONDS_BETWEEN_LINES = 10
NEWEST = 0.3  # share of the newest part of an agent in its running pace
LINES_ON_A_TERMINAL = 20


@contextlib.contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Listener]:
    """A listener to pass to `run_study`; it draws on the standard error stream."""
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
def _bars(console: Any) -> Iterator[Listener]:
    from rich import progress
    from rich.table import Column

    wrapping = Column(overflow="fold")  # the only one: a long name takes lines, not the room of the others
    columns = (
        progress.TextColumn(
            "{task.description}", markup=False, table_column=wrapping
        ),  # it may have brackets
        progress.BarColumn(bar_width=20),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[left]}"),
    )
    with progress.Progress(*columns, console=console) as bars:
        work, known, tasks = Work(time.monotonic), set(), {}
        overall = bars.add_task("all", total=None, left="")

        def report(news: Progress) -> None:
            work.report(news)
            bars.update(overall, completed=work.done, total=work.total, left=work.time_left())
            agent, done, total = news[:2], news.done, news.total
            if agent in known and agent not in tasks:  # its second report says that it begins
                tasks[agent] = bars.add_task(work.name(news), left="")
            known.add(agent)
            if agent in tasks:
                shown = done < total or len(tasks) <= LINES_ON_A_TERMINAL
                left = "compiling" if done == news.restored < total else ""
                bars.update(tasks[agent], completed=done, total=total, visible=shown, left=left)

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


class Pace:
    """The time that an agent takes: to begin with, when it is compiled, and then for an episode."""

    def __init__(self, seconds: float, episodes: int) -> None:
        self._first = seconds, episodes
        self.reports, self.lately = 1, seconds / episodes

    def add(self, seconds: float, episodes: int) -> None:
        """Take in a further part of its episodes."""
        now = seconds / episodes
        self.reports += 1
        self.lately = now if self.reports == 2 else self.lately + NEWEST * (now - self.lately)

    def seconds(self, episodes: int) -> float:
        """Time for so many episodes from the beginning."""
        seconds, of_episodes = self._first
        compiling = max(seconds - of_episodes * self.lately, 0.0)
        return compiling + episodes * self.lately


class Work:
    """All that is to do, in episodes, and how long it takes.

    The time between two reports is that of the agent in the second one. Where several agents run at once,
    each has its share of the time that passes.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, clock()
        self._agents: dict[tuple[str, str], Progress] = {}
        self._paces: dict[tuple[str, str], Pace] = {}
        self.done = self.total = 0

    def report(self, news: Progress) -> None:
        """Listen to `run_study`."""
        agent = news.environment_label, news.label
        before = self._agents.get(agent, news._replace(done=0, restored=0))
        self._agents[agent] = news
        self.done = sum(each.done for each in self._agents.values())
        self.total = sum(each.total for each in self._agents.values())
        now = self._clock()
        played = (news.done - news.restored) - (before.done - before.restored)
        if played > 0 and agent in self._paces:
            self._paces[agent].add(now - self._last, played)
        elif played > 0:
            self._paces[agent] = Pace(now - self._last, played)
        self._last = now

    def name(self, news: Progress) -> str:
        """The agent's label, after that of the environment if there are several."""
        several = len({environment for environment, _ in self._agents}) > 1
        return f"{news.environment_label}: {news.label}" if several else news.label

    def time_left(self) -> str:
        """`about 2 min left`, if what was done so far allows to say so."""
        paces = {agent: pace for agent, pace in self._paces.items() if self._is_known(agent, pace)}
        if not paces or self.done >= self.total:
            return ""
        return f"about {_amount(sum(self._seconds_left(agent, paces) for agent in self._agents))} left"

    def _is_known(self, agent: tuple[str, str], pace: Pace) -> bool:
        """Whether it is known how fast an agent is: it played more than a part, or all there was."""
        news = self._agents[agent]
        return pace.reports > 1 or news.done == news.total

    def _seconds_left(self, agent: tuple[str, str], paces: Mapping[tuple[str, str], Pace]) -> float:
        """By its own pace, by that of its name elsewhere, or else by that of all others."""
        news = self._agents[agent]
        left = news.total - news.done
        if agent in paces or not left:
            return left * paces[agent].lately if left else 0.0
        alike = [pace for (_, label), pace in paces.items() if label == news.label]
        return statistics.fmean(pace.seconds(left) for pace in alike or paces.values())


def _amount(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
