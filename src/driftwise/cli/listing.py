"""`driftwise list` and `driftwise show`; `driftwise init` and `driftwise validate`."""

import dataclasses
from pathlib import Path

import typer

from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import InputError, check
from driftwise.cli.output import os_errors, output_width, print_paragraph, print_table

_KINDS = ("experiments", "algorithms", "environments", "scenarios", "drifts", "paths", "arms", "corruptions")
_KINDS += ("forgettings", "explorations", "detectors")


def _complete_names() -> list[str]:
    from driftwise.analysis.entries import entry_names

    return entry_names()


@app.command("init", "init mine.toml")
def _init(path: str = typer.Argument("experiment.toml", metavar="PATH", help="File to write.")) -> None:
    """Write a commented experiment file, never over another."""
    from driftwise.experiments.experiment import write_starter

    with os_errors(f"PATH must be a new file that can be written, got {path!r}"):
        write_starter(Path(path))
    print(path)


@app.command("validate quickstart", "validate mine.toml")
def _validate(file_or_name: str = app.FILE_OR_NAME) -> None:
    """Check an experiment file and show its numbers.

    It shows sizes, variation, and the parameters that agents get. It also checks that the run fits into
    memory. Nothing is run.
    """
    from driftwise.analysis.agent_numbers import NUMBERS_NOTE
    from driftwise.analysis.formatting import format_count
    from driftwise.analysis.studies import agents_table, study_environments_table
    from driftwise.experiments.outcomes import fitting_tasks
    from driftwise.experiments.study import find_study

    study = check(find_study, file_or_name)
    try:
        fitting_tasks(study)
    except ValueError as error:
        raise InputError(f"{file_or_name}: {error}") from None
    points = {point for group in study.groups for point in group.points}
    counts = {"environment": study.environments, "agent": study.experiment.agents, "parameter point": points}
    sizes = ", ".join(format_count(len(group), noun) for noun, group in counts.items())
    runs = f"{format_count(study.num_episodes, 'episode')} × {format_count(study.num_runs, 'run')}"
    print(f"{file_or_name}: valid: {sizes}, {runs}")
    print_table(study_environments_table(study))
    table = agents_table(study, study.environments)
    print_table(table.without("environment") if len(study.environments) == 1 else table)
    print_paragraph(NUMBERS_NOTE)


@app.command("list", 'list algorithms --problem "linear MDP"', "list environments --with bandit")
def _list(
    kind: str | None = app.argument(
        "KIND", f"Only these: {', '.join(_KINDS[:-1])} or {_KINDS[-1]}.", lambda: [*_KINDS], default=None
    ),
    problem: str | None = app.option(
        "PROBLEM", "Only algorithms for this problem, such as 'linear MDP', or for any problem."
    ),
    having: str | None = app.option("TEXT", "Only rows that contain this text.", "--with"),
    markdown: bool = typer.Option(False, "--markdown", help="Print Markdown tables."),
) -> None:
    """List experiments, algorithms, environments, drifts and more."""
    from driftwise.algorithms import ALGORITHMS
    from driftwise.analysis.entries import KINDS
    from driftwise.analysis.table import markdown_text

    if kind is not None:
        check(require_choice, "KIND", kind, _KINDS)
    if problem is not None:
        problems = sorted({algorithm.problem for algorithm in ALGORITHMS.values()})
        check(require_choice, "--problem", problem, problems)
        if kind not in (None, "algorithms"):
            raise InputError(f"--problem is for algorithms, got it with {kind}")
        kind = "algorithms"

    tables, wanted = [], (having or "").lower()
    for name in [kind] if kind else _KINDS:
        table = KINDS[name]()
        rows = [row for row in table.rows if wanted in " ".join(cell.text for cell in row).lower()]
        if rows := tuple(row for row in rows if problem is None or row[1].text in (problem, "any")):
            table = dataclasses.replace(table, rows=rows)
            narrow = name == "algorithms" and kind is None and not markdown and output_width() < 160
            tables.append(table.without("exploration", "paper") if narrow else table)
    if not tables:
        raise InputError(f"--with must be a text that some row contains, got {having!r}")
    for table in tables:
        print(markdown_text(table)) if markdown else print_table(table)


@app.command("show opt_wlsvi", "show Abrupt")
def _show(name: str = app.argument("NAME", "Any name that 'driftwise list' shows.", _complete_names)) -> None:
    """Show all about one algorithm, environment, drift or other part.

    It prints signature, formulas, parameters, bound, BibTeX, and an example.
    """
    from driftwise.analysis.entries import entry_text

    print(check(entry_text, name, min(output_width(), 100)))
