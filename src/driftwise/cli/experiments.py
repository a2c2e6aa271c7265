"""`driftwise init` and `driftwise validate`."""

from __future__ import annotations

import textwrap
from pathlib import Path

import typer

from driftwise.cli.app import FILE_OR_NAME, InputError, app, check
from driftwise.cli.output import print_table

INIT_EXAMPLES = """\b
Examples:
  driftwise init
  driftwise init mine.toml"""

VALIDATE_EXAMPLES = """\b
Examples:
  driftwise validate quickstart
  driftwise validate mine.toml"""


@app.command("init", epilog=INIT_EXAMPLES)
def _init(path: str = typer.Argument("experiment.toml", metavar="PATH", help="File to write.")) -> None:
    """Write a commented experiment file to start from.

    A file that exists is never overwritten.
    """
    from driftwise.experiments.experiment import write_starter

    try:
        write_starter(Path(path))
    except OSError as error:
        reason = "it is there already" if isinstance(error, FileExistsError) else error.strerror
        raise InputError(f"PATH must be a new file that can be written, got {path!r}: {reason}") from None
    print(path)


@app.command("validate", epilog=VALIDATE_EXAMPLES)
def _validate(file_or_name: str = FILE_OR_NAME) -> None:
    """Check an experiment file and show its numbers.

    It shows sizes, variation, and the parameters that agents get. It also checks that the run fits into
    memory. Nothing is run.
    """
    from driftwise.analysis.agent_numbers import NUMBERS_NOTE
    from driftwise.analysis.statistics.formatting import format_count
    from driftwise.analysis.studies import agents_table, study_environments_table
    from driftwise.experiments.outcomes import fitting_tasks
    from driftwise.experiments.study import find_study

    study = check(find_study, file_or_name)
    try:
        fitting_tasks(study)
    except ValueError as error:
        raise InputError(f"{file_or_name}: {error}") from None
    counts = (
        format_count(len(study.environments), "environment"),
        format_count(len(study.experiment.agents), "agent"),
        format_count(len({point for group in study.groups for point in group.points}), "parameter point"),
        f"{format_count(study.num_episodes, 'episode')} × {format_count(study.num_runs, 'run')}",
    )
    print(f"{file_or_name}: valid: {', '.join(counts)}")
    print_table(study_environments_table(study))
    agents = agents_table(study, study.environments)
    print_table(agents.without("environment") if len(study.environments) == 1 else agents)
    print(textwrap.fill(NUMBERS_NOTE, 80))
