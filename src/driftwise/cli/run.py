"""`driftwise run`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.cli.app import EXAMPLES, FileOrName, InputError, app, check, count, counted, stdout
from driftwise.experiments import Experiment, Outcome, find_experiment, run_experiment
from driftwise.experiments.files import try_experiment
from driftwise.experiments.progress import held_interrupts, shown_progress


@app.command("run", epilog=EXAMPLES)
def _run(
    file_or_name: FileOrName,
    episodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--episodes"), help="Episodes of a run.  [default: the experiment's]"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--runs"), help="Runs of each agent.  [default: the experiment's]"
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=count("--seed", at_least=0, bits=64),
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
        int, typer.Option(metavar="N", parser=count("--workers"), help="Processes to run in.")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the paths of the files only.")] = False,
) -> None:
    """Run an experiment: a table of regrets, the data, and a figure."""
    experiment = check(find_experiment, file_or_name)
    check(try_experiment, experiment, episodes, source=file_or_name)  # before anything is written
    if out is None:
        out = f"results/{experiment.name}"
    from driftwise.experiments.saving import CHECKPOINTS, CLAIM, FILES, claimed_by, save_outcomes
    from driftwise.storage import claim, locked, output_folder

    with contextlib.ExitStack() as stack:
        stop_if_asked = stack.enter_context(held_interrupts())
        with _blaming_out(out):
            folder = stack.enter_context(output_folder(Path(out), FILES))
            stack.enter_context(locked(folder))
            check(claim, folder, CLAIM, claimed_by(experiment, episodes, runs, seed))
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
    sizes = f"{counted(facts['num_episodes'], 'episode')}, {counted(facts['num_runs'], 'run')}"
    print(f"{experiment.summary}: {sizes}, seed {facts['seed']}, on {facts['device']}")
    stdout().print(table)
