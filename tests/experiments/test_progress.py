"""What is said while an experiment runs."""

from __future__ import annotations

import pytest

from driftwise.experiments import progress
from driftwise.experiments.progress import Work, shown_progress
from driftwise.experiments.running import Progress


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def standing(label: str, done: int, total: int, restored: int = 0) -> Progress:
    return Progress("here", label, done, total, restored)


def test_the_time_left_follows_from_what_was_done_lately() -> None:
    clock = Clock()
    work = Work(clock)
    for label in "ab":
        work.report(standing(label, 0, 1000))
    assert (work.done, work.total, work.time_left()) == (0, 2000, "")
    clock.now = 10.0
    work.report(standing("a", 500, 1000))
    assert work.time_left() == "about 30 s left"  # 1500 more at 50 a second
    clock.now = 20.0
    work.report(standing("a", 1000, 1000))
    assert (work.done, work.time_left()) == (1000, "about 20 s left")
    for second in range(30, 200, 10):  # ten times slower: the fast beginning is forgotten
        clock.now = float(second)
        work.report(standing("b", 5 * (second - 20), 1000))
    assert work.done == 1850
    assert work.time_left() == "about 30 s left"  # 150 more at 5 a second
    work.report(standing("b", 1000, 1000))
    assert (work.done, work.time_left()) == (2000, "")


def test_what_was_read_from_checkpoints_is_done_but_not_quickly_done() -> None:
    clock = Clock()
    work = Work(clock)
    work.report(standing("a", 0, 1000))
    clock.now = 1.0
    work.report(standing("a", 800, 1000, restored=800))
    assert (work.done, work.time_left()) == (800, "")
    clock.now = 11.0
    work.report(standing("a", 910, 1000, restored=800))
    assert work.time_left() == "about 9 s left"  # 90 more at 10 a second


@pytest.mark.parametrize(
    ("rate", "said"), [(1.0, "about 99 s left"), (0.01, "about 2.8 h left"), (0.1, "about 16 min left")]
)
def test_amounts_of_time_are_in_units_that_one_reads(rate: float, said: str) -> None:
    clock = Clock()
    work = Work(clock)
    work.report(standing("a", 0, 100))
    clock.now = 1 / rate
    work.report(standing("a", 1, 100))
    assert work.time_left() == said


def test_lines_tell_of_ends_at_once_and_of_the_whole_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock)
    with shown_progress() as report:
        for label in "ab":
            report(standing(label, 0, 100))
        clock.now = 5.0
        report(standing("a", 50, 100))
        clock.now = 11.0
        for done in (60, 70, 100):
            report(standing("a", done, 100))
    assert capsys.readouterr().err.splitlines() == [
        "a: 60 of 100 episodes; 30 % of all, about 26 s left",
        "a: 100 of 100 episodes",
    ]


def test_agents_of_several_environments_are_told_apart_whatever_their_names(
    capsys: pytest.CaptureFixture,
) -> None:
    alike = (Progress("x: y", "z", 5, 5, 0), Progress("x", "y: z", 5, 5, 0))
    with shown_progress() as report:
        for each in alike:
            report(each._replace(done=0))
        report(alike[0])
    assert capsys.readouterr().err.splitlines() == ["x: y: z: 5 of 5 episodes"]
    work = Work(Clock())
    for each in alike:
        work.report(each)
    assert (work.done, work.total) == (10, 10)
