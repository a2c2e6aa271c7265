"""Options and arguments that several commands have, and those of one number each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from driftwise.base.validation import require_count, require_number
from driftwise.cli.app import InputError, check


def integer(name: str, help: str, *, at_least: int = 1, bits: int = 32) -> Any:
    """An option of one integer that randomness can be addressed with; it fails as the library does."""

    def parse(text: str) -> int:
        try:
            value: Any = int(text)
        except ValueError:
            value = text
        return check(require_count, name, value, at_least=at_least, bits=bits)

    return _option(name, help, "N", parse)


def number(name: str, help: str, *, metavar: str = "X", **bounds: Any) -> Any:
    """An option of one number within the bounds of `require_number`; it fails as the library does."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{name} must be a number, got {text!r}") from None
        return check(require_number, name, value, **bounds)

    return _option(name, help, metavar, parse)


def word(name: str, metavar: str, help: str) -> Any:
    """An option of one word."""
    return _option(name, help, metavar, None)


def seed(default: str = "") -> Any:
    """The option `--seed`."""
    help = f"The same seed gives the same numbers.{default}"
    return integer("--seed", help, at_least=0, bits=64)


def argument(metavar: str, help: str) -> Any:
    """An argument, which has to be given unless the command has a default for it."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


def _option(name: str, help: str, metavar: str, parse: Callable[[str], Any] | None) -> Any:
    return typer.Option(name, metavar=metavar, parser=parse, help=help)


OF_THE_EXPERIMENT = "  [default: the experiment's]"

FileOrName = Annotated[str, argument("FILE|NAME", "An experiment: a TOML file, or see 'driftwise list'.")]
Episodes = Annotated[int | None, integer("--episodes", f"Episodes of a run.{OF_THE_EXPERIMENT}")]
Runs = Annotated[int | None, integer("--runs", f"Runs of each agent.{OF_THE_EXPERIMENT}")]
Seed = Annotated[int | None, seed(OF_THE_EXPERIMENT)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
