"""`driftwise list`."""

from __future__ import annotations

from typing import Annotated

from driftwise.analysis.catalogue import algorithms_table, environments_table, experiments_table
from driftwise.analysis.table import markdown_text
from driftwise.cli.app import app, print_table
from driftwise.cli.options import flag


@app.command("list")
def _list(markdown: Annotated[bool, flag("--markdown", "Print tables of Markdown.")] = False) -> None:
    """Show the experiments, algorithms and environments there are."""
    for table in (experiments_table(), algorithms_table(), environments_table()):
        if markdown:
            print(markdown_text(table))
        else:
            print_table(table)
