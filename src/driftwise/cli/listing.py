"""`driftwise list`."""

from __future__ import annotations

from typing import Annotated

from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.table import Table, markdown_text, words
from driftwise.cli.app import app, print_table
from driftwise.cli.options import flag
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS


@app.command("list")
def _list(
    markdown: Annotated[bool, flag("--markdown", "Print tables of Markdown.")] = False,
) -> None:
    """Show the experiments, algorithms and environments there are."""
    for table in (experiments_table(), algorithms_table(), environments_table()):
        if markdown:
            print(markdown_text(table))
        else:
            print_table(table)


def experiments_table() -> Table:
    """The built-in experiments."""
    rows = [(each.name, each.summary) for each in EXPERIMENTS.values()]
    return Table.of("experiments", words("experiment", "what happens"), rows)


def algorithms_table() -> Table:
    """The registered algorithms."""
    headings = ("algorithm", "problem", "forgetting", "exploration", "bound on regret", "paper")
    rows = [
        (each.name, each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        for each in ALGORITHMS.values()
    ]
    return Table.of("algorithms", words(*headings), rows)


def environments_table() -> Table:
    """The registered environments."""
    rows = [(name, (make.__doc__ or "").split("\n")[0]) for name, make in ENVIRONMENTS.items()]
    return Table.of("environments", words("environment", "what it is"), rows)
