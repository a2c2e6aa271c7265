"""The runs behind the figures of algorithms: one for each kind of problem, run when the site is built."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import driftwise as dw
from driftwise.simulation.results import Result
from tools.site import BUILD, DOCS, source_digest

FILES = {path.stem: path for path in sorted((DOCS / "runs").glob("*.toml"))}


@cache
def agents(run: str) -> Mapping[str, Mapping[str, object]]:
    """Return the agents of a run by the names of their algorithms."""
    return tomllib.loads(FILES[run].read_text(encoding="utf-8"))["agents"]


def run_of(algorithm: str, problem: str) -> str:
    """Return the run that an algorithm is shown in: that of its problem, or the first that has it."""
    own = problem.replace(" ", "-").lower()
    return next(run for run in sorted(FILES, key=lambda name: name != own) if algorithm in agents(run))


def run_folder(run: str) -> Path:
    """Return the folder of a run, which is reused while the library and the file stay the same."""
    folder = BUILD / "runs" / source_digest(FILES[run]) / run
    if not (folder / "manifest.json").exists():
        command = ["driftwise", "run", str(FILES[run]), "--out", str(folder), "--workers", "2", "--quiet"]
        subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)
    return folder


@cache
def results(run: str) -> Mapping[str, Result]:
    """Return the results of the agents of a run, which has one environment."""
    (agent_results,) = dw.load_study(run_folder(run)).results.values()
    return agent_results
