"""`driftwise compare`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from driftwise.base.validation import require_choice
from driftwise.cli.app import app, check, check_options, json_text, print_table
from driftwise.cli.options import FOLDER_OR_CURVES, argument, word

if TYPE_CHECKING:
    from driftwise.analysis.comparison import Comparison

EXAMPLES = """\b
Examples:
  driftwise compare results/before results/after
  driftwise compare results/before results/after --metric reward --format csv"""


@app.command("compare", epilog=EXAMPLES)
def _compare(
    first: Annotated[str, argument("DIR1", FOLDER_OR_CURVES)],
    second: Annotated[str, argument("DIR2", "The same, for the second run.")],
    metric: Annotated[str, word("METRIC", "What to compare: regret or reward.")] = "regret",
    format: Annotated[str, word("FORMAT", "How to print it: text, json or csv.")] = "text",
) -> None:
    """Say what changed between two finished runs.

    It lists what differs in the two configurations, and tests each difference in results.
    """
    from driftwise.analysis.comparison import METRICS, compare, comparison_table
    from driftwise.analysis.report.data import load_report_data
    from driftwise.analysis.table import csv_text

    check(require_choice, "--metric", metric, list(METRICS))
    check(require_choice, "--format", format, ("text", "json", "csv"))
    folders = first, second
    data = [check(load_report_data, Path(folder)) for folder in folders]
    found = check_options(compare, *data, metric=metric)
    if format == "json":
        print(json_text({"folders": folders, **vars(found)}))
    elif format == "csv":
        print(csv_text(comparison_table(found.rows)), end="")
    else:
        _print_text(folders, found)


def _print_text(folders: tuple[str, str], found: Comparison) -> None:
    from driftwise.analysis.comparison import comparison_table, manifests_table

    for side, folder in zip(("first", "second"), folders, strict=True):
        print(f"{side:<6}  {folder}")
    print()
    if found.facts:
        print_table(manifests_table(found.facts))
    else:
        print("Nothing differs in what was run.\n")
    left_out = {"environment", "episode", "runs_first", "runs_second", "p"}
    left_out |= {"apart from"} if found.method != "paired" else set()
    for environment, rows in itertools.groupby(found.rows, key=lambda row: row.environment):
        print(f"Cumulative {found.metric} in {environment}, second − first")
        print_table(comparison_table(tuple(rows)).without(*left_out))
    for note in found.notes:
        print(note)
    for side, alone in (("first", found.only_first), ("second", found.only_second)):
        if alone:
            print(f"Only in the {side}: {', '.join(f'{agent} in {where}' for where, agent in alone)}")
