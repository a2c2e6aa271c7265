"""The parser that commands are added to, the options that several have, and how a command is run."""

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import typer

from driftwise import __version__
from driftwise.base.plugins import load_plugins
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_number

app = typer.Typer(rich_markup_mode=None)


def command(*examples: str) -> Callable[[Any], Any]:
    """Add a function as the command that its examples begin with; `--help` shows them."""
    lines = ["\b", "Examples:", *(f"  driftwise {example}" for example in examples)]
    return app.command(examples[0].split()[0], epilog="\n".join(lines))


class InputError(Exception):
    """Input that cannot be used; the text is the line that the user sees."""


class Stopped(KeyboardInterrupt):
    """The end of a run that a signal asked for, with the exit code by which shells tell the signal."""

    def __init__(self, number: int, *, can_resume: bool = False) -> None:
        super().__init__("interrupted" + ": the same command goes on from here" * can_resume)
        self.number, self.code = number, 128 + number


def check(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return the value of a call, whose `ValueError` is a mistake in the input."""
    try:
        return require(*values, **options)
    except ValueError as error:
        raise InputError(str(error)) from None


def check_options(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Return the value of a call whose keywords are options of the same names, which errors then name."""
    try:
        return require(*values, **options)
    except ValueError as error:
        if isinstance(error, ArgumentError) and error.argument in options:
            option = f"--{error.argument.replace('_', '-')}"
            error = ArgumentError(option, error.expected, error.value, error.got)
        raise InputError(str(error)) from None


@contextlib.contextmanager
def print_warnings() -> Iterator[None]:
    """Print the warnings of a block as lines on the error stream."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        print(f"driftwise: warning: {warning.message}", file=sys.stderr)


def int_option(name: str, text: str, *, default: int | None = None, bits: int = 32, **bounds: Any) -> Any:
    """Return an option of one integer, within the bounds of `require_count`."""
    parse = functools.partial(_parse, int, require_count, name, bits=bits, **bounds)
    return typer.Option(default, name, metavar="N", parser=parse, help=text)


def float_option(name: str, text: str, *, metavar: str = "X", **bounds: Any) -> Any:
    """Return an option of one number within the bounds of `require_number`."""
    parse = functools.partial(_parse, float, require_number, name, **bounds)
    return typer.Option(None, name, metavar=metavar, parser=parse, help=text)


def _parse(kind: type, require: Callable[..., Any], name: str, word: str, **bounds: Any) -> Any:
    value: Any = word
    with contextlib.suppress(ValueError):
        value = kind(word)
    return check(require, name, value, **bounds)


def option(metavar: str, text: str, *names: str, default: str | None = None) -> Any:
    """Return an option of one word, named after its parameter unless there are names."""
    return typer.Option(default, *names, metavar=metavar, help=text)


def argument(
    metavar: str, text: str, complete: Callable[[], list[str]] | None = None, *, default: Any = ...
) -> Any:
    """Return an argument, required unless it has a default; `complete` lists values for shells."""
    return typer.Argument(default, metavar=metavar, help=text, show_default=False, autocompletion=complete)


def split_words(text: str) -> tuple[str, ...]:
    """Return the words between the commas of an option."""
    return tuple(filter(None, (word.strip() for word in text.split(","))))


def complete_experiments() -> list[str]:
    """Return the names of built-in experiments; shells complete files themselves."""
    from driftwise.experiments import EXPERIMENTS

    return list(EXPERIMENTS)


FOLDER_OR_CURVES = "A folder written by 'driftwise run', or a CSV or Parquet file of curves."
_DEFAULT = "  [default: the experiment's]"
_ENGINE = (
    "Where to run: processes (this machine) or ray (a Ray cluster: the one at RAY_ADDRESS, else a "
    "running one, else a new one on this machine)."
)

FILE_OR_NAME = argument(
    "FILE|NAME", "An experiment: a TOML file, or a name from 'driftwise list'.", complete_experiments
)
EPISODES = int_option("--episodes", f"Episodes in a run.{_DEFAULT}")
RUNS = int_option("--runs", f"Runs of each agent.{_DEFAULT}")
SEED = int_option("--seed", f"Seed: the same seed gives the same numbers.{_DEFAULT}", at_least=0, bits=64)
JSON = typer.Option(False, "--json", help="Print JSON instead of text.")
ENGINE = option("ENGINE", _ENGINE, default="processes")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"driftwise {__version__}")
        raise typer.Exit


@app.callback(
    epilog="\b\nExamples:\n  driftwise run quickstart\n  driftwise report results/quickstart\n"
    "  driftwise run --help"
)
def _driftwise(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
    ),
    imports: list[str] | None = option(
        "MODULE",
        "Load a module with your own algorithms, environments or parts. May stand anywhere and be repeated.",
        "--import",
    ),
) -> None:
    """Bandits and reinforcement learning in a world that drifts.

    Run experiments with exact dynamic regret, report and compare them, and learn how fast an agent should
    forget.

    Exit codes: 0 for success, 1 for a failed check or a failed run, 2 for input that cannot be used, 130
    after Ctrl-C.
    """
    with print_warnings():  # of installed plugins that cannot be imported
        check(load_plugins, imports or (), [os.getcwd()], name="--import")


def make_parser() -> Any:
    """Return the parser with all commands, which their modules add, in the order of `--help`."""
    from driftwise.cli import run, report, tune, audit, bench, control, replay, listing  # noqa: F401, I001

    return typer.main.get_command(app)


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command; the exit code. A mistake in the arguments is one line and the code 2."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    try:
        parser = make_parser()
        if "_DRIFTWISE_COMPLETE" in os.environ:  # a shell asks what may come next; it ends the process
            parser.main([], prog_name="driftwise")
        imports, others = split_imports(list(arguments) or ["--help"])
        name = next((word for word in others if not word.startswith("-")), None)
        if name is not None:
            check(require_choice, "command", name, list(parser.commands))
        with parser.make_context("driftwise", [*imports, *others]) as context:
            parser.invoke(context)
        sys.stdout.flush()
    except typer.Exit as finished:
        return finished.exit_code
    except BrokenPipeError:  # the reader has seen enough, as in `driftwise list | head -3`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except InputError as error:
        line, code = f"error: {error}", 2
    except Stopped as stopped:
        line, code = str(stopped), stopped.code
    except MemoryError as error:
        line, code = f"error: not enough memory: {error}", 1
    except Exception as error:
        if not hasattr(error, "format_message"):  # what tells the parser's errors from all others
            raise
        line, code = f"error: {_parser_message(error)}", 2
    else:
        return 0
    print(f"driftwise: {' '.join(line.split())}", file=sys.stderr)
    return code


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
