"""`driftwise report` and `driftwise compare`: what finished runs say."""

import itertools
from pathlib import Path
from typing import Any

from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import FOLDER_OR_CURVES, check, check_options
from driftwise.cli.output import json_text, os_errors, print_table


@app.command(
    "report results/quickstart",
    "report results/quickstart --format latex --out table.tex",
    "report results/quickstart --format pdf --width 3.3 --font serif",
    "report curves.csv",
)
def _report(
    folder: str = app.argument("DIR", FOLDER_OR_CURVES),
    format: str = app.option("FORMAT", "What to write: html, svg, pdf, png, csv or latex.", default="html"),
    out: str | None = app.option("FILE", "File to write.  [default: a file in DIR]"),
    width: float | None = app.float_option("--width", "Width of a figure.  [default: 11]", metavar="INCHES"),
    font: str | None = app.option("NAME", "Font of a figure, such as serif.  [default: DejaVu Sans]"),
    title: str | None = app.option("TEXT", "Title of a figure; '' for none.  [default: the run's summary]"),
) -> None:
    """Write a report on a finished run.

    The default is a page that works offline. The other formats are a figure, a table or data for a paper.
    """
    from driftwise.analysis.report import write_report

    options = dict(out=None if out is None else Path(out), width=width, font=font, title=title)
    where = "--out" if out is None else f"--out {out!r}"
    with os_errors(f"{where} cannot be written"), app.print_warnings():  # of environments that cannot be made
        print(check_options(write_report, Path(folder), format=format, **options))


@app.command(
    "compare results/before results/after",
    "compare results/before results/after --metric reward --format csv",
)
def _compare(
    first: str = app.argument("DIR1", FOLDER_OR_CURVES),
    second: str = app.argument("DIR2", "The same, for the second run."),
    metric: str = app.option("METRIC", "What to compare: regret or reward.", default="regret"),
    format: str = app.option("FORMAT", "How to print it: text, json or csv.", default="text"),
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
        _print_comparison(folders, comparison)


def _print_comparison(folders: tuple[str, str], comparison: Any) -> None:
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
