"""The entry point as a program: what it needs, what it loads, and the terminals it meets."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from driftwise.__main__ import PACKAGES, main
from driftwise.analysis.entries import KINDS
from driftwise.experiments import EXPERIMENTS


@pytest.mark.parametrize("package", ["jax", "typer", "rich", "pyarrow", "matplotlib", "jinja2"])
def test_missing_packages_are_one_line(package, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["list"]) == 2
    line = "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'\n"
    assert capsys.readouterr().err == line


def test_all_packages_of_the_extra_are_looked_for():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split("[>=]", each)[0].replace("-", "_") for each in (*extras["cli"], *extras["simulate"])}
    assert {*PACKAGES} == names - {"driftwise[simulate]", "pandas"}  # the last only hands results over


HEAVY = {"jax", "scipy", "pandas", "pyarrow", "matplotlib", "plotly", "jinja2", "rich.console"}
ROOMS = {f"driftwise.{room}" for room in ("algorithms", "environments", "online", "experiments", "analysis")}
NOT_LOADED = {  # by a command; the empty one is the import of the package
    "": HEAVY | ROOMS | {"numpy", "typer", "rich"},
    "--help": HEAVY | ROOMS | {"rich"},
    "--version": HEAVY | ROOMS | {"rich"},
    "list": HEAVY - {"rich.console"}
    | {"driftwise.online", "driftwise.simulation.program", "driftwise.analysis.statistics"},
}
PROGRAM = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
import driftwise
if sys.argv[1:]:
    from driftwise.__main__ import main
    main(sys.argv[1:])
files = [name for name in opened if name.endswith(".toml")]
print(json.dumps({"modules": list(sys.modules), "files": files}), file=sys.stderr)
"""


@pytest.mark.parametrize("command", NOT_LOADED)
def test_saying_what_there_is_loads_nothing_heavy_and_reads_no_experiment_for_nothing(command):
    call = [sys.executable, "-c", PROGRAM, *command.split()]
    told = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stderr)
    assert NOT_LOADED[command] & {*told["modules"]} == set()
    assert len(told["files"]) == (len(EXPERIMENTS) if command == "list" else 0)


def test_list_says_in_its_help_what_it_can_list(capsys):
    assert main(["list", "--help"]) == 0
    *others, last = KINDS
    assert f"Only these: {', '.join(others)} or {last}." in " ".join(capsys.readouterr().out.split())


def test_module_runs_as_a_program_and_survives_a_reader_who_leaves():
    command = [sys.executable, "-m", "driftwise", "list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


def test_terminals_that_know_ascii_only_are_not_a_crash():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "driftwise", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "?-greedy" in done.stdout
