"""`driftwise compare`."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.base.validation import require_choice
from driftwise.cli.app import app, check, stdout

if TYPE_CHECKING:
    from driftwise.analysis.comparison import Cell, Comparison, Fact, Row

EXAMPLES = """\b
Examples:
  driftwise compare results/before results/after
  driftwise compare results/before results/after --metric reward --format csv"""


@app.command("compare", epilog=EXAMPLES)
def _compare(
    first: Annotated[
        str, typer.Argument(metavar="DIR1", help="A folder written by 'driftwise run'.", show_default=False)
    ],
    second: Annotated[str, typer.Argument(metavar="DIR2", help="Another one.", show_default=False)],
    metric: Annotated[str, typer.Option(metavar="METRIC", help="regret or reward.")] = "regret",
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="text, json or csv.")] = "text",
) -> None:
    """Say what changed between two finished runs, with a test for each difference."""
    from driftwise.analysis.comparison import METRICS, compare
    from driftwise.analysis.report.data import load_report_data

    check(require_choice, "metric", metric, list(METRICS))
    check(require_choice, "format", format, list(FORMATS))
    folders = first, second
    data = [check(load_report_data, Path(folder)) for folder in folders]
    FORMATS[format](folders, check(compare, *data, metric=metric))


def _print_text(folders: tuple[str, str], found: Comparison) -> None:
    for side, folder in zip(("first", "second"), folders, strict=True):
        print(f"{side:<6}  {folder}")
    print()
    if found.facts:
        print("What differs in what was run")
        stdout().print(_facts_table(found.facts))
    else:
        print("Nothing differs in what was run.\n")
    for environment, rows in itertools.groupby(found.rows, key=lambda row: row.environment):
        print(f"Cumulative {found.metric} in {environment}, second − first")
        stdout().print(_rows_table(rows, paired=found.method == "paired"))
    for note in found.notes:
        print(note)
    for side, cells in (("first", found.only_first), ("second", found.only_second)):
        if cells:
            print(f"Only in the {side}: {', '.join(_named(cell) for cell in cells)}")


def _facts_table(facts: tuple[Fact, ...]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("what", "first", "second"):
        table.add_column(heading, overflow="fold")
    for fact in facts:
        table.add_row(fact.path, *("–" if value is None else _plain(value) for value in fact[1:]))
    return table


def _rows_table(rows: Iterable[Row], *, paired: bool) -> Table:
    from driftwise.analysis.statistics.wording import probability, shown, with_interval

    table = Table(box=SIMPLE_HEAD)
    table.add_column("agent", overflow="fold")
    for heading in ("first", "second", "difference [95 %]", "p, adjusted", *["apart from"] * paired):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    for row in rows:
        apart = "–" if row.differs_from is None else f"episode {row.differs_from}"
        table.add_row(
            row.agent,
            shown(row.first),
            shown(row.second),
            with_interval(row.difference, row.low, row.high),
            probability(row.p_adjusted),
            *[apart] * paired,
            row.verdict,
        )
    return table


def _named(cell: Cell) -> str:
    return f"{cell.agent} in {cell.environment}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _print_json(folders: tuple[str, str], found: Comparison) -> None:
    said = {
        "folders": folders,
        **{field.name: getattr(found, field.name) for field in dataclasses.fields(found)},
        "facts": [fact._asdict() for fact in found.facts],
        "rows": [_known(row) for row in found.rows],
        "only_first": [cell._asdict() for cell in found.only_first],
        "only_second": [cell._asdict() for cell in found.only_second],
    }
    print(json.dumps(said, indent=2, ensure_ascii=False, allow_nan=False))


def _print_csv(folders: tuple[str, str], found: Comparison) -> None:
    from driftwise.analysis.comparison import Row

    names = [field.name for field in dataclasses.fields(Row)]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_known(row) for row in found.rows)


def _known(row: Row) -> dict[str, Any]:
    """A row's values by their names, `None` for what is not known."""
    values = dataclasses.asdict(row)
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


FORMATS = {"text": _print_text, "json": _print_json, "csv": _print_csv}
