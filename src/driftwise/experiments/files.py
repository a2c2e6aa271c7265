"""Experiment files: those of the package and those of users. A mistake is one line with the file's name."""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from driftwise.base.files import require_regular
from driftwise.base.making import errors_under
from driftwise.base.plugins import load_plugins
from driftwise.base.validation import ArgumentError, choice_error
from driftwise.environments.drift.recorded import Recorded, read_weights
from driftwise.experiments.experiment import Experiment, experiment_of
from driftwise.experiments.study import Study, prepare

_PACKAGE = files("driftwise.experiments")


class Experiments(Mapping[str, Experiment]):
    """Experiments of a folder by the names of their files, each read when it is asked for."""

    def __init__(self, folder: Traversable) -> None:
        found = sorted(folder.iterdir(), key=lambda each: each.name)
        self._files = {each.name.removesuffix(".toml"): each for each in found if each.name.endswith(".toml")}
        self._read: dict[str, Experiment] = {}

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._read:
            self._read[name] = experiment_of(tomllib.loads(self._text(name)))
        return self._read[name]

    def summaries(self) -> dict[str, str]:
        """Summaries by name. They stand before the first table, and nothing behind that is parsed."""
        return {name: tomllib.loads(self._text(name).partition("\n[")[0])["summary"] for name in self}

    def _text(self, name: str) -> str:
        return self._files[name].read_text(encoding="utf-8")

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


EXPERIMENTS = Experiments(_PACKAGE.joinpath("builtin"))


def find_experiment(file_or_name: str) -> Experiment:
    """The built-in experiment of that name, or else the one in that file."""
    if file_or_name in EXPERIMENTS:
        return EXPERIMENTS[file_or_name]
    separators = [separator for separator in (os.sep, os.altsep) if separator]
    is_path = file_or_name.endswith(".toml") or any(each in file_or_name for each in separators)
    if not is_path and not os.path.exists(file_or_name):
        raise choice_error("experiment", file_or_name, [*EXPERIMENTS], " or a file (NAME.toml)")
    return _read(file_or_name)


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment in a file; its environments and agents are made too, to find mistakes."""
    experiment = _read(os.fspath(path))
    with errors_under(os.fspath(path)):
        _import_beside(os.fspath(path), experiment)
        prepare(experiment)
    return experiment


def _read(path: str) -> Experiment:
    with errors_under(path):
        try:
            require_regular(path)
            content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
            return experiment_of(_with_records(content, Path(path).parent))
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ValueError(f"not valid TOML: byte {error.start} is not UTF-8") from None
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"not valid TOML: {error}") from None
        except RecursionError:
            raise ValueError("not valid TOML: nested too deeply") from None


def _with_records(content: Any, folder: Path) -> Any:
    """A file's content with the rows of recorded drifts, whose files lie beside it, in the place of names."""
    if isinstance(content, list):
        return [_with_records(each, folder) for each in content]
    if not isinstance(content, dict):
        return content
    made = {key: _with_records(value, folder) for key, value in content.items()}
    if made.get("type") == Recorded.__name__ and isinstance(made.get("weights"), str):
        with contextlib.suppress(ArgumentError):  # the drift says so, with its place in the file
            made["weights"] = read_weights(folder / made["weights"]).tolist()
    return made


def find_study(file_or_name: str, **sizes: Any) -> Study:
    """The study of `find_experiment`, at the sizes that `prepare` takes."""
    experiment = find_experiment(file_or_name)
    with errors_under(file_or_name):
        _import_beside(file_or_name, experiment)
        return prepare(experiment, **sizes)


def _import_beside(path: str, experiment: Experiment) -> None:
    """Import the modules that an experiment names; they may lie beside its file, as those of a script do."""
    folder = Path(path).resolve().parent if Path(path).is_file() else Path.cwd()
    load_plugins(experiment.import_, [str(folder)])


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
