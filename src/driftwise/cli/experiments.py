"""`driftwise init` and `driftwise validate`."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from driftwise.cli.app import InputError, app, check, counted, print_table
from driftwise.cli.options import FileOrName

INIT_EXAMPLES = """\b
Examples:
  driftwise init
  driftwise init mine.toml"""

VALIDATE_EXAMPLES = """\b
Examples:
  driftwise validate quickstart
  driftwise validate mine.toml"""


@app.command("init", epilog=INIT_EXAMPLES)
def _init(
    path: Annotated[str, typer.Argument(metavar="PATH", help="File to write.")] = "experiment.toml",
) -> None:
    """Write a commented experiment file to start from.

    A file that exists is never overwritten.
    """
    from driftwise.experiments.files import write_starter

    try:
        write_starter(Path(path))
    except OSError as error:
        reason = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"PATH must be a new file that can be written, got {path!r}: {reason}") from None
    print(path)


@app.command("validate", epilog=VALIDATE_EXAMPLES)
def _validate(file_or_name: FileOrName) -> None:
    """Check an experiment file and show its numbers.

    It shows sizes, variation, and the parameters that agents get. It also checks that the run fits into
    memory. Nothing is run.
    """
    from driftwise.analysis.numbers import NOTE
    from driftwise.analysis.studies import agents_table, environments_table
    from driftwise.experiments.files import find_study
    from driftwise.experiments.running import fitting_tasks

    study = check(find_study, file_or_name)
    try:
        fitting_tasks(study)
    except ValueError as error:
        raise InputError(f"{file_or_name}: {error}") from None
    counts = (
        counted(len(study.environments), "environment"),
        counted(len(study.experiment.agents), "agent"),
        counted(len({point for group in study.groups for point in group.points}), "parameter point"),
        f"{counted(study.num_episodes, 'episode')} × {counted(study.num_runs, 'run')}",
    )
    print(f"{file_or_name}: valid: {', '.join(counts)}")
    print_table(environments_table(study))
    agents = agents_table(study, study.environments)
    print_table(agents.without("environment") if len(study.environments) == 1 else agents)
    print(textwrap.fill(NOTE, 80))
