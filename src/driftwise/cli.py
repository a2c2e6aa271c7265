"""The command line: `driftwise run`, `init`, `validate` and `list`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from driftwise import __version__
from driftwise.algorithms import ALGORITHMS
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS, Experiment, Outcome, find_experiment, run_experiment
from driftwise.experiments.files import try_experiment, write_starter
from driftwise.experiments.progress import held_interrupts, shown_progress
from driftwise.validation import require_choice, require_count

WIDTH_OF_A_FILE = 250  # columns, where the output is not a terminal: no line is folded

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
        _check(require_choice, "command", command, list(parser.commands))
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


def _check(require: Callable[..., Any], *values: Any, **options: Any) -> Any:
    try:
        return require(*values, **options)
    except ValueError as error:
        raise InputError(str(error)) from None


def _count(name: str, *, at_least: int = 1, bits: int = 32) -> Callable[[str], int]:
    """A parser of integers that randomness can be addressed with; it fails as the library does."""

    def parse(text: str) -> int:
        try:
            value: Any = int(text)
        except ValueError:
            value = text
        return _check(require_count, name, value, at_least=at_least, bits=bits)

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


REPORT_EXAMPLES = """\b
Examples:
  driftwise report results/quickstart
  driftwise report results/quickstart --format latex --out table.tex"""


@app.callback(epilog=EXAMPLES)
def _driftwise(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Reinforcement learning in a world that drifts: agents that forget, and their exact dynamic regret."""


@app.command("run", epilog=EXAMPLES)
def _run(
    file_or_name: FileOrName,
    episodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=_count("--episodes"), help="Episodes of a run.  [default: the experiment's]"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=_count("--runs"), help="Runs of each agent.  [default: the experiment's]"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=_count("--seed", at_least=0, bits=64),
            help="The same seed gives the same numbers.  [default: the experiment's]",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="The folder to write to. A run that was stopped there goes on.  [default: results/NAME]",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", parser=_count("--workers"), help="Processes to run in.")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the paths of the files only.")] = False,
) -> None:
    """Run an experiment: a table of regrets, the data, and a figure."""
    experiment = _check(find_experiment, file_or_name)
    _check(try_experiment, experiment, episodes, source=file_or_name)  # before anything is written
    if out is None:
        out = f"results/{experiment.name}"
    from driftwise.experiments.saving import CHECKPOINTS, CLAIM, FILES, claimed_by, save_outcomes
    from driftwise.storage import claim, locked, output_folder

    with contextlib.ExitStack() as stack:
        stop_if_asked = stack.enter_context(held_interrupts())
        with _blaming_out(out):
            folder = stack.enter_context(output_folder(Path(out), FILES))
            stack.enter_context(locked(folder))
            _check(claim, folder, CLAIM, claimed_by(experiment, episodes, runs, seed))
        with shown_progress(quiet) as show:

            def progress(label: str, done: int, total: int) -> None:
                stop_if_asked()
                show(label, done, total)

            sizes = dict(num_episodes=episodes, num_runs=runs, seed=seed)
            cells = folder / CHECKPOINTS
            with _blaming_out(out), _telling_how_to_go_on():
                outcomes = run_experiment(
                    experiment, **sizes, checkpoints=cells, workers=workers, progress=progress
                )
        with _blaming_out(out):
            paths = save_outcomes(folder, experiment, outcomes)
    if not quiet:
        _print_regrets(experiment, outcomes)
    for path in paths:
        print(path)


@contextlib.contextmanager
def _telling_how_to_go_on() -> Iterator[None]:
    from driftwise.checkpoints import CheckpointError

    try:
        yield
    except CheckpointError as error:
        raise InputError(str(error)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(": the same command goes on from here") from None


@contextlib.contextmanager
def _blaming_out(out: str) -> Iterator[None]:
    try:
        if not out:
            raise NotADirectoryError(None, "the name is empty")
        yield
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise InputError(f"--out must be a folder that can be written, got {out!r}: {reason}") from None


def _print_regrets(experiment: Experiment, outcomes: Sequence[Outcome]) -> None:
    from driftwise.statistics import mean_interval

    facts = outcomes[0].result.manifest
    several = facts["num_runs"] > 1
    table = Table(box=SIMPLE_HEAD)
    table.add_column("agent")
    table.add_column(
        "final cumulative regret" + (", mean ± 95 % (Student's t)" if several else ""), justify="right"
    )
    table.add_column("seconds", justify="right")
    for outcome in outcomes:
        mean, half_width = mean_interval(outcome.result.cumulative_regret[:, -1])
        regret = f"{mean:.1f} ± {half_width:.1f}" if several else f"{mean:.1f}"
        table.add_row(outcome.label, regret, f"{outcome.seconds:.1f}")
    sizes = f"{_counted(facts['num_episodes'], 'episode')}, {_counted(facts['num_runs'], 'run')}"
    print(f"{experiment.summary}: {sizes}, seed {facts['seed']}, on {facts['device']}")
    _stdout().print(table)


@app.command("report", epilog=REPORT_EXAMPLES)
def _report(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A folder written by 'driftwise run'.", show_default=False)
    ],
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="html, pdf, png, csv or latex.")
    ] = "html",
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="The file to write.  [default: in DIR]")
    ] = None,
) -> None:
    """Write a report on a finished run: a page that works offline, or a figure or table for a paper."""
    from driftwise.report import write_report

    try:
        print(_check(write_report, Path(folder), format=format, out=None if out is None else Path(out)))
    except OSError as error:
        where = "" if out is None else f" {out!r}"
        raise InputError(f"--out{where} cannot be written: {error.strerror or error}") from None


@app.command("init")
def _init(
    path: Annotated[str, typer.Argument(metavar="PATH", help="The file to write.")] = "experiment.toml",
) -> None:
    """Write a commented experiment file to begin with."""
    try:
        write_starter(Path(path))
    except OSError as error:
        reason = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"PATH must be a new file that can be written, got {path!r}: {reason}") from None
    print(path)


@app.command("validate")
def _validate(file_or_name: FileOrName) -> None:
    """Check an experiment file; nothing is run."""
    experiment = _check(find_experiment, file_or_name)
    batches = _check(try_experiment, experiment, source=file_or_name)
    counts = (
        "1 environment",
        _counted(len(experiment.agents), "agent"),
        _counted(sum(len(batch.points) for batch in batches), "parameter point"),
        f"{_counted(experiment.episodes, 'episode')} × {_counted(experiment.runs, 'run')}",
    )
    print(f"{file_or_name}: valid: {', '.join(counts)}")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


@app.command("list")
def _list() -> None:
    """Show the experiments, algorithms and environments there are."""
    headings = ("algorithm", "problem", "forgetting", "exploration", "bound on regret", "paper")
    algorithms = [
        (each.name, each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        for each in ALGORITHMS.values()
    ]
    environments = [(name, (make.__doc__ or "").split("\n")[0]) for name, make in ENVIRONMENTS.items()]
    experiments = [(each.name, each.summary) for each in EXPERIMENTS.values()]
    for titles, rows in (
        (("experiment", "what happens"), experiments),
        (headings, algorithms),
        (("environment", "what it is"), environments),
    ):
        table = Table(*titles, box=SIMPLE_HEAD)
        for row in rows:
            table.add_row(*row)
        _stdout().print(table)


def _stdout() -> Console:
    console = Console(highlight=False, markup=False)  # a name may have brackets
    if console.is_terminal:
        return console
    return Console(highlight=False, markup=False, width=WIDTH_OF_A_FILE)
