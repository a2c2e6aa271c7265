"""The parser that commands are added to, their errors, and how they print and write."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftwise import __version__
from driftwise.base.plugins import load_plugins
from driftwise.base.validation import ArgumentError

if TYPE_CHECKING:
    from driftwise.analysis.table import Table

WIDTH_OF_A_FILE = 400  # where the output is no terminal and COLUMNS is not set: no line is folded

EXAMPLES = """\b
Examples:
  driftwise run quickstart
  driftwise report results/quickstart
  driftwise run --help"""

app = typer.Typer(rich_markup_mode=None)


class InputError(Exception):
    """Something that the user gave cannot be used; the text is the line they see."""


def check(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """The value of a call; its `ValueError` is the user's mistake."""
    try:
        return require(*values, **options)
    except ValueError as error:
        raise InputError(str(error)) from None


def check_options(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """`check` for keywords that are options of the same names, which errors about them begin with."""
    try:
        return require(*values, **options)
    except ArgumentError as error:
        if error.argument not in options:
            raise InputError(str(error)) from None
        option = f"--{error.argument.replace('_', '-')}"
        raise InputError(str(ArgumentError(option, error.expected, error.value, error.got))) from None
    except ValueError as error:
        raise InputError(str(error)) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"driftwise {__version__}")
        raise typer.Exit


@app.callback(epilog=EXAMPLES)
def _driftwise(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    imports: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="MODULE",
            help="Load a module with algorithms, environments or parts of your own. May stand anywhere, and "
            "be given again.",
        ),
    ] = None,
) -> None:
    """Bandits and reinforcement learning in a world that drifts.

    Run experiments with exact dynamic regret, report and compare them, and learn how fast an agent should
    forget.

    Exit codes: 0 for success, 1 for a failed check or a failed run, 2 for input that cannot be used, 130
    after Ctrl-C.
    """
    with said_warnings():  # of installed plugins that cannot be imported
        check(load_plugins, imports or (), [os.getcwd()], name="--import")


@contextlib.contextmanager
def said_warnings() -> Iterator[None]:
    """Warnings in here become lines on the error stream."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in told:
        print(f"driftwise: warning: {warning.message}", file=sys.stderr)


def counted(count: int, noun: str) -> str:
    """`1 run`, `2000 runs`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def print_table(table: Table) -> None:
    """Print a table below its title, as wide as the terminal is."""
    from driftwise.analysis.terminal import terminal_text

    if table.title:
        print(table.title)
    print(f"{terminal_text(table, width_of_output())}\n")


def width_of_output() -> int:
    """Columns of the terminal, or of a file."""
    return shutil.get_terminal_size((WIDTH_OF_A_FILE, 24)).columns


def plain(value: Any) -> Any:
    """A value of lists, tables by name, and numbers that are finite or `None`: JSON has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return plain(value._asdict())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def json_text(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; it goes when all is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def say_skipped(skipped: int, rows: int) -> None:
    """A line on the error stream if rows of a log could not be used."""
    if skipped:
        lost = f"skipped {skipped:,} of {rows + skipped:,} rows"
        print(f"driftwise: {lost}: a value is missing or not finite", file=sys.stderr)


@contextlib.contextmanager
def page_folder(out: str | None, name: str) -> Iterator[Path | None]:
    """The folder of `--out`, found ready for a page before any work is done for it; None if there is none."""
    from driftwise.simulation.files import output_folder

    with contextlib.ExitStack() as stack:
        folder = None
        if out is not None:
            with blaming_out(out):
                folder = stack.enter_context(output_folder(Path(out), page_files(name)))
        yield folder


@contextlib.contextmanager
def blaming_out(out: str) -> Iterator[None]:
    """Files that cannot be written in here are the fault of `--out`."""
    try:
        if not out:
            raise NotADirectoryError(None, "the name is empty")
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"--out must be a folder that can be written, got {out!r}: {reason}") from None


def page_files(name: str) -> tuple[str, str]:
    """Names of the files of a page: its data, and itself."""
    return f"{name}.json", f"{name}.html"


def write_page(folder: Path, name: str, data: str, page: str) -> None:
    """Write data, as JSON, and a page about them; their paths go to the error stream."""
    from driftwise.simulation.files import write_files

    with blaming_out(str(folder)):
        contents = f"{data}\n".encode(), page.encode()
        paths = write_files(folder, dict(zip(page_files(name), contents, strict=True)))
    for path in paths:
        print(path, file=sys.stderr)
