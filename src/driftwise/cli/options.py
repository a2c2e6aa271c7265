"""Options and arguments that several commands have, and those of one number each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from driftwise.base.validation import require_choice, require_count, require_number
from driftwise.cli import completion
from driftwise.cli.app import InputError, check


def integer(name: str, help: str, *, at_least: int = 1, bits: int = 32) -> Any:
    """An option of one integer that randomness can be addressed with; it fails as the library does."""

    def parse(text: str) -> int:
        try:
            value: Any = int(text)
        except ValueError:
            value = text
        return check(require_count, name, value, at_least=at_least, bits=bits)

    return typer.Option(name, metavar="N", parser=parse, help=help)


def number(name: str, help: str, *, metavar: str = "X", **bounds: Any) -> Any:
    """An option of one number within the bounds of `require_number`; it fails as the library does."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{name} must be a number, got {text!r}") from None
        return check(require_number, name, value, **bounds)

    return typer.Option(name, metavar=metavar, parser=parse, help=help)


def word(metavar: str, help: str, *names: str) -> Any:
    """An option of one word, named as its parameter unless there are names."""
    return typer.Option(*names, metavar=metavar, help=help)


def listed(text: str) -> tuple[str, ...]:
    """The words of an option of several, which commas separate."""
    return tuple(filter(None, (each.strip() for each in text.split(","))))


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


def argument(metavar: str, help: str, complete: Callable[[], list[str]] | None = None) -> Any:
    """An argument, required unless the command has a default for it; shells ask `complete` for its values."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, autocompletion=complete)


FOLDER_OR_CURVES = "A folder written by 'driftwise run', or a CSV or Parquet file of curves."
OF_THE_EXPERIMENT = "  [default: the experiment's]"

AN_EXPERIMENT = "An experiment: a TOML file, or a name from 'driftwise list'."
FileOrName = Annotated[str, argument("FILE|NAME", AN_EXPERIMENT, completion.experiments)]
Episodes = Annotated[int | None, integer("--episodes", f"Episodes in a run.{OF_THE_EXPERIMENT}")]
Runs = Annotated[int | None, integer("--runs", f"Runs of each agent.{OF_THE_EXPERIMENT}")]
SEED = "Seed: the same seed gives the same numbers."
Seed = Annotated[int | None, integer("--seed", SEED + OF_THE_EXPERIMENT, at_least=0, bits=64)]
Json = Annotated[bool, flag("--json", "Print JSON instead of text.")]
Engines = Annotated[str, word("ENGINE", "Where to run: processes (this machine) or ray (a Ray cluster).")]
Address = Annotated[
    str | None, word("ADDR", "Address of the Ray cluster.  [default: a running one, else a new one here]")
]


def require_engine(engine: str, workers: int | None, address: str | None) -> None:
    """Raise an `InputError` unless it is an engine that has the other options."""
    check(require_choice, "--engine", engine, ("processes", "ray"))
    if engine == "ray" and workers is not None:
        raise InputError(f"--workers is for --engine processes, got {workers} with --engine ray")
    if engine != "ray" and address is not None:
        raise InputError(f"--address is for --engine ray, got {address!r} with --engine {engine}")
