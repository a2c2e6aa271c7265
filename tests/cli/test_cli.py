"""The command line: what it writes, what it says, and how it fails."""

import itertools
import json
import operator
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

import driftwise as dw
from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.analysis import matplotlib_figures
from driftwise.analysis.docstrings import readable
from driftwise.analysis.entries import KINDS
from driftwise.base import ArgumentError, files, from_config
from driftwise.cli.run import STOPPING
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS, prepare
from driftwise.experiments.outcomes import fitting_tasks
from driftwise.simulation import devices, memory_budget, running
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.simulator import Simulation
from tests.examples import only
from tests.experiments.test_experiments import pretend

QUICKSTART = EXPERIMENTS["quickstart"]
FILES = ["results.parquet", "regret.png", "manifest.json"]
AROUND = [".lock", "tasks", "run.json"]  # what lets a run go on, and keeps others out
SMALL = ["run", "quickstart", "--episodes", "20", "--runs", "2", "--seed", "3"]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    """A function that runs the small experiment quietly and returns the exit code and both outputs."""

    def run(*more: str, out: Path = tmp_path, quiet: bool = True) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([*SMALL, "--out", str(out), *["--quiet"] * quiet, *more])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_quickstart_writes_what_the_simulator_gives(tmp_path, small):
    code, said, err = small(out=tmp_path / "deep" / "folder", quiet=False)
    out = tmp_path / "deep" / "folder"
    assert code == 0
    assert names(out) == sorted([*FILES, *AROUND])
    assert len(names(out / "tasks")) == len(QUICKSTART.agents)
    assert said.splitlines()[-3:] == [str(out / name) for name in FILES]
    ends = [line for line in err.splitlines() if "% of all" not in line]  # said where it takes long
    assert ends == [f"{label}: 20 of 20 episodes" for label in QUICKSTART.agents]

    table = pq.read_table(out / "results.parquet").to_pydict()
    assert len(table["run"]) == len(QUICKSTART.agents) * 2 * 20
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    study = prepare(QUICKSTART, num_episodes=20)
    assert len(manifest["agents"]) == len(QUICKSTART.agents)
    for index, (group, described) in enumerate(zip(study.groups, manifest["agents"], strict=True)):
        agent, block = group.task.agent, slice(40 * index, 40 * index + 40)
        result = dw.simulate(agent, only(study.environments), num_episodes=20, num_runs=2, seed=3)  # compiled
        assert set(table["agent"][block]) == {group.label}
        curves = result.returns, result.regret, result.cumulative_regret
        for column, values in zip(("reward", "regret", "cumulative_regret"), curves, strict=True):
            np.testing.assert_array_equal(table[column][block], values.reshape(-1))
        assert described["label"] == group.label
        assert from_config(described["parameters"]) == agent
        assert json.loads(table["parameters"][40 * index]) == described["parameters"]
        assert described["seconds"] > 0
        line = next(line for line in said.splitlines() if line.strip().split("  ")[0] == group.label)
        assert f" {result.cumulative_regret[:, -1].mean():.1f} ± " in line

    environment = manifest["environments"]["combination_lock"]
    assert environment["name"] == "combination_lock"
    assert environment["drift"] == {"type": "Abrupt", "at": [10], "num_anchors": 2}
    assert {"python", "driftwise", "jax", "numpy", "pyarrow", "matplotlib"} <= set(manifest["versions"])
    assert manifest["versions"]["driftwise"] == dw.__version__
    facts = dict(experiment="quickstart", num_episodes=20, num_runs=2, seed=3, device="cpu", platform="cpu")
    assert manifest.items() >= {**facts, "config": QUICKSTART.config}.items()


@pytest.mark.usefixtures("pretending")
def test_quiet_prints_paths_as_given_or_named_after_the_experiment(tmp_path, small, capsys, monkeypatch):
    assert small() == (0, "".join(f"{tmp_path / name}\n" for name in FILES), "")
    monkeypatch.chdir(tmp_path)
    assert main([*SMALL, "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"results/quickstart/{name}" for name in FILES]


@pytest.mark.usefixtures("pretending")
def test_one_run_has_no_interval(tmp_path, capsys):
    assert main(["run", "quickstart", "--episodes", "1", "--runs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "1 run," in said
    assert not any(text in said for text in ("±", "nan"))


@pytest.mark.usefixtures("pretending")
def test_running_again_leaves_all_files_alone_and_says_so(tmp_path, small):
    (tmp_path / "notes.txt").write_text("mine")
    assert "already" not in small()[2]
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in (*FILES, "notes.txt")}
    assert "All of it was there already; no file was changed." in small(quiet=False)[2]
    assert names(tmp_path) == sorted([*FILES, *AROUND, "notes.txt"])
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in before} == before
    (tmp_path / "regret.png").unlink()
    assert "already" not in small(quiet=False)[2]


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize("lost", FILES)
def test_running_again_writes_what_was_lost_or_damaged(lost, tmp_path, small):
    assert small()[0] == 0
    results = (tmp_path / "results.parquet").read_bytes()
    if lost == "results.parquet":
        (tmp_path / lost).write_bytes(results[:-1])
    else:
        (tmp_path / lost).unlink()
    assert small()[0] == 0
    assert (tmp_path / "results.parquet").read_bytes() == results
    assert {*FILES} <= {*names(tmp_path)}


@pytest.mark.usefixtures("pretending")
def test_results_are_whole_and_readable_before_their_figure_is_drawn(tmp_path, small, monkeypatch):
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(matplotlib_figures, "figure_bytes", full)
    assert small()[0] == 2
    assert {*names(tmp_path)} & {*FILES} == {"results.parquet", "manifest.json"}
    assert len(dw.load_study(tmp_path).results["combination_lock"]) == len(QUICKSTART.agents)


@pytest.mark.usefixtures("pretending")
def test_a_folder_goes_on_with_other_words_and_names_other_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (
        'name = "mine"\nsummary = "Old words"\nepisodes = 5\nruns = 1\n'
        '[environment]\ntype = "combination_lock"\n[agents.A]\nalgorithm = "lsvi_ucb"\nradius = 0.5\n'
    )
    for old, new, code in (("", "", 0), ("Old words", "New words", 0), ("radius = 0.5", "radius = 0.7", 2)):
        text = text.replace(old, new)
        Path("mine.toml").write_text(text)
        assert main(["run", "mine.toml", "--quiet"]) == code
    assert json.loads(Path("results/mine/manifest.json").read_text())["config"]["summary"] == "New words"
    assert "holds a run with another experiment.agents.A.radius: remove it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("method", "error", "code", "line"),
    [
        ("advance", FloatingPointError("A: not finite"), 2, "A: not finite"),
        ("__init__", MemoryError("so many curves"), 1, "not enough memory: so many curves"),
    ],
)
def test_a_failed_run_is_one_line_and_claims_nothing(method, error, code, line, tmp_path, small, monkeypatch):
    monkeypatch.setattr(Simulation, method, Mock(side_effect=error))
    assert small() == (code, "", f"driftwise: error: {line}\n")
    assert names(tmp_path) == []  # nothing was computed: the folder is free for any run


def test_a_device_is_looked_for_after_workers_were_told_to_share_it(monkeypatch, small):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    seen: list[str | None] = []

    def find_devices(device: str | None) -> None:
        seen.append(os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"))
        raise ArgumentError("device", "be another", device)

    monkeypatch.setattr(devices, "find_devices", find_devices)
    line = "driftwise: error: --device must be another, got 'gpu'\n"
    assert small("--workers", "2", "--device", "gpu") == (2, "", line)
    assert seen == ["false"]


@pytest.mark.usefixtures("pretending")
def test_memory_is_asked_for_once_and_again_when_a_run_can_resume(small, monkeypatch):
    asked = []
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 10**9)
    nothing = memory_budget.Footprint(0, 0, 0, 0, 0)
    monkeypatch.setattr(memory_budget, "measure_footprint", lambda task: asked.append(task) or nothing)
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda task, shapes: 10**8)
    assert small()[0] == 0
    assert len(asked) == len(prepare(QUICKSTART, num_episodes=20).groups)
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda task, shapes: 10**10)
    code, _, err = small()
    assert code == 2
    assert "simulation must fit into the 953.7 MiB of memory" in err


(_, TASK), *_ = fitting_tasks(prepare(QUICKSTART, num_episodes=20, num_runs=2, seed=3))
CHECKPOINT = checkpoint_name(TASK)


@pytest.mark.parametrize(
    ("make", "name", "reason"),
    [
        ('{"format": 99}', "run.json", "holds a run with another version of driftwise, a newer one"),
        ('{"format": 2}', "run.json", "holds a run with another version of driftwise, an older one"),
        ("{", "run.json", "run.json is damaged"),
        ("", "tasks", "--out must be a folder that can be written, got '{}': tasks is a file, not a folder"),
        (os.mkfifo, "tasks", "--out must be a folder that can be written, got '{}': tasks is a pipe, not a "),
        (os.mkfifo, f"tasks/{CHECKPOINT}", f"{CHECKPOINT} cannot be read ({CHECKPOINT} is a pipe, not a "),
    ],
)
@pytest.mark.parametrize("more", [[], ["--recompute"]])
def test_a_folder_that_cannot_be_used_is_one_line_and_stays(make, name, reason, more, tmp_path, small):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    make(path) if callable(make) else path.write_text(make)
    code, out, err = small(*more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason.format(tmp_path) in err
    assert {*names(tmp_path)} - {*AROUND} == set()


@pytest.mark.usefixtures("pretending")
def test_a_folder_that_is_being_written_to_is_refused(tmp_path, small):
    with files.lock_folder(tmp_path):
        code, _, err = small()
    assert code == 2
    assert err.endswith(": another run is writing to it\n")


@pytest.mark.usefixtures("pretending")
def test_a_disk_that_fills_up_is_one_line_and_nothing_half_written(tmp_path, small, monkeypatch):
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=[None, None, full]))  # the claim and a file go well
    line = f"--out must be a folder that can be written, got '{tmp_path}/new/er': No space left on device"
    assert small(out=tmp_path / "new" / "er") == (2, "", f"driftwise: error: {line}\n")
    assert names(tmp_path) == []


@pytest.mark.parametrize("when", ["computing", "writing"])
def test_interrupt_is_one_line_exit_130_and_nothing_half_written(when, tmp_path, small, monkeypatch):
    handler = signal.getsignal(signal.SIGINT)

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)  # held until the next chunk is done
        return pretend(*arguments)

    def insistent(number: int) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(running, "run_task", interrupted if when == "computing" else pretend)
    if when == "writing":
        monkeypatch.setattr(os, "fsync", insistent)
    expected = f"{STOPPING}\ndriftwise: interrupted\n"  # from where could it go on?
    assert small(out=tmp_path / "new") == (130, "", expected)
    assert names(tmp_path) == []
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.usefixtures("pretending")
def test_a_signal_while_files_are_written_is_obeyed_when_they_are(tmp_path, small, monkeypatch):
    fsync, calls = os.fsync, itertools.count()

    def interrupted(number: int) -> None:
        fsync(number)
        if next(calls) == 2:  # the claim is written, and a file
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(os, "fsync", interrupted)
    code, _, err = small()
    assert code == 128 + signal.SIGTERM
    assert err.startswith(f"{STOPPING}\ndriftwise: interrupted")
    assert {*FILES} <= {*names(tmp_path)}


@pytest.mark.usefixtures("pretending")
def test_a_link_to_a_folder_for_checkpoints_that_is_not_there_yet_is_followed(tmp_path, small):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tasks").symlink_to(tmp_path / "elsewhere")
    assert small(out=tmp_path / "out")[0] == 0
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_folder_without_permission_is_one_line(tmp_path, small):
    tmp_path.chmod(0o500)
    code, _, err = small(out=tmp_path / "new")
    assert code == 2
    assert err.endswith(": Permission denied\n")


def test_an_error_of_ours_is_not_hidden(tmp_path, monkeypatch, small):
    monkeypatch.setattr(running, "run_task", Mock(side_effect=RuntimeError("a mistake in the program")))
    with pytest.raises(RuntimeError, match="a mistake in the program"):
        small(out=tmp_path / "new")
    assert names(tmp_path) == []


def test_list_names_everything_there_is(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [(own.name, own.summary) for own in EXPERIMENTS.values()]
    facts = operator.attrgetter("name", "problem", "forgetting", "exploration", "bound", "paper")
    rows += map(facts, ALGORITHMS.values())
    rows += [(name, readable((make.__doc__ or "").split("\n")[0])) for name, make in ENVIRONMENTS.items()]
    for row in rows:
        assert any(all(cell in line for cell in row) for line in lines), row


def listed(capsys: pytest.CaptureFixture, *arguments: str) -> dict[str, list[str]]:
    """Names by the headings of the tables that are listed."""
    assert main(["list", *arguments, "--markdown"]) == 0
    tables: dict[str, list[str]] = {}
    for heading, _, *rows in (each.splitlines() for each in capsys.readouterr().out.strip().split("\n\n")):
        tables[heading.split("|")[1].strip()] = [row.split("|")[1].strip(" `") for row in rows]
    return tables


def test_a_list_can_be_of_one_kind_of_one_problem_or_of_what_says_something(capsys):
    everything = listed(capsys)
    assert len(everything) == len(KINDS)
    registries = dict(experiment=EXPERIMENTS, algorithm=ALGORITHMS, environment=ENVIRONMENTS)
    for kind, registry in registries.items():
        assert {*everything[kind]} == {*registry}
    assert listed(capsys, "detectors") == {"detector": ["Glr", "Cusum", "RandomRestart"]}
    assert {"Then", "Sum", "Product", "Repeat", "Recorded"} < {*listed(capsys, "drifts")["drift"]}
    (found,) = listed(capsys, "--problem", "tabular MDP").values()
    assert {*found} == {each.name for each in ALGORITHMS.values() if each.problem in ("tabular MDP", "any")}
    cited = listed(capsys, "algorithms", "--with", "touati")["algorithm"]
    assert cited == ["opt_wlsvi", "borl", "opt_wlsvi_borl"]
    assert listed(capsys, "--with", "queue") == {"environment": ["admission_control"]}


def test_what_is_listed_and_shown_fits_80_columns_with_all_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (["list"], ["list", "algorithms"], ["show", "sw_lin_ucb"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert all(cell_len(line) <= 80 or "{" in line for line in out.splitlines())  # BibTeX is not wrapped
        if arguments[0] == "list":
            assert {*ALGORITHMS} <= {*out.split()}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"driftwise {dw.__version__}\n"


def test_help_shows_commands_and_an_example_and_is_what_no_command_gives(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Commands:")[2]  # no command's line is cut
    assert "driftwise run quickstart\n" in shown
    assert main([]) == 0
    assert capsys.readouterr().out == shown
