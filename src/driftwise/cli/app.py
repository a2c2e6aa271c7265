"""What all commands share: the parser, its errors, and how they print."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from driftwise import __version__
from driftwise.base.validation import require_choice, require_count

WIDTH_OF_A_FILE = 400  # columns, where the output is not a terminal: no line is folded

app = typer.Typer(add_completion=False, rich_markup_mode=None)


class InputError(Exception):
    """What the user gave cannot be used; its text is the line they see."""


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command; the exit code. A mistake in the arguments is one line and the code 2."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        _invoke(list(arguments) or ["--help"])
        sys.stdout.flush()
    except typer.Exit as finished:
        return finished.exit_code
    except InputError as error:
        return _say(f"error: {error}", code=2)
    except MemoryError as error:
        return _say(f"error: not enough memory: {error}", code=1)
    except BrokenPipeError:  # the reader has seen enough, as in `driftwise list | head -3`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):  # what tells the parser's errors from all others
            raise
        return _say(f"error: {_parser_message(error)}", code=2)
    return 0


def _say(line: str, *, code: int) -> int:
    print(f"driftwise: {' '.join(line.split())}", file=sys.stderr)
    return code


def _invoke(arguments: list[str]) -> None:
    parser: Any = typer.main.get_command(app)
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if command is not None:
        check(require_choice, "command", command, list(parser.commands))
    with parser.make_context("driftwise", arguments) as context:
        parser.invoke(context)


def _parser_message(error: Any) -> str:
    context = getattr(error, "ctx", None)
    if context is not None and hasattr(error, "possibilities"):  # an option that does not exist
        options = [name for parameter in context.command.get_params(context) for name in parameter.opts]
        try:
            require_choice("option", error.option_name, [name for name in options if name.startswith("--")])
        except ValueError as better:
            return str(better)
    path = "driftwise" if context is None else context.command_path
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]} (see '{path} --help')"


def check(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    try:
        return require(*values, **options)
    except ValueError as error:
        raise InputError(str(error)) from None


def count(name: str, *, at_least: int = 1, bits: int = 32) -> Callable[[str], int]:
    """A parser of integers that randomness can be addressed with; it fails as the library does."""

    def parse(text: str) -> int:
        try:
            value: Any = int(text)
        except ValueError:
            value = text
        return check(require_count, name, value, at_least=at_least, bits=bits)

    return parse


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"driftwise {__version__}")
        raise typer.Exit


EXAMPLES = """\b
Examples:
  driftwise run quickstart
  driftwise run quickstart --episodes 4000 --runs 64 --out elsewhere
  driftwise init mine.toml && driftwise run mine.toml"""

FileOrName = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME", help="An experiment: a TOML file, or see 'driftwise list'.", show_default=False
    ),
]


@app.callback(epilog=EXAMPLES)
def _driftwise(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Reinforcement learning in a world that drifts: agents that forget, and their exact dynamic regret."""


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def stdout() -> Console:
    console = Console(highlight=False, markup=False)  # a name may have brackets
    if console.is_terminal:
        return console
    return Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)


def made_folder(out: str) -> Path:
    """The folder of `--out`, before any work is done for it."""
    try:
        Path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"--out must be a folder that can be written, got {out!r}: {reason}") from None
    return Path(out)
