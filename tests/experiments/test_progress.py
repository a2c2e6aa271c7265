"""What is said while an experiment runs."""

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from driftwise.experiments import Progress, outcomes
from driftwise.experiments.outcomes import Workload, _bars, show_progress


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """A clock that is set by hand."""
    made = SimpleNamespace(now=0.0)
    monkeypatch.setattr(outcomes.time, "monotonic", lambda: made.now)
    return made


def standing(label: str, done: int, total: int, restored: int = 0) -> Progress:
    return Progress("here", label, done, total, restored)


@pytest.mark.parametrize(
    ("seconds", "said"), [(1, "about 98 s left"), (100, "about 2.7 h left"), (10, "about 16 min left")]
)
def test_the_time_left_follows_from_what_was_played_and_not_from_what_was_read(clock, seconds, said):
    work = Workload()
    work.add(standing("a", 0, 60))
    work.add(standing("b", 0, 60))
    assert (work.done, work.total, work.time_left()) == (0, 120, "")
    work.add(standing("a", 20, 60, restored=20))
    assert (work.done, work.time_left()) == (20, "")
    clock.now = 2.0 * seconds
    work.add(standing("a", 22, 60, restored=20))
    assert work.time_left() == said
    work.add(standing("a", 60, 60, restored=20))
    work.add(standing("b", 60, 60))
    assert (work.done, work.time_left()) == (120, "")


def test_lines_tell_of_ends_at_once_and_of_the_whole_now_and_then(monkeypatch, capsys, clock):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as commands in a notebook have it: colours are no terminal
    with show_progress() as report:
        for label in "ab":
            report(standing(label, 0, 100))
        clock.now = 5.0
        report(standing("a", 50, 100))
        clock.now = 11.0
        for done in (60, 70, 100):
            report(standing("a", done, 100))
    lines = ["a: 60 of 100 episodes; 30 % of all, about 26 s left", "a: 100 of 100 episodes"]
    assert capsys.readouterr().err.splitlines() == lines


def test_agents_of_several_environments_are_told_apart_whatever_their_names(capsys):
    alike = (Progress("x: y", "z", 5, 5, 0), Progress("x", "y: z", 5, 5, 0))
    with show_progress() as report:
        for each in alike:
            report(each._replace(done=0))
        report(alike[0])
    assert capsys.readouterr().err.splitlines() == ["x: y: z: 5 of 5 episodes"]
    work = Workload()
    for each in alike:
        work.add(each)
    assert (work.done, work.total) == (10, 10)


def test_a_bar_says_compiling_from_where_an_agent_begins_until_it_has_played():
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
