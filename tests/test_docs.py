"""Code in README and docs runs, and commands are taken by the command line."""

from __future__ import annotations

import copy
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from driftwise.base.part import grid_shape
from driftwise.experiments import load_experiment, prepare
from driftwise.experiments.files import write_starter
from driftwise.simulation import running
from driftwise.simulation.devices import find_devices
from driftwise.simulation.play import play
from driftwise.simulation.results import Result
from tests.documented import PAGES, ROOT, blocks, command_lines, parse
from tests.experiments.test_experiments import made_up, pretend
from tests.report_folders import make_folder

# Pages whose Python is run by a test of their own, with what they promise of it.
ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs/clock-time.md": "tests/test_production_docs.py",
    "docs/gymnasium.md": "tests/test_gym.py",
    "docs/interop.md": "tests/test_interop_docs.py",
    "docs/named-arms.md": "tests/test_named_arms_docs.py",
    "docs/notebooks.md": "tests/test_notebook_docs.py",
    "docs/online-bandits.md": "tests/test_production_docs.py",
    "docs/online-episodes.md": "tests/online/test_train.py",
    "docs/plugins.md": "tests/test_plugins.py",
    "docs/production.md": "tests/test_production_docs.py",
    "docs/replay.md": "tests/test_replay_docs.py",
    "docs/robust.md": "tests/test_robust_docs.py",
    "docs/scenarios.md": "tests/scenarios/test_scenarios.py",
    "docs/scikit-learn.md": "tests/test_production_docs.py",
}
WITH_PYTHON = [name for name, page in PAGES.items() if blocks(page, "python")]
WITH_BASH = [name for name, page in PAGES.items() if blocks(page, "bash")]
FILES = {"docs/named-arms.md", "docs/plugins.md"}  # whose TOML is no part of an experiment
WITH_TOML = [name for name, page in PAGES.items() if blocks(page, "toml") and name not in FILES]

EXPERIMENT: dict[str, Any] = {  # around what is only a part of one
    "name": "part",
    "summary": "A part of a page",
    "episodes": 100,
    "runs": 1,
    "agents": {"uniform": {"algorithm": "uniform"}},
}


def played_a_little(agent: Any, environment: Any, num_episodes: int, num_runs: int = 1, **_: Any) -> Result:
    """In place of a simulation: two episodes on NumPy, and curves out of thin air."""
    result = made_up(agent, environment, num_episodes, num_runs, 0)
    if not grid_shape(agent):
        for played in play(agent, environment, num_episodes, episodes=(0, 1)):
            told = agent.diagnostics(played.carry.state)
            result = replace(result, diagnostics=dict.fromkeys(told, result.returns))
    return result


@pytest.mark.parametrize("name", [name for name in WITH_PYTHON if name not in ELSEWHERE])
def test_the_python_of_a_page_runs_in_its_order(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("driftwise.simulation.simulator.simulate", played_a_little)
    monkeypatch.setattr(running, "run_task", pretend)
    for engine in ("Processes", "RayCluster"):  # there may be no cluster, and no GPU
        monkeypatch.setattr(f"driftwise.simulation.engines.{engine}", lambda *given: None)
    monkeypatch.setattr("driftwise.simulation.room.find_devices", lambda name: find_devices(None))
    write_starter(Path("mine.toml"))
    Path("results").mkdir()
    for folder in ("before", "after"):
        make_folder(Path("results", folder))
    names: dict[str, Any] = {}
    for block in blocks(PAGES[name], "python"):
        exec(block, names)


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_test_that_runs_a_page_names_it(name: str) -> None:
    assert Path(name).name in (ROOT / ELSEWHERE[name]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", WITH_BASH)
def test_shells_and_the_command_line_take_the_commands_of_a_page(name: str) -> None:
    for block in blocks(PAGES[name], "bash"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)
        for words in command_lines(block):
            parse(words)


@pytest.mark.parametrize("name", WITH_TOML)
def test_tables_of_a_page_are_those_of_an_experiment(name: str, tmp_path: Path) -> None:
    for block in blocks(PAGES[name], "toml"):
        given = tomllib.loads(block)
        kind = "combination_lock" if "drift" in given.get("environment", {}) else "russac_abrupt"
        whole = copy.deepcopy(EXPERIMENT) | {"environment": {"type": kind}}
        for key, value in given.items():
            whole[key] = whole.get(key, {}) | value if isinstance(value, dict) else value
        (tmp_path / "whole.toml").write_text(tomli_w.dumps(whole), encoding="utf-8")
        assert prepare(load_experiment(tmp_path / "whole.toml")).groups


def test_the_cluster_of_a_page_is_yaml_with_a_head_and_workers() -> None:
    yaml = pytest.importorskip("yaml", reason="Ray brings it")
    (block,) = blocks(PAGES["docs/scale-out.md"], "yaml")
    cluster = yaml.safe_load(block)["spec"]["rayClusterSpec"]
    assert {"headGroupSpec", "workerGroupSpecs"} < {*cluster}


def test_examples_that_pages_start_are_there() -> None:
    started = [word for page in PAGES.values() for word in page.split() if word.startswith("examples/")]
    for path in (word for word in started if word.endswith(".py")):
        assert (ROOT / path).is_file(), path
