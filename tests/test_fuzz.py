"""Whatever is in a file or on the command line, the answer is a result or one sentence, and it comes soon."""

from __future__ import annotations

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


def problems(cases: range, answer: Callable[[int], str | None]) -> list[str]:
    """Cases whose answer is a traceback, more than a line, or late."""
    found = []
    for number in cases:
        started = time.process_time()
        try:
            problem = answer(number)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        took = time.process_time() - started
        if problem is None and took > SECONDS:
            problem = f"it took {took:.1f} seconds"
        if problem is not None:
            found.append(f"{number}: {problem[:300]}")
    return found


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """None if a command ends well or with one line, else what is wrong with it."""
    code = main(arguments)
    out, err = capsys.readouterr()
    complaints = [line for line in err.splitlines() if line.startswith("driftwise: error: ")]
    if "Traceback" in out + err or (code != 0) != (len(complaints) == 1) or code not in (0, 1, 2):
        return f"code {code}: {err}"
    return None


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
            load(path)
        except ValueError as error:
            return None if str(error).count("\n") == 0 else str(error)
        return None

    assert problems(cases, answer) == []
