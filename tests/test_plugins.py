"""Plugins: what others register is used like what is ours, by whatever way they are found."""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.base import from_config, plugins, to_config
from driftwise.base.part import CONFIGURABLE, PARTS, part
from driftwise.environments import ENVIRONMENTS, build_environment
from driftwise.experiments import load_experiment, prepare
from driftwise.gym import MAKERS

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "plugin"
REGISTRIES: list[Any] = [ALGORITHMS, ENVIRONMENTS, PARTS, CONFIGURABLE, MAKERS, gymnasium.registry]
REGISTRIES += [plugins.VERSIONS, plugins._folders]
MODULES = ("mylab", "test_mylab", "broken")
SMALL = """
name = "small"
summary = "Small"
episodes = 30
runs = 3
{more}
[environment]
type = "two_doors"
drift = {{ type = "Abrupt", at = ["50%"] }}
[agents.a]
algorithm = "lsvi_ucb"
radius = 0.4
"""


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registries, modules and paths are left as they were found."""
    for name in MODULES:
        sys.modules.pop(name, None)
    before = [dict(registry) for registry in REGISTRIES]
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for registry, content in zip(REGISTRIES, before, strict=True):
        registry.clear()
        registry.update(content)
    for name in MODULES:
        sys.modules.pop(name, None)
    plugins._load_installed.cache_clear()


@pytest.fixture
def packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages in which that of the example is found."""
    made = installed(folder)
    monkeypatch.syspath_prepend(made)
    plugins._load_installed.cache_clear()
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of the example, in which nobody is."""
    made = tmp_path / "lab"
    shutil.copytree(EXAMPLE, made, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return made


def installed(folder: Path) -> Path:
    """A folder of packages with that of the example, as an installer would leave it."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    packages = folder.parent / "packages"
    described = packages / f"{project['name']}-{project['version']}.dist-info"
    described.mkdir(parents=True)
    shutil.copy(folder / "mylab.py", packages)
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (described / "METADATA").write_text(metadata)
    ((group, entries),) = project["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {module}" for name, module in entries.items())]
    (described / "entry_points.txt").write_text("\n".join(lines))
    return packages


def test_the_example_keeps_all_contracts(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    tests = dict(inspect.getmembers(import_module("test_mylab"), inspect.isfunction))
    assert len(tests) == 6
    for test in tests.values():
        test()


def test_a_file_names_modules_that_lie_beside_it(folder):
    study = prepare(load_experiment(folder / "mine.toml"))
    assert study.experiment.import_ == ("mylab",)
    assert list(study.environments) == ["two_doors"]
    assert study.groups[0].task.environment.changes(400) == (100, 200, 300)
    assert {"mylab"} == {type(group.task.agent.forgetting).__module__ for group in study.groups[:2]}  # pyright: ignore
    assert type(study.groups[2].task.agent.detector).__name__ == "Drop"  # pyright: ignore


def test_an_option_names_modules_of_the_working_folder(folder, capsys, monkeypatch):
    assert main(["list", "--import", "mylab"]) == 2
    error = "--import must be modules that can be imported, got 'mylab': ModuleNotFoundError"
    assert capsys.readouterr().err.startswith(f"driftwise: error: {error}: No module named 'mylab'")
    monkeypatch.chdir(folder)
    assert main(["list", "--import=mylab"]) == main(["--import", "mylab", "list"]) == 0
    said = capsys.readouterr().out
    assert "soft_restart_ucb" in said
    assert "Rooms with two doors each" in said


def test_what_is_not_installed_is_not_found():
    with pytest.raises(ValueError, match="algorithm must be one of"):
        dw.algorithms.build(dw.Spec(2, 2, 4, 3), "soft_restart_ucb", period=5, radius=0.3)


@pytest.mark.usefixtures("packages")
def test_an_installed_package_is_found_by_its_entry_point():
    agent = dw.algorithms.build(dw.Spec(2, 2, 4, 3), "soft_restart_ucb", period=5, radius=0.3)
    assert from_config(to_config(agent)) == agent
    assert build_environment("two_doors", horizon=2, drift={"type": "Blinking", "every": 9}).spec.horizon == 2
    assert plugins.VERSIONS == {"mylab": "0.1.0"}
    assert dw.algorithms.soft_restart_ucb is ALGORITHMS["soft_restart_ucb"]  # pyright: ignore
    assert "soft_restart_ucb" in dir(dw.algorithms)
    assert "two_doors" in dir(dw.environments)


@pytest.mark.usefixtures("packages")
def test_a_part_that_nobody_knows_makes_installed_packages_be_looked_at():
    assert type(from_config({"type": "SoftRestart", "period": 3})).__module__ == "mylab"


@pytest.mark.filterwarnings("default")
def test_an_installed_package_that_is_broken_hinders_nobody(packages, capsys):
    (packages / "mylab.py").write_text("\n1 / 0\n")
    said = r"^the plugin mylab cannot be imported and is left out: .*by zero \(mylab.py, line 2\)$"
    with pytest.warns(UserWarning, match=said):
        plugins.load_plugins()
    assert plugins.VERSIONS == {}
    plugins._load_installed.cache_clear()
    assert main(["list"]) == 0
    assert re.fullmatch(f"driftwise: warning: {said[1:-1]}\n", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("def f(:", "SyntaxError: invalid syntax (broken.py, line 1)"),
        ("\nx = y", "NameError: name 'y' is not defined (broken.py, line 2)"),
        ("import sys\nsys.exit(3)", "SystemExit: 3 (broken.py, line 2)"),
        ("import broken_too", "ModuleNotFoundError: No module named 'broken_too' (broken.py, line 1)"),
    ],
)
def test_a_module_that_cannot_be_imported_is_one_line(content, said, folder, capsys):
    (folder / "broken.py").write_text(content)
    (folder / "small.toml").write_text(SMALL.format(more='import = ["broken"]'))
    assert main(["validate", str(folder / "small.toml")]) == 2
    error = f"{folder / 'small.toml'}: import must be modules that can be imported, got 'broken': {said}"
    assert capsys.readouterr().err == f"driftwise: error: {error}\n"


def test_names_that_are_taken_are_refused():
    def lin_ucb(spec: dw.Spec) -> Any: ...

    row: dict[str, Any] = dict(problem="any", forgetting="", exploration="", bound="", paper="none")
    with pytest.raises(ValueError, match="an algorithm must have a name of its own, got a second 'lin_ucb'"):
        dw.algorithms.register(**row)(lin_ucb)

    def river_swim() -> Any: ...

    with pytest.raises(ValueError, match="an environment must have a name of its own, got a second"):
        dw.environments.register(river_swim)
    with pytest.raises(ValueError, match="a part must have a name of its own, got a second 'Abrupt'"):

        @part
        class Abrupt: ...


def test_gymnasium_knows_what_is_registered_after_its_ids_were(monkeypatch):
    assert "driftwise/TwoDoors-v0" not in gymnasium.registry
    monkeypatch.syspath_prepend(EXAMPLE)
    import_module("mylab")
    env = gymnasium.make("driftwise/TwoDoors-v0", horizon=2, drift={"type": "Blinking", "every": 4})
    assert [env.reset(options={"episode": t})[1]["optimal_value"] for t in (0, 3)] == [2.0, 2.0]
    assert MAKERS["driftwise/TwoDoors-v0"] == "two_doors"


def test_workers_import_what_was_imported_and_reports_say_which_plugin_is_missing(folder, capsys):
    (folder / "small.toml").write_text(SMALL.format(more='import = ["mylab"]'))
    out = folder / "out"
    assert main(["run", str(folder / "small.toml"), "--workers", "2", "--quiet", "--out", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["config"]["import"] == ["mylab"]
    assert manifest["plugins"] == {"mylab": "not installed"}  # by the worker, which had no other reason to
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    assert capsys.readouterr().err == ""
    assert "The environment cannot be rebuilt" not in (out / "report.html").read_text()
    del ENVIRONMENTS["two_doors"]
    assert main(["report", str(out)]) == 0
    page = (out / "report.html").read_text()
    why = r"no environment .*two_doors.* is known here; the run had plugins: --import mylab"
    assert re.search(rf"The environment cannot be rebuilt from the manifest \({why}\)", page)
    warned = rf"driftwise: warning: .* its drift .* not shown \({why}\)\n"
    assert re.fullmatch(warned, capsys.readouterr().err)
    with pytest.warns(UserWarning, match=rf"its drift .* not shown \({why}\)$"):
        dw.load_study(out).plot()


@pytest.mark.slow
@pytest.mark.parametrize("engine", [["--engine", "ray"], ["--workers", "2"]])
@pytest.mark.parametrize("way", ["file", "option", "entry point"])
def test_every_engine_knows_the_plugins_of_whoever_starts_it(engine, way, folder):
    text = SMALL.format(more='import = ["mylab"]' if way == "file" else "")
    text = text.replace('"Abrupt", at', '"Blinking", every').replace('["50%"]', '"50%"')
    (folder / "small.toml").write_text(text)
    path = os.pathsep.join([str(ROOT / "src"), *([str(installed(folder))] if way == "entry point" else [])])
    command = [sys.executable, "-P", "-m", "driftwise", "run", str(folder / "small.toml"), *engine]
    command += ["--out", str(folder / "out"), *(["--import", "mylab"] if way == "option" else [])]
    where = folder if way == "option" else None
    how: dict[str, Any] = dict(env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    ended = subprocess.run(command, cwd=where, **how, check=False)
    assert ended.returncode == 0, ended.stderr
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert list(manifest["plugins"]) == ["mylab"]
    assert "mylab" in manifest["sources"]


def test_the_page_builds_the_files_of_the_example():
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|toml)\n(.*?)```", page, re.DOTALL)
    files = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLE.glob("*.*")}
    for block in blocks:
        assert any(block in content for content in files.values()), block
    for content in files.values():
        for line in content.splitlines():
            assert any(line in block for block in blocks), line
