"""The package itself: its names, its layers, what it needs, and what its files say of each other."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import safetensors
from tools.architecture_diagram import CONTENTS, IMAGE, layers
from tools.generated import generated

import driftwise as dw
from driftwise.online.deciders.compiled_mixture import KERNEL

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "driftwise"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = {path: text for path, text in generated().items() if path.suffix != ".svg"}  # matplotlib's vary
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CALLS = ARCHITECTURE.split("## Four calls, step by step")[1].split("## Where to change what")[0]
PACKAGES = {own.stem for own in SOURCE.iterdir() if not own.name.startswith("_") and own.name != "py.typed"}
FILES = {own.relative_to(SOURCE).as_posix(): own.read_text(encoding="utf-8") for own in SOURCE.rglob("*.py")}


@pytest.mark.parametrize("name", dw.__all__)
def test_every_public_name_is_reachable_after_one_import(name):
    assert getattr(dw, name) is not None
    assert name in dir(dw)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"^module 'driftwise' has no attribute 'statistic'$"):
        _ = dw.statistic  # pyright: ignore[reportAttributeAccessIssue]


def test_lazy_names_load_their_modules():
    assert dw.statistics.mean_interval(np.array([1.0, 3.0]))[0] == 2.0
    assert callable(dw.checks.check_agent)


def test_registered_names_are_listed_attributes():
    registries = dw.algorithms.ALGORITHMS, dw.environments.ENVIRONMENTS
    for package, registry in zip((dw.algorithms, dw.environments), registries, strict=True):
        assert {name: getattr(package, name) for name in registry} == registry
        assert set(registry) < set(dir(package))


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_a_generated_file_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == GENERATED[path], f"{path}: run `make generated`"


def test_changes_and_citation_are_about_this_version():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(name for name in headings if name != "Unreleased") == dw.__version__
    assert f"\nversion: {dw.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_versions_of_python_that_are_named_are_those_that_the_suite_runs_on():
    named = re.findall(r"Python :: (\d\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert named == [lowest, *re.findall(r"python(\d\.\d+)", MAKEFILE.split("PYTHONS ?=")[1].split("\n")[0])]
    assert f"command -v python{lowest}" in MAKEFILE


def test_linters_before_a_commit_are_those_of_ci():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    _, *lines = MAKEFILE.split("\nlint:")[1].split("\n\n")[0].replace("$(BIN)", ".venv/bin").splitlines()
    assert re.findall(r"entry: (.+)", hooks) == [line.strip().removesuffix(" .") for line in lines]
    assert "make lint" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_source_distribution_has_what_the_readme_links_to():
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert {Path(link).parts[0] for link in links} <= {*included}


def test_the_module_is_there_wherever_it_can_be_compiled():
    include = sysconfig.get_path("include")
    command = ["cc", "-fsyntax-only", f"-I{include}", "-x", "c", "-"]
    try:
        subprocess.run(command, input=b"#include <Python.h>\n", check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"no C compiler was found, or no headers of Python in {include}")
    assert KERNEL is not None or os.environ.get("DRIFTWISE_PURE")


def test_importing_the_package_reads_nothing_of_the_system():
    script = """
import sys, numpy
def report(event, args):
    if event == "open" and str(args[0]).startswith(("/proc", "/sys")):
        print(args[0])
sys.addaudithook(report)
import driftwise.algorithms, driftwise.environments, driftwise.online
"""
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == ""


@cache
def defined() -> set[str]:
    """Names of all functions and classes, and of methods with their class."""
    found: set[str] = set()
    for node in (node for text in FILES.values() for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef)}
    return found


def test_there_are_at_most_thirteen_packages_and_eight_layers_and_the_page_and_its_diagram_have_them_all():
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    assert len(PACKAGES) <= 13
    assert len(contract) <= 8
    assert {name.strip() for layer in contract for name in layer.split("|")} == PACKAGES
    assert all(f"`{name}`" in ARCHITECTURE for name in PACKAGES)
    assert set(CONTENTS) == PACKAGES == {name for row in layers() for name in row}
    titles = re.findall(r"<title>(\w+)</title>", IMAGE.read_text(encoding="utf-8"))
    assert set(titles) == {*PACKAGES, "packages"}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", ARCHITECTURE))))
def test_every_path_of_the_page_exists(path):
    assert (SOURCE / path).exists() or any((package / path).exists() for package in SOURCE.iterdir()), path


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:[A-Z]\w+\.)?_?[a-z]\w+)`", CALLS))))
def test_every_function_of_the_calls_exists(name):
    assert name in {"driftwise", "decide", "learn", "save"} or name in defined(), name


def test_only_registries_import_by_name():
    """Import-linter cannot see what `import_module` imports."""
    calls = {name for name, text in FILES.items() if re.search(r"\b(import_module|__import__)\(", text)}
    assert calls == {"__init__.py", "base/plugins.py"}
    assert "importlib.import_module" in PROJECT["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]


ONLINE = """
import numpy as np, driftwise as dw
bandit = dw.online.Bandit("adaptive_lin_ucb", dim=2, seed=0)
decision = bandit.decide(np.eye(2))
bandit.learn(decision.id, reward=1.0)
bandit.save("bandit.safetensors")
same = dw.online.load("bandit.safetensors")
assert same.decide(np.eye(2)).arm == bandit.decide(np.eye(2)).arm

agent = dw.online.EpisodicAgent("opt_wlsvi", features=np.eye(2)[:, None], horizon=1, rate=0.9, radius=0.1)
agent.begin(0), agent.act(), agent.observe(1.0, 1)
agent.save("agent.safetensors")
assert dw.online.load("agent.safetensors").num_episodes == 1

env = dw.environments.combination_lock(horizon=2, drift=dw.drift.Constant())
assert len(list(dw.play(dw.algorithms.opt_wlsvi(env.spec, rate=0.9, radius=0.1), env, num_episodes=2))) == 2
"""
EVERY_MODULE = """
import importlib, pathlib, driftwise
root = pathlib.Path(driftwise.__file__).parent
for path in sorted(root.rglob("*.py")):
    name = ".".join(("driftwise", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
    if not name.startswith(("driftwise.cli.", "driftwise.__main__")):  # behind main, which is asked below
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            print(f"{name}: {error}")
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with NumPy, safetensors and driftwise, and nothing else: the small install."""
    folder = tmp_path_factory.mktemp("site")
    for module in (np, safetensors, dw):
        assert module.__file__ is not None
        place = Path(module.__file__).parent
        for each in (place, place.with_name(f"{place.name}.libs")):  # libraries that wheels bring
            if each.exists():
                (folder / each.name).symlink_to(each, target_is_directory=True)
    return folder


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The exit code and outputs of Python without its site-packages."""
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-S", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environ)
    return done.returncode, done.stdout, done.stderr


def test_agents_decide_learn_save_and_load_with_numpy_and_safetensors_alone(small):
    assert run(small, "-c", ONLINE) == (0, "", "")


MORE = [("simulate", "jax", "simulate"), ("checks", "jax", "simulate"), ("statistics", "scipy", "simulate")]


@pytest.mark.parametrize(("name", "package", "extra"), [*MORE, ("compare", "jinja2", "cli")])
def test_a_name_that_needs_more_says_what_in_one_sentence(small, name, package, extra):
    _, _, err = run(small, "-c", f"import driftwise as dw; dw.{name}")
    sentence = f"dw.{name} needs {package}: pip install 'driftwise[{extra}]'"
    assert err.splitlines()[-1] == f"ModuleNotFoundError: {sentence}"


def test_every_module_that_needs_more_names_its_extra(small):
    code, out, err = run(small, "-c", EVERY_MODULE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert len(lines) > 50  # else something was there that should not have been
    assert [line for line in lines if "pip install 'driftwise[" not in line] == []


def test_the_command_line_names_its_extra(small):
    line = "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'\n"
    assert run(small, "-m", "driftwise", "list") == (2, "", line)


def test_the_base_install_brings_numpy_and_safetensors():
    needed = [each.partition(">=")[0] for each in PROJECT["project"]["dependencies"]]
    assert needed == ["numpy", "safetensors"]
    assert "driftwise[simulate]" in PROJECT["project"]["optional-dependencies"]["cli"]
