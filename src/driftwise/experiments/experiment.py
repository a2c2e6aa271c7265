"""Experiments as data: the content of a file, checked at the top level, and the files themselves."""

import contextlib
import dataclasses
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from driftwise.base.agent import Agent
from driftwise.base.files import require_regular_file
from driftwise.base.schema import build_from_table, join_keys, prefix_errors
from driftwise.base.validation import ArgumentError, choice_error, require_count
from driftwise.environments import Environment
from driftwise.environments.drift.composite import Recorded, read_weights

ConfigTable = dict[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """Agents in the same drifting environments, and the sizes of their runs."""

    name: str
    summary: str  # what happens
    finding: str | None = None  # what is seen at these sizes
    episodes: int
    runs: int
    seed: int = 0
    import_: tuple[str, ...] = ()  # modules whose algorithms, environments and parts it uses
    record_every: int = 1
    environment: ConfigTable | Environment | None = None  # the only one, or
    environments: Mapping[str, ConfigTable | Environment] | None = None  # several, by their labels
    agents: Mapping[str, ConfigTable | Agent | Callable[[Environment], Agent]]  # likewise

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"\w[\w.-]*", self.name):  # a folder's name
            raise ArgumentError("name", 'be letters, digits, "_", "-" and "."', self.name)
        _require_line("summary", self.summary)
        if self.finding is not None:
            _require_line("finding", self.finding)
        for key in ("episodes", "runs", "record_every"):
            require_count(key, getattr(self, key), bits=32)  # what an address of randomness holds
        require_count("seed", self.seed, at_least=0)
        if not isinstance(self.import_, (list, tuple)):
            raise ArgumentError("import", "be a list of modules", self.import_)
        object.__setattr__(self, "import_", tuple(self.import_))
        if self.environment is None and self.environments is None:
            raise ValueError("environment is missing: an experiment needs it, or several in environments")
        if self.environment is not None and not isinstance(self.environment, Environment):
            require_table("environment", self.environment)
        if self.environments is not None and self.environment:
            got = "a table environment as well"
            raise ArgumentError("environments", "be all there are", self.environments, got)
        groups: dict[str, Any] = {"environments": self.environments, "agents": self.agents}
        if self.environments is None:
            del groups["environments"]
        for path, tables in groups.items():
            if not require_table(path, tables):
                raise ArgumentError(path, "have at least one table", tables, "none")
            for label, table in tables.items():
                _require_line(f"a name in {path}", label)
                if label.startswith("_"):  # which keeps a curve's name out of figures
                    raise ArgumentError(f"a name in {path}", "not start with '_'", label)
                if not isinstance(table, Environment if path == "environments" else (Agent, Callable)):
                    require_table(join_keys(path, label), table)

    @property
    def config(self) -> ConfigTable:
        """The content of its file, for `experiment_of`, without environments and agents made in Python."""
        chosen = {name: own for name, own in vars(self).items() if own != getattr(Experiment, name, None)}
        return {name.removesuffix("_"): value for name, value in chosen.items() if _is_plain(value)}


def experiment_of(config: Mapping[str, Any]) -> Experiment:
    """Return the experiment that a file's content describes; a mistake at the top level is a `ValueError`."""
    return build_from_table(Experiment, config, owner="an experiment")


def require_table(path: str, value: Any) -> ConfigTable:
    """Return a table of the file, or raise an `ArgumentError`."""
    if not isinstance(value, dict):
        raise ArgumentError(path, "be a table", value)
    return value


def _require_line(path: str, value: Any) -> None:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ArgumentError(path, "be one line of text", value)


def _is_plain(value: Any) -> bool:
    """Return whether a file can contain the value."""
    if isinstance(value, Mapping):
        return all(map(_is_plain, value.values()))
    return not isinstance(value, (Agent, Environment)) and not callable(value)


class Experiments(Mapping[str, Experiment]):
    """The experiments of a folder by the names of their files; a file is read on first use."""

    def __init__(self, folder: Traversable) -> None:
        paths = sorted(folder.iterdir(), key=lambda path: path.name)
        self._files = {path.name.removesuffix(".toml"): path for path in paths if path.name.endswith(".toml")}
        self._read: dict[str, Experiment] = {}

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._read:
            self._read[name] = experiment_of(tomllib.loads(self._files[name].read_text(encoding="utf-8")))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


_PACKAGE = files("driftwise.experiments")
EXPERIMENTS = Experiments(_PACKAGE.joinpath("builtin"))


def find_experiment(file_or_name: str | Path) -> Experiment:
    """Return the built-in experiment of that name, or else the one in that file, of which nothing is made."""
    path = os.fspath(file_or_name)
    if file_or_name in EXPERIMENTS:
        return EXPERIMENTS[path]
    is_path = path.endswith(".toml") or os.path.basename(path) != path or isinstance(file_or_name, Path)
    if not is_path and not os.path.exists(path):
        raise choice_error("experiment", path, [*EXPERIMENTS], " or a file (NAME.toml)")
    with prefix_errors(path):
        try:
            require_regular_file(path)
            content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
            return experiment_of(_with_records(content, Path(path).parent))
        except OSError as error:
            raise ValueError(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise ValueError(f"not valid TOML: byte {error.start} is not UTF-8") from None
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            nested = isinstance(error, RecursionError)
            raise ValueError(f"not valid TOML: {'nested too deeply' if nested else error}") from None


def _with_records(content: Any, folder: Path) -> Any:
    """Return a file's content with the rows of recorded drifts in the place of their files' names."""
    if isinstance(content, list):
        return [_with_records(item, folder) for item in content]
    if not isinstance(content, dict):
        return content
    table = {key: _with_records(value, folder) for key, value in content.items()}
    if table.get("type") == Recorded.__name__ and isinstance(table.get("weights"), str):
        with contextlib.suppress(ArgumentError):  # the drift says so, with its place in the file
            table["weights"] = read_weights(folder / table["weights"]).tolist()
    return table


def write_starter(path: Path) -> None:
    """Write a commented experiment to start from, named after its file; no file is overwritten."""
    text = _PACKAGE.joinpath("starter.toml").read_text(encoding="utf-8")
    name = re.sub(r"[^\w.-]", "-", path.stem).lstrip(".-") or "experiment"
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(text.replace('name = "experiment"', f'name = "{name}"', 1))
            file.flush()
        except OSError:
            path.unlink()
            raise
