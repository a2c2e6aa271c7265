"""The output of commands: tables, JSON, a progress bar, and pages with their data."""

import contextlib
import dataclasses
import json
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from driftwise.cli.app import InputError


def print_table(table: Any) -> None:
    """Print a table below its title, as wide as the terminal."""
    from driftwise.analysis.table import terminal_text

    if table.title:
        print(table.title)
    print(f"{terminal_text(table, output_width())}\n")


def print_paragraph(text: str, end: str = "\n") -> None:
    """Print a text in lines of at most 80 letters; dollars stay, and no word is broken."""
    print(textwrap.fill(text, 80, break_long_words=False, break_on_hyphens=False), end=end)


@contextlib.contextmanager
def os_errors(message: str) -> Iterator[None]:
    """Report an `OSError` in the block as a mistake in the input, with its reason after this message."""
    try:
        yield
    except BrokenPipeError:  # of a reader of the output that has left
        raise
    except OSError as error:
        raise InputError(f"{message}: {error.strerror or error}") from None


def output_width() -> int:
    """Return the number of columns of the terminal, or so many that no line of a file is folded."""
    return shutil.get_terminal_size((400, 24)).columns


def to_plain(value: Any) -> Any:
    """Return a value as lists, dictionaries, and numbers that are finite or `None`: JSON has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return to_plain(value._asdict())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value


def json_text(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(to_plain(value), indent=2, ensure_ascii=False, allow_nan=False)


@contextlib.contextmanager
def progress_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar on a terminal until the block ends; the function given updates it."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextlib.contextmanager
def open_page(name: str, out: str | None) -> Iterator[Callable[[str, Callable[[], str]], None]]:
    """Prepare the folder of `--out` for a page and its data, before any work is done.

    The function given writes data (JSON) and a page if there is a folder; paths go to the error stream.
    """
    from driftwise.base.files import output_folder, write_files

    if out is None:
        yield lambda text, page: None
        return
    names = f"{name}.json", f"{name}.html"
    with contextlib.ExitStack() as stack:
        with as_out_errors(out):
            folder = stack.enter_context(output_folder(Path(out), names))

        def write_page(text: str, page: Callable[[], str]) -> None:
            contents = f"{text}\n".encode(), page().encode()
            with as_out_errors(out):
                paths = write_files(folder, dict(zip(names, contents, strict=True)))
            for path in paths:
                print(path, file=sys.stderr)

        yield write_page


@contextlib.contextmanager
def as_out_errors(out: str) -> Iterator[None]:
    """Report an `OSError` in the block as a mistake in `--out`."""
    with os_errors(f"--out must be a folder that can be written, got {out!r}"):
        if not out:
            raise NotADirectoryError(None, "the name is empty")
        yield
