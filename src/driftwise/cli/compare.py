"""`driftwise compare`."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.base.validation import require_choice
from driftwise.cli.app import FOLDER_OR_CURVES, app, argument, check, check_options, option
from driftwise.cli.output import json_text, print_table

if TYPE_CHECKING:
    from driftwise.analysis.folder_comparison import Comparison

_EXAMPLES = """\b
Examples:
  driftwise compare results/before results/after
  driftwise compare results/before results/after --metric reward --format csv"""


@app.command("compare", epilog=_EXAMPLES)
def _compare(
    first: str = argument("DIR1", FOLDER_OR_CURVES),
    second: str = argument("DIR2", "The same, for the second run."),
    metric: str = option("METRIC", "What to compare: regret or reward.", default="regret"),
    format: str = option("FORMAT", "How to print it: text, json or csv.", default="text"),
) -> None:
    """Compare two finished runs.

    It lists the differences between the two configurations, and tests every difference in results.
    """
    from driftwise.analysis.folder_comparison import METRICS, compare_folders, comparison_table
    from driftwise.analysis.report.data import load_report_data
    from driftwise.analysis.table import csv_text

    check(require_choice, "--metric", metric, list(METRICS))
    check(require_choice, "--format", format, ("text", "json", "csv"))
    folders = first, second
    data = [check(load_report_data, Path(folder)) for folder in folders]
    comparison = check_options(compare_folders, *data, metric=metric)
    if format == "json":
        print(json_text({"folders": folders, **vars(comparison)}))
    elif format == "csv":
        print(csv_text(comparison_table(comparison.rows)), end="")
    else:
        _print_text(folders, comparison)


def _print_text(folders: tuple[str, str], comparison: Comparison) -> None:
    from driftwise.analysis.folder_comparison import comparison_table, manifests_table

    for side, folder in zip(("first", "second"), folders, strict=True):
        print(f"{side:<6}  {folder}")
    print()
    if comparison.facts:
        print_table(manifests_table(comparison.facts))
    else:
        print("Nothing differs in what was run.\n")
    left_out = {"environment", "episode", "runs_first", "runs_second", "p"}
    left_out |= {"apart from"} if comparison.method != "paired" else set()
    for environment, rows in itertools.groupby(comparison.rows, key=lambda row: row.environment):
        print(f"Cumulative {comparison.metric} in {environment}, second − first")
        print_table(comparison_table(tuple(rows)).without(*left_out))
    for note in comparison.notes:
        print(note)
    for side, alone in (("first", comparison.only_first), ("second", comparison.only_second)):
        if alone:
            print(f"Only in the {side}: {', '.join(f'{agent} in {where}' for where, agent in alone)}")
