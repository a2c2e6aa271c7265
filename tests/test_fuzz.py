"""Whatever is in a file or on the command line, the answer is a result or one sentence, and it comes soon."""

from __future__ import annotations

import contextlib
import re
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from driftwise.__main__ import main
from driftwise.online import load
from tests import fuzzing

pytestmark = pytest.mark.slow

SECONDS = 5.0  # of this process' own time, which other processes do not spend
HANGING = 120  # seconds of any clock after which nothing comes any more, on the slowest machine
NOTES = (  # that may go with a result, each once
    r"(driftwise: skipped \d+ of \d+ rows: [^\n]+\n)?"
    r"(driftwise: \S+ learnt from \d+ of \d+ rows, [^\n]+\n)?"
)
VALIDATED, REPLAYED, LOADED = 4000, 2000, 4000
BLOCK = 250


def blocks(num: int) -> list[range]:
    return [range(first, first + BLOCK) for first in range(0, num, BLOCK)]


@pytest.fixture(autouse=True)
def as_a_program() -> Iterator[None]:
    """Warnings are printed, as where no tests run."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


class HungError(BaseException):
    """An answer that does not come; no handler of errors may take it for one of its own."""


@contextlib.contextmanager
def not_hanging() -> Iterator[None]:
    """End what waits, or works, far longer than any case may."""

    def stop(*_: object) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANGING)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problems(cases: range, answer: Callable[[int], str | None]) -> list[str]:
    """Cases whose answer is a traceback, more than a line, late, or none."""
    found = []
    for number in cases:
        started = time.process_time()
        try:
            with not_hanging():
                problem = answer(number)
        except (Exception, HungError) as error:
            problem = f"{type(error).__name__}: {error}"
        took = time.process_time() - started
        if problem is None and took > SECONDS:
            problem = f"it took {took:.1f} seconds"
        if problem is not None:
            found.append(f"{number}: {problem[:300]}")
    return found


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """None if a command ends well and says nothing else, or says one line; else what is wrong with it."""
    code = main(arguments)
    out, err = capsys.readouterr()
    well = code == 0 and re.fullmatch(NOTES, err)
    refused = code in (1, 2) and out == "" and re.fullmatch(r"driftwise: error: [^\n]+\n", err)
    return None if well or refused else f"code {code}: {out[:100]} {err}"


@pytest.mark.parametrize("cases", blocks(VALIDATED), ids=str)
def test_validate_answers_every_file(cases, tmp_path, capsys):
    path = tmp_path / "changed.toml"

    def answer(number: int) -> str | None:
        path.write_bytes(fuzzing.experiment(number))
        return said(["validate", str(path)], capsys)

    assert problems(cases, answer) == []


@pytest.mark.parametrize("cases", blocks(REPLAYED), ids=str)
def test_replay_answers_every_log_and_every_option(cases, tmp_path, capsys):
    assert problems(cases, lambda number: said(fuzzing.replay_arguments(number, tmp_path), capsys)) == []


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return fuzzing.saved_agents(tmp_path_factory.mktemp("agents"))


@pytest.mark.parametrize("cases", blocks(LOADED), ids=str)
def test_load_answers_every_file(cases, agents, tmp_path):
    path = tmp_path / "changed.safetensors"

    def answer(number: int) -> str | None:
        fuzzing.agent_file(number, agents, path)
        try:
            agent = load(path)
            with contextlib.suppress(FloatingPointError):  # numbers that support no decision
                fuzzing.use(agent)
            agent.save(path)
            load(path)  # it may have learnt what is not finite
        except ValueError as error:
            message = str(error)
            return None if re.fullmatch("(path|features) must be .+", message) else message
        return None

    assert problems(cases, answer) == []
