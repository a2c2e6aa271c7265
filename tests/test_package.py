"""The package itself: its names, and what its files say of each other."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.online.deciders.mixture_decider import KERNEL

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


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


def test_changes_and_citation_are_about_this_version():
    changes, citation = (
        (ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff")
    )
    headings = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    assert next(name for name in headings if name != "Unreleased") == dw.__version__
    assert f"\nversion: {dw.__version__}\n" in citation


def test_the_versions_of_python_that_are_named_are_those_that_the_suite_runs_on():
    named = re.findall(r"Python :: (\d\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert named == [lowest, *re.findall(r"python(\d\.\d+)", MAKEFILE.split("PYTHONS ?=")[1].split("\n")[0])]
    assert f"command -v python{lowest}" in MAKEFILE


def test_linters_before_a_commit_are_those_of_ci():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    recipe = MAKEFILE.split("\nlint:")[1].split("\n\n")[0]
    linters = [
        line.strip().removesuffix(" .") for line in recipe.replace("$(BIN)", ".venv/bin").splitlines()[1:]
    ]
    assert re.findall(r"entry: (.+)", hooks) == linters
    assert "make lint" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_source_distribution_has_what_the_readme_links_to():
    links = re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
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
