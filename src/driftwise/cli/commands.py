"""Running a command, and the line that is printed where it fails.

Importing a module adds its commands, and this is the order of `--help`.
"""
# ruff: isort: skip_file

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from driftwise.base.validation import require_choice
from driftwise.cli import run, report, tune, audit, bench, replay, listing  # noqa: F401
from driftwise.cli.app import InputError, app, check
from driftwise.cli.stopping import Stopped

COMPLETION = "_DRIFTWISE_COMPLETE"  # the variable by which shells ask


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
    except Stopped as stopped:
        return _say(str(stopped), code=stopped.code)
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
    if COMPLETION in os.environ:  # a shell asks what may come next; the answer ends the process
        parser.main([], prog_name="driftwise")
    imports, arguments = split_imports(arguments)
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    if command is not None:
        check(require_choice, "command", command, list(parser.commands))
    with parser.make_context("driftwise", [*imports, *arguments]) as context:
        parser.invoke(context)


def split_imports(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The options `--import MODULE`, which may stand anywhere before `--`, and all other arguments."""
    imports, others, left = [], [], list(arguments)
    while left and left[0] != "--":
        first = left.pop(0)
        if first == "--import":
            if not left:
                raise InputError("--import must be followed by the name of a module, got nothing")
            imports += [first, left.pop(0)]
        else:
            (imports if first.startswith("--import=") else others).append(first)
    return imports, others + left


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
