"""Experiment files: those of the package and those of users. A mistake is one line with the file's name."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from driftwise.base.validation import ArgumentError, nearest
from driftwise.experiments.building import Batch, make_batches
from driftwise.experiments.experiment import Experiment, experiment_of

_PACKAGE = files("driftwise.experiments")


def _builtin() -> Iterator[Experiment]:
    for file in sorted(_PACKAGE.joinpath("builtin").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            yield experiment_of(tomllib.loads(file.read_text(encoding="utf-8")))


EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _builtin()}


def find_experiment(file_or_name: str) -> Experiment:
    """The built-in experiment of that name, or else the one in that file; see `try_experiment`."""
    if file_or_name in EXPERIMENTS:
        return EXPERIMENTS[file_or_name]
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    is_path = file_or_name.endswith(".toml") or any(each in file_or_name for each in separators)
    if not is_path and not os.path.exists(file_or_name):
        expected = f"be one of {', '.join(EXPERIMENTS)} or a file (NAME.toml)"
        found = f"{file_or_name!r}{nearest(file_or_name, EXPERIMENTS)}"
        raise ArgumentError("experiment", expected, file_or_name, found)
    return _read(file_or_name)


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment in a file; its environment and agents are tried too, nothing is run."""
    experiment = _read(os.fspath(path))
    try_experiment(experiment, source=os.fspath(path))
    return experiment


def _read(path: str) -> Experiment:
    with _blaming(path):
        try:
            return experiment_of(tomllib.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ValueError(f"not valid TOML: byte {error.start} is not UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"not valid TOML: {error}") from None
        except RecursionError:
            raise ValueError("not valid TOML: nested too deeply") from None


def try_experiment(
    experiment: Experiment, num_episodes: int | None = None, *, source: str
) -> tuple[Batch, ...]:
    """All that would run, at that number of episodes; a mistake is told with the source's name."""
    with _blaming(source):
        return make_batches(experiment, num_episodes)


def write_starter(path: Path) -> None:
    """Write a commented experiment to begin with, named after its file; nothing is overwritten."""
    text = _PACKAGE.joinpath("starter.toml").read_text(encoding="utf-8")
    name = re.sub(r"[^\w.-]", "-", path.stem).lstrip(".-") or "experiment"
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(text.replace('name = "experiment"', f'name = "{name}"', 1))
            file.flush()
        except OSError:
            path.unlink()
            raise


@contextlib.contextmanager
def _blaming(source: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from None
