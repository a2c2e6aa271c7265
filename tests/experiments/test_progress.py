"""What is said while an experiment runs."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from driftwise.experiments import Progress, progress_bars
from driftwise.experiments.progress_bars import Workload, _bars, show_progress


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def standing(label: str, done: int, total: int, restored: int = 0) -> Progress:
    return Progress("here", label, done, total, restored)


def seconds(said: str) -> float:
    _, amount, unit, _ = said.split()
    return float(amount) * {"s": 1, "min": 60, "h": 3600}[unit]


def test_the_time_left_follows_from_the_agent_that_runs_and_from_those_done() -> None:
    clock = Clock()
    work = Workload(clock)
    for label in "ab":
        work.report(standing(label, 0, 1000))
    assert (work.done, work.total, work.time_left()) == (0, 2000, "")
    clock.now = 10.0
    work.report(standing("a", 500, 1000))
    assert work.time_left() == ""  # most of that was compiling
    clock.now = 12.0
    work.report(standing("a", 750, 1000))
    assert work.time_left() == "about 16 s left"  # 2 of a; of b 6 to compile, and 8
    clock.now = 14.0
    work.report(standing("a", 1000, 1000))
    assert (work.done, work.time_left()) == (1000, "about 14 s left")  # b as a was
    clock.now = 114.0
    work.report(standing("b", 500, 1000))
    clock.now = 134.0
    work.report(standing("b", 600, 1000))
    assert work.time_left() == "about 80 s left"  # at 5 a second
    work.report(standing("b", 1000, 1000))
    assert (work.done, work.time_left()) == (2000, "")


@pytest.mark.parametrize("num_workers", [1, 3])
def test_agents_of_other_speeds_and_compiling_do_not_make_the_time_left_wild(num_workers: int) -> None:
    """Three agents, one a hundred times as slow as another, in two environments: from the second on the
    time left is right within a quarter, and never more than twice what is left once an agent has played."""
    paces, compiling, parts = {"fast": 0.01, "middle": 0.1, "slow": 1.0}, 5.0, 20
    tasks = [(place, label) for place in ("one", "two") for label in paces]
    news: list[tuple[float, Progress]] = []
    free = [0.0] * num_workers
    for place, label in tasks:
        free.sort()
        start = free[0] + compiling
        for part in range(1, parts + 1):
            news.append((start + part * paces[label], Progress(place, label, part, parts, 0)))
        free[0] = news[-1][0]
    clock = Clock()
    work = Workload(clock)
    for place, label in tasks:
        work.report(Progress(place, label, 0, parts, 0))
    end = max(free)
    second = max(time for time, each in news if each.environment_label == "one")
    for clock.now, each in sorted(news, key=lambda item: item[0]):
        work.report(each)
        left = end - clock.now
        if left < 5 or not work.time_left():
            continue
        said = seconds(work.time_left())
        assert said < 2 * end
        if num_workers == 1 and clock.now >= second:
            assert 0.75 * left - 1 < said < 1.25 * left + 1


def test_what_was_read_from_checkpoints_is_done_but_not_quickly_done() -> None:
    clock = Clock()
    work = Workload(clock)
    work.report(standing("a", 0, 1000))
    clock.now = 1.0
    work.report(standing("a", 800, 1000, restored=800))
    assert (work.done, work.time_left()) == (800, "")
    clock.now = 10.0
    work.report(standing("a", 850, 1000, restored=800))
    clock.now = 11.0
    work.report(standing("a", 910, 1000, restored=800))
    assert work.time_left() == "about 2 s left"  # 90 more at 60 a second


@pytest.mark.parametrize(
    ("rate", "said"), [(1.0, "about 98 s left"), (0.01, "about 2.7 h left"), (0.1, "about 16 min left")]
)
def test_amounts_of_time_are_in_units_that_one_reads(rate: float, said: str) -> None:
    clock = Clock()
    work = Workload(clock)
    for done in range(3):
        clock.now = done / rate
        work.report(standing("a", done, 100))
    assert work.time_left() == said


def test_lines_tell_of_ends_at_once_and_of_the_whole_now_and_then(monkeypatch, capsys):
    clock = Clock()
    monkeypatch.setattr(progress_bars.time, "monotonic", clock)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as commands in a notebook have it: colours are no terminal
    with show_progress() as report:
        for label in "ab":
            report(standing(label, 0, 100))
        clock.now = 5.0
        report(standing("a", 50, 100))
        clock.now = 11.0
        for done in (60, 70, 100):
            report(standing("a", done, 100))
    assert capsys.readouterr().err.splitlines() == [
        "a: 60 of 100 episodes; 30 % of all, about 84 s left",
        "a: 100 of 100 episodes",
    ]


def test_agents_of_several_environments_are_told_apart_whatever_their_names(capsys):
    alike = (Progress("x: y", "z", 5, 5, 0), Progress("x", "y: z", 5, 5, 0))
    with show_progress() as report:
        for each in alike:
            report(each._replace(done=0))
        report(alike[0])
    assert capsys.readouterr().err.splitlines() == ["x: y: z: 5 of 5 episodes"]
    work = Workload(Clock())
    for each in alike:
        work.report(each)
    assert (work.done, work.total) == (10, 10)


def test_a_bar_says_compiling_from_where_an_agent_begins_until_it_has_played() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with _bars(console) as report:
        for label in "ab":
            report(standing(label, 0, 100))
        report(standing("a", 0, 100))
    assert re.search(r"^a .*compiling", plain(screen), re.MULTILINE)
    assert not re.search(r"^b ", plain(screen), re.MULTILINE)
    screen.truncate(0)
    with _bars(console) as report:
        for done in (0, 0, 50):
            report(standing("a", done, 100))
    assert re.search(r"^a .*50%", plain(screen), re.MULTILINE)
    assert "compiling" not in plain(screen).rpartition("50%")[2]


def plain(screen: io.StringIO) -> str:
    """What was written on a terminal, less its colours and moves."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue()).replace("\r", "\n")
