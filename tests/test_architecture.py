"""The architecture page names what exists, and the packages are those that it shows."""

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest
from tools.architecture_diagram import CONTENTS, IMAGE, layers

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "driftwise"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = {
    path.stem for path in SOURCE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"
}
CALLS = PAGE.split("## Four calls, step by step")[1].split("## Where to change what")[0]


@functools.cache
def defined() -> set[str]:
    """Names of all functions and classes, and of methods with their class."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            if isinstance(node, ast.ClassDef):
                methods = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
                found |= {f"{node.name}.{method}" for method in methods}
    return found


def test_there_are_at_most_thirteen_packages_and_eight_layers_and_the_page_has_them_all():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    assert len(PACKAGES) <= 13
    assert len(layers) <= 8
    assert {name.strip() for layer in layers for name in layer.split("|")} == PACKAGES
    assert all(f"`{name}`" in PAGE for name in PACKAGES)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", PAGE))))
def test_every_path_of_the_page_exists(path):
    assert (SOURCE / path).exists() or any((package / path).exists() for package in SOURCE.iterdir()), path


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:[A-Z]\w+\.)?_?[a-z]\w+)`", CALLS))))
def test_every_function_of_the_calls_exists(name):
    assert name in {"driftwise", "decide", "learn", "save"} or name in defined(), name


def test_only_registries_import_by_name():
    """Import-linter cannot see what `import_module` imports."""
    registries = {"__init__.py", "base/plugins.py"}
    calls = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"\b(import_module|__import__)\(", path.read_text(encoding="utf-8"))
    }
    assert calls == registries
    allowed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]["lint"]
    assert "importlib.import_module" in allowed["flake8-tidy-imports"]["banned-api"]


def test_the_diagram_has_every_package():
    assert set(CONTENTS) == PACKAGES == {name for row in layers() for name in row}
    assert set(re.findall(r"<title>(\w+)</title>", IMAGE.read_text(encoding="utf-8"))) == {
        *PACKAGES,
        "packages",
    }
