"""The command line: what it writes, what it says, and how it fails."""

import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.analysis import matplotlib_figures
from driftwise.analysis.docstrings import readable
from driftwise.analysis.entries import KINDS
from driftwise.base import ArgumentError, files, from_config
from driftwise.cli.stopping import STOPPING
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


@pytest.fixture
def pretending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled; everything around the simulator is as always."""
    monkeypatch.setattr(running, "run_task", pretend)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_quickstart_writes_what_the_simulator_gives(tmp_path, capsys):
    out = tmp_path / "deep" / "folder"
    assert main([*SMALL, "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert names(out) == sorted([*FILES, *AROUND])
    assert len(names(out / "tasks")) == len(QUICKSTART.agents)
    assert said.out.splitlines()[-3:] == [str(out / name) for name in FILES]
    ends = [line for line in said.err.splitlines() if "% of all" not in line]  # said where it takes long
    assert ends == [f"{label}: 20 of 20 episodes" for label in QUICKSTART.agents]

    table = pq.read_table(out / "results.parquet").to_pydict()
    assert len(table["run"]) == len(QUICKSTART.agents) * 2 * 20
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    environment = only(prepare(QUICKSTART, num_episodes=20).environments)
    assert len(manifest["agents"]) == len(QUICKSTART.agents)
    for index, group in enumerate(prepare(QUICKSTART, num_episodes=20).groups):
        label, agent = group.label, group.task.agent
        described, start, block = manifest["agents"][index], 40 * index, slice(40 * index, 40 * index + 40)
        result = dw.simulate(agent, environment, num_episodes=20, num_runs=2, seed=3)  # compiled already
        assert set(table["agent"][block]) == {label}
        np.testing.assert_array_equal(table["reward"][block], result.returns.reshape(-1))
        np.testing.assert_array_equal(table["regret"][block], result.regret.reshape(-1))
        np.testing.assert_array_equal(table["cumulative_regret"][block], result.cumulative_regret.reshape(-1))
        assert described["label"] == label
        assert from_config(described["parameters"]) == agent
        assert json.loads(table["parameters"][start]) == described["parameters"]
        assert described["seconds"] > 0
        final = result.cumulative_regret[:, -1].mean()
        line = next(line for line in said.out.splitlines() if line.strip().split("  ")[0] == label)
        assert f" {final:.1f} ± " in line

    assert (manifest["experiment"], manifest["num_episodes"], manifest["num_runs"]) == ("quickstart", 20, 2)
    environment = manifest["environments"]["combination_lock"]
    assert (manifest["seed"], environment["name"]) == (3, "combination_lock")
    assert environment["drift"] == {"type": "Abrupt", "at": [10], "num_anchors": 2}
    assert {"python", "driftwise", "jax", "numpy", "pyarrow"} <= set(manifest["versions"])
    assert manifest["versions"]["driftwise"] == dw.__version__
    assert (manifest["device"], manifest["platform"]) == ("cpu", "cpu")
    assert manifest["config"] == QUICKSTART.config


@pytest.mark.usefixtures("pretending")
def test_quiet_prints_the_paths_and_nothing_else(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(tmp_path / name) for name in FILES]
    assert said.err == ""


@pytest.mark.usefixtures("pretending")
def test_paths_are_as_given_and_by_default_named_after_the_experiment(tmp_path, capsys, monkeypatch):
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
def test_running_again_leaves_all_files_alone_and_says_so(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in (*FILES, "notes.txt")}
    assert "already" not in capsys.readouterr().err
    assert main([*SMALL, "--out", str(tmp_path)]) == 0
    assert "All of it was there already; no file was changed." in capsys.readouterr().err
    assert names(tmp_path) == sorted([*FILES, *AROUND, "notes.txt"])
    assert {name: (tmp_path / name).stat().st_mtime_ns for name in before} == before


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize("lost", FILES)
def test_running_again_writes_what_was_lost_or_damaged(lost, tmp_path):
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    results = (tmp_path / "results.parquet").read_bytes()
    if lost == "results.parquet":
        (tmp_path / lost).write_bytes(results[:-1])
    else:
        (tmp_path / lost).unlink()
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    assert (tmp_path / "results.parquet").read_bytes() == results
    assert {*FILES} <= {*names(tmp_path)}


@pytest.mark.usefixtures("pretending")
def test_results_are_whole_and_readable_before_their_figure_is_drawn(tmp_path, monkeypatch):
    def fail(figure: Any) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(matplotlib_figures, "png_bytes", fail)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    assert {*names(tmp_path)} & {*FILES} == {"results.parquet", "manifest.json"}
    assert len(dw.load_study(tmp_path).results["combination_lock"]) == len(QUICKSTART.agents)


@pytest.mark.usefixtures("pretending")
def test_other_words_about_an_experiment_go_on_with_its_folder_and_other_numbers_are_named(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = (
        'name = "mine"\nsummary = "Old words"\nepisodes = 5\nruns = 1\n'
        '[environment]\ntype = "combination_lock"\n[agents.A]\nalgorithm = "lsvi_ucb"\nradius = 0.5\n'
    )
    for changed, code in (("", 0), ("New words", 0), ("radius", 2)):
        text = text.replace("Old words", changed) if changed == "New words" else text
        text = text.replace("radius = 0.5", "radius = 0.7") if changed == "radius" else text
        Path("mine.toml").write_text(text)
        assert main(["run", "mine.toml", "--quiet"]) == code
    assert json.loads(Path("results/mine/manifest.json").read_text())["config"]["summary"] == "New words"
    assert "holds a run with another experiment.agents.A.radius: remove it" in capsys.readouterr().err


def test_values_that_stop_being_finite_are_one_line_with_the_agent_and_the_environment(
    tmp_path, capsys, monkeypatch
):
    def fail(simulation: Simulation, seconds: float) -> None:
        raise FloatingPointError(f"{simulation.task.name}: agent: its values stopped being finite")

    monkeypatch.setattr(Simulation, "advance", fail)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    label = next(iter(QUICKSTART.agents))
    expected = f"{label} in combination_lock: agent: its values stopped being finite"
    assert capsys.readouterr().err == f"driftwise: error: {expected}\n"
    assert names(tmp_path) == []  # nothing was computed: the folder is free for any run


def test_a_run_that_memory_cannot_hold_is_one_line_and_claims_nothing(tmp_path, capsys, monkeypatch):
    def fail(simulation: Simulation, task: Any) -> None:
        raise MemoryError("so many curves")

    monkeypatch.setattr(Simulation, "__init__", fail)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 1
    assert capsys.readouterr().err == "driftwise: error: not enough memory: so many curves\n"
    assert names(tmp_path) == []


def test_a_device_is_looked_for_after_workers_were_told_to_share_it(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    seen: list[str | None] = []

    def find_devices(device: str | None) -> None:
        seen.append(os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE"))
        raise ArgumentError("device", "be another", device)

    monkeypatch.setattr(devices, "find_devices", find_devices)
    assert main([*SMALL, "--out", str(tmp_path), "--workers", "2", "--device", "gpu"]) == 2
    assert seen == ["false"]
    assert capsys.readouterr().err == "driftwise: error: --device must be another, got 'gpu'\n"


@pytest.mark.usefixtures("pretending")
def test_a_folder_of_another_run_is_refused_by_what_differs(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    before = {name: (tmp_path / name).read_bytes() for name in FILES}
    capsys.readouterr()
    assert main(["run", "quickstart", "--episodes", "30", "--out", str(tmp_path)]) == 2
    expected = f"{tmp_path} holds a run with another seed: remove it or choose another folder"
    assert capsys.readouterr().err == f"driftwise: error: {expected}\n"
    assert {name: (tmp_path / name).read_bytes() for name in FILES} == before


@pytest.mark.usefixtures("pretending")
def test_memory_is_asked_for_once_and_again_when_a_run_can_resume(tmp_path, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 10**9)
    nothing = memory_budget.Footprint(0, 0, 0, 0, 0)
    monkeypatch.setattr(memory_budget, "measure_footprint", lambda task: asked.append(task) or nothing)
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda task, shapes: 10**8)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    assert len(asked) == len(prepare(QUICKSTART, num_episodes=20).groups)
    capsys.readouterr()
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda task, shapes: 10**10)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    assert "simulation must fit into the 953.7 MiB of memory" in capsys.readouterr().err


@pytest.mark.usefixtures("pretending")
def test_a_folder_that_is_being_written_to_is_refused(tmp_path, capsys):
    with files.lock_folder(tmp_path):
        assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    assert capsys.readouterr().err.endswith(": another run is writing to it\n")


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"format": 99}', "holds a run with another version of driftwise, a newer one"),
        ('{"format": 2}', "holds a run with another version of driftwise, an older one"),
        ("{", "run.json is damaged"),
    ],
)
def test_a_folder_that_cannot_be_understood_is_refused(content, reason, tmp_path, capsys):
    (tmp_path / "run.json").write_text(content)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.usefixtures("pretending")
def test_a_disk_that_fills_up_is_one_line_and_nothing_half_written(tmp_path, capsys, monkeypatch):
    calls = iter((None, None, OSError(28, "No space left on device")))  # the claim and a file go well

    def fsync(number: int) -> None:
        if error := next(calls):
            raise error

    monkeypatch.setattr(os, "fsync", fsync)
    assert main([*SMALL, "--out", str(tmp_path / "new" / "er"), "--quiet"]) == 2
    expected = f"--out must be a folder that can be written, got '{tmp_path}/new/er': No space left on device"
    assert capsys.readouterr().err == f"driftwise: error: {expected}\n"
    assert names(tmp_path) == []


@pytest.mark.parametrize("when", ["computing", "writing"])
def test_interrupt_is_one_line_exit_130_and_nothing_half_written(when, tmp_path, capsys, monkeypatch):
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
    assert main([*SMALL, "--out", str(tmp_path / "new"), "--quiet"]) == 130
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"{STOPPING}\ndriftwise: interrupted\n")  # from where could it go on?
    assert names(tmp_path) == []
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.usefixtures("pretending")
def test_a_signal_while_files_are_written_is_obeyed_when_they_are(tmp_path, capsys, monkeypatch):
    fsync, calls = os.fsync, itertools.count()

    def interrupted(number: int) -> None:
        fsync(number)
        if next(calls) == 2:  # the claim is written, and a file
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(os, "fsync", interrupted)
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 128 + signal.SIGTERM
    assert capsys.readouterr().err.startswith(f"{STOPPING}\ndriftwise: interrupted")
    assert {*FILES} <= {*names(tmp_path)}


@pytest.mark.parametrize("kind", ["a pipe", "a file"])
def test_something_else_where_checkpoints_go_is_one_line_and_stays(kind, tmp_path, capsys):
    {"a pipe": os.mkfifo, "a file": Path.touch}[kind](tmp_path / "tasks")
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 2
    said = f"--out must be a folder that can be written, got '{tmp_path}': tasks is {kind}, not a folder"
    assert capsys.readouterr().err == f"driftwise: error: {said}\n"
    assert {*names(tmp_path)} == {".lock", "tasks"}


@pytest.mark.usefixtures("pretending")
def test_a_link_to_a_folder_for_checkpoints_that_is_not_there_yet_is_followed(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tasks").symlink_to(tmp_path / "elsewhere")
    assert main([*SMALL, "--out", str(tmp_path / "out"), "--quiet"]) == 0
    assert (tmp_path / "elsewhere").is_dir()


def test_a_pipe_where_a_checkpoint_goes_is_one_line_that_names_it(tmp_path, capsys):
    (_, task), *_ = fitting_tasks(prepare(QUICKSTART, num_episodes=20, num_runs=2, seed=3))
    pipe = tmp_path / "tasks" / checkpoint_name(task)
    pipe.parent.mkdir()
    os.mkfifo(pipe)
    for more in ([], ["--recompute"]):
        assert main([*SMALL, "--out", str(tmp_path), "--quiet", *more]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"driftwise: error: {pipe} cannot be read ({pipe.name} is a pipe, not a file)")
        assert said.count("\n") == 1


@pytest.mark.usefixtures("pretending")
def test_report_prints_the_path_of_what_it_wrote(tmp_path, capsys):
    assert main([*SMALL, "--out", str(tmp_path), "--quiet"]) == 0
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--format", "csv"]) == 0
    said = capsys.readouterr().out
    assert said == f"{tmp_path / 'report.csv'}\n"
    assert len((tmp_path / "report.csv").read_text().splitlines()) == 1 + len(QUICKSTART.agents)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_folder_without_permission_is_one_line(tmp_path, capsys):
    tmp_path.chmod(0o500)
    assert main([*SMALL, "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.endswith(": Permission denied\n")


def test_an_error_of_ours_is_not_hidden(tmp_path, monkeypatch):
    def broken(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("a mistake in the program")

    monkeypatch.setattr(running, "run_task", broken)
    with pytest.raises(RuntimeError, match="a mistake in the program"):
        main([*SMALL, "--out", str(tmp_path / "new"), "--quiet"])
    assert names(tmp_path) == []


def test_list_names_everything_there_is(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for experiment in EXPERIMENTS.values():
        assert any(experiment.name in line and experiment.summary in line for line in lines)
    for each in ALGORITHMS.values():
        row = (each.name, each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        assert any(all(cell in line for cell in row) for line in lines), each.name
    for name, make in ENVIRONMENTS.items():
        assert any(name in line and readable((make.__doc__ or "").split("\n")[0]) in line for line in lines)


def test_list_prints_markdown_if_asked(capsys):
    assert main(["list", "--markdown"]) == 0
    said = capsys.readouterr().out
    assert sum(line.startswith("|---|") for line in said.splitlines()) == len(KINDS)
    assert all(f"| `{name}` | " in said for name in (*EXPERIMENTS, *ALGORITHMS, *ENVIRONMENTS))


def listed(capsys: pytest.CaptureFixture, *arguments: str) -> dict[str, list[str]]:
    """Names by the headings of the tables that are listed."""
    assert main(["list", *arguments, "--markdown"]) == 0
    tables: dict[str, list[str]] = {}
    for heading, _, *rows in (each.splitlines() for each in capsys.readouterr().out.strip().split("\n\n")):
        tables[heading.split("|")[1].strip()] = [row.split("|")[1].strip(" `") for row in rows]
    return tables


def test_a_list_can_be_of_one_kind_of_one_problem_or_of_what_says_something(capsys):
    assert listed(capsys, "detectors") == {"detector": ["Glr", "Cusum", "RandomRestart"]}
    assert {"Then", "Sum", "Product", "Repeat", "Recorded"} < {*listed(capsys, "drifts")["drift"]}
    (found,) = listed(capsys, "--problem", "tabular MDP").values()
    assert {*found} == {each.name for each in ALGORITHMS.values() if each.problem in ("tabular MDP", "any")}
    assert listed(capsys, "algorithms", "--with", "touati")["algorithm"] == [
        "opt_wlsvi",
        "borl",
        "opt_wlsvi_borl",
    ]
    both = listed(capsys, "--with", "queue")
    assert both == {"environment": ["admission_control"]}


def test_what_is_listed_and_shown_fits_80_columns_with_all_names(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for arguments in (["list"], ["list", "algorithms"], ["show", "sw_lin_ucb"]):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert all(len(line) <= 80 or "{" in line for line in out.splitlines())  # BibTeX is not wrapped
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
    assert main([]) == 0
    assert capsys.readouterr().out == shown
    assert all(
        text in shown for text in ("run ", "init ", "validate ", "list ", "--version", "run quickstart\n")
    )
    assert main(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"--{option}" in shown for option in ("episodes N", "runs N", "seed N", "out DIR", "quiet"))
    assert "driftwise run quickstart\n" in shown
