"""The runs behind the figures of algorithms: one for each kind of problem, played when the site is built."""

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
    """The agents of a run, by the names of their algorithms."""
    return tomllib.loads(FILES[run].read_text(encoding="utf-8"))["agents"]


def run_of(algorithm: str, problem: str) -> str:
    """The run that an algorithm is shown in: that of its problem, or the first that has it."""
    own = problem.replace(" ", "-").lower()
    return next(each for each in sorted(FILES, key=lambda name: name != own) if algorithm in agents(each))


def played(run: str) -> Path:
    """The folder of a run; it is played unless the library and the file are those of last time."""
    folder = BUILD / "runs" / source_digest(FILES[run]) / run
    if not (folder / "manifest.json").exists():
        command = ["driftwise", "run", str(FILES[run]), "--out", str(folder), "--workers", "2", "--quiet"]
        subprocess.run([sys.executable, "-m", *command], check=True, stdout=subprocess.DEVNULL)
    return folder


@cache
def results(run: str) -> Mapping[str, Result]:
    """What the agents of a run in one environment did."""
    (found,) = dw.load_study(played(run)).results.values()
    return found
