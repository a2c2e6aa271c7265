"""The entry point as a program: what it needs, what it loads, and the terminals it meets."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from driftwise.__main__ import main
from driftwise.cli import PACKAGES


@pytest.mark.parametrize("package", ["jax", "typer", "rich", "pyarrow", "matplotlib", "jinja2"])
def test_missing_packages_are_one_line(
    package: str, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["list"]) == 2
    line = "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'\n"
    assert capsys.readouterr().err == line


def test_all_packages_of_the_extra_are_looked_for() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split("[>=]", each)[0].replace("-", "_") for each in (*extras["cli"], *extras["simulate"])}
    assert {*PACKAGES} == names - {"driftwise[simulate]", "pandas"}  # the last only hands results over


def test_telling_what_there_is_loads_nothing_heavy() -> None:
    program = (
        "import sys; from driftwise.__main__ import main; "
        "codes = [main(words.split()) for words in sys.argv[1:]]; "
        "heavy = {'jax', 'pyarrow', 'matplotlib'} & set(sys.modules); sys.exit(str(heavy or codes))"
    )
    command = [sys.executable, "-c", program, "list", "--version", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "[0, 0, 0]\n"


def test_module_runs_as_a_program_and_survives_a_reader_who_leaves() -> None:
    command = [sys.executable, "-m", "driftwise", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_terminals_that_know_ascii_only_are_not_a_crash() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "driftwise", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "?-greedy" in done.stdout
